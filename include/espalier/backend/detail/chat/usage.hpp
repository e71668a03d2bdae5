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

/// The token limit when an extra body ("" or a JSON object) raises it, under any server's name for it.
inline std::uint64_t limit_with(std::uint64_t max_tokens, std::string extra_body) {
  if (extra_body.find("max_") == std::string::npos && extra_body.find("num_predict") == std::string::npos)
    return max_tokens;
  JsonReader json;
  const simdjson::dom::element root = json.read(extra_body);
  for (const auto& place :
       {root["max_tokens"], root["max_completion_tokens"], root["num_predict"], root["options"]["num_predict"]}) {
    std::uint64_t limit = Usage::any;  // null and -1 remove the limit
    if (place.error() == simdjson::NO_SUCH_FIELD || place.error() == simdjson::INCORRECT_TYPE) continue;
    if (place.get(limit)) limit = Usage::any;
    max_tokens = std::max(max_tokens, std::min(limit, Usage::any));
  }
  return max_tokens;
}

/// The largest counts for samples of one prompt, with its token limit and the model's own extra body.
inline Usage most_usage(std::span<const Prompt> samples, int max_tokens, const std::string& extra_body) {
  const PromptBody& body = samples.front().body();
  std::uint64_t bytes = body.ids.size() + 4 * (extra_body.size() + body.sampling.extra_body.size());
  for (const PromptBody::Message& message : body.messages) bytes += message.role.size() + message.content.size() + 64;
  const auto limit = static_cast<std::uint64_t>(std::max(0, max_tokens));
  return most_usage(bytes, limit_with(limit_with(limit, extra_body), body.sampling.extra_body), samples.size());
}

/// A count in a reply, 0 = not given.
inline std::uint64_t read_count(simdjson::simdjson_result<simdjson::dom::element> place) {
  std::uint64_t count = 0;
  return place.get(count) ? 0 : count;
}

/// Reads the counts of a reply to one request. A count above what the request allows is ignored.
class UsageReader {
 public:
  explicit UsageReader(Usage most) : most_(most) {}

  /// The counts, 0 = not given or impossible.
  Usage read(simdjson::simdjson_result<simdjson::dom::element> prompt,
             simdjson::simdjson_result<simdjson::dom::element> completion) {
    return {believed(read_count(prompt), most_.prompt, "prompt"),
            believed(read_count(completion), most_.completion, "completion")};
  }
  /// A message about an impossible count, "" = none.
  [[nodiscard]] const std::string& doubt() const { return doubt_; }

 private:
  std::uint64_t believed(std::uint64_t count, std::uint64_t limit, const std::string& tokens) {
    if (count <= limit) return count;
    doubt_ = "a usage of " + std::to_string(count) + " " + tokens + " tokens where the request allows " +
             std::to_string(limit) + ": such counts are left out";
    return 0;
  }
  Usage most_;
  std::string doubt_;
};

}  // namespace espalier::backend::detail
