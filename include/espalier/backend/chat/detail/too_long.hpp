#pragma once

#include <espalier/core/prompt.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// The completion of a prompt that llama.cpp in this process refused because it is longer than a slot. Its text says
/// so. Nothing for any other refusal.
inline std::optional<Completion> too_long(std::string_view refusal) {
  const auto number = [&](std::string_view before) {
    std::uint32_t found = 0;
    const std::size_t at = refusal.find(before);
    if (at != std::string_view::npos)
      std::from_chars(refusal.data() + at + before.size(), refusal.data() + refusal.size(), found);
    return found;
  };
  const std::uint32_t tokens = number("request ("), context = number("context size (");
  if (tokens == 0 || context == 0) return std::nullopt;
  Completion completion("the prompt has " + std::to_string(tokens) + " tokens and the model's context " +
                        std::to_string(context) + ": give gguf:FILE?context=N, or shorter prompts");
  completion.finish = Completion::Finish::too_long;
  completion.prompt_tokens = tokens;
  return completion;
}

}  // namespace espalier::backend::detail
