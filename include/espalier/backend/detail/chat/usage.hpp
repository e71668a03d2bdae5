#pragma once

#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/core/prompt.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace espalier::backend::detail {

/// Token counts of a reply (0 = not given), or the largest counts that a request allows.
struct Usage {
  static constexpr std::uint64_t any = std::numeric_limits<std::uint32_t>::max();  ///< no completion has more
  std::uint64_t prompt = 0;
  std::uint64_t completion = 0;
  std::uint64_t thinking = 0;  ///< of completion
};

/// The largest counts that a request's bytes and token limit allow. A prompt token has at least one byte. The extra
/// tokens are for the server's template and for the tokens that end a text.
inline Usage most_usage(std::uint64_t bytes, std::uint64_t max_tokens, std::uint64_t samples) {
  constexpr std::uint64_t template_tokens = 4096, end_tokens = 16;
  return {std::min(bytes + template_tokens, Usage::any), std::min(samples * (max_tokens + end_tokens), Usage::any)};
}

/// The largest counts for samples of one prompt, with its token limit and the model's own extra body. An extra body
/// that names a limit may set any.
inline Usage most_usage(std::span<const Prompt> samples, int max_tokens, const std::string& extra_body) {
  const PromptBody& body = samples.front().body();
  const std::string extra = extra_body + body.sampling.extra_body;
  std::uint64_t bytes = body.ids.size() + 4 * extra.size();
  for (const PromptBody::Message& message : body.messages) bytes += message.role.size() + message.content.size() + 64;
  const bool own = extra.find("max_") != std::string::npos || extra.find("num_predict") != std::string::npos;
  return most_usage(bytes, own ? Usage::any : static_cast<std::uint64_t>(std::max(0, max_tokens)), samples.size());
}

/// A count in a reply, 0 = not given.
inline std::uint64_t read_count(simdjson::simdjson_result<simdjson::dom::element> place) {
  std::uint64_t count = 0;
  return place.get(count) ? 0 : count;
}

/// The counts of a reply in OpenAI's form. SGLang counts the tokens of a thought beside the others.
inline Usage read_usage(simdjson::simdjson_result<simdjson::dom::element> told) {
  const std::uint64_t aside = read_count(told["completion_tokens_details"]["reasoning_tokens"]);
  return {read_count(told["prompt_tokens"]), read_count(told["completion_tokens"]),
          std::max(aside, read_count(told["reasoning_tokens"]))};
}

/// The counts without those that the request does not allow, 0 in their place. Then `doubt` says so.
inline Usage believed(Usage told, const Usage& most, std::string& doubt) {
  const auto check = [&](std::uint64_t& count, std::uint64_t limit, const char* tokens) {
    if (count <= limit) return;
    doubt = "a usage of " + std::to_string(count) + " " + tokens + " tokens where the request allows " +
            std::to_string(limit) + ": such counts are left out";
    count = 0;
  };
  check(told.prompt, most.prompt, "prompt");
  check(told.completion, most.completion, "completion");
  return told;
}

}  // namespace espalier::backend::detail
