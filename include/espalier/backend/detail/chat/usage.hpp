#pragma once

#include <espalier/backend/http/json_reader.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace espalier::backend::detail {

/// Token counts of a reply, 0 = not given.
struct Usage {
  static constexpr std::uint64_t most = std::uint64_t(1) << 24;  ///< no model has a longer context
  std::uint64_t prompt = 0;
  std::uint64_t completion = 0;
  std::uint64_t thinking = 0;             ///< of completion
  std::optional<std::uint64_t> cached{};  ///< of prompt, those that the server had read before. Nothing = not told
};

/// A count in a reply, 0 = not given.
inline std::uint64_t read_count(simdjson::simdjson_result<simdjson::dom::element> place) {
  std::uint64_t count = 0;
  return place.get(count) ? 0 : count;
}

/// The counts of a reply in OpenAI's form. SGLang counts the tokens of a thought beside the others.
inline Usage read_usage(simdjson::simdjson_result<simdjson::dom::element> told, std::optional<std::uint64_t> cached) {
  const std::uint64_t aside = read_count(told["completion_tokens_details"]["reasoning_tokens"]);
  return {read_count(told["prompt_tokens"]), read_count(told["completion_tokens"]),
          std::max(aside, read_count(told["reasoning_tokens"])), cached};
}

/// The prompt tokens that the server had read before, wherever a reply or a chunk of one says it: as OpenAI and vLLM,
/// llama.cpp, SGLang, DeepSeek or Moonshot. Nothing = it does not, or by no count.
inline std::optional<std::uint64_t> read_cached(simdjson::dom::element root) {
  const auto usage = root["usage"];
  std::uint64_t count = 0;
  for (const auto& place :
       {usage["prompt_tokens_details"]["cached_tokens"], root["timings"]["cache_n"], root["meta_info"]["cached_tokens"],
        root["choices"].at(0)["meta_info"]["cached_tokens"], usage["prompt_cache_hit_tokens"], usage["cached_tokens"]})
    if (!place.get(count)) return count;
  return std::nullopt;
}

/// The counts without those that cannot be, 0 in their place. Then `doubt` says so.
inline Usage believed(Usage told, std::string& doubt) {
  for (std::uint64_t* count : {&told.prompt, &told.completion})
    if (*count > Usage::most) {
      doubt = "a usage of " + std::to_string(*count) + (count == &told.prompt ? " prompt" : " completion") +
              " tokens: such counts are left out";
      *count = 0;
    }
  if (told.cached && *told.cached > told.prompt && told.prompt > 0)
    doubt = "a usage of " + std::to_string(*told.cached) + " cached tokens in a prompt of " +
            std::to_string(told.prompt) + ": such counts are left out";
  if (told.cached && (*told.cached > told.prompt || told.prompt == 0)) told.cached.reset();
  return told;
}

}  // namespace espalier::backend::detail
