#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace espalier {

/// Asks how likely it is that a model continues a prompt in a given way. Both are raw text without chat markup, or both
/// are token ids. With ids, no token can change where prompt and continuation meet.
class ScoreRequest {
 public:
  using Ids = std::vector<std::int32_t>;
  /// Throws std::invalid_argument if the continuation is empty.
  ScoreRequest(std::string prompt, std::string continuation)
      : prompt_(std::move(prompt)), continuation_(std::move(continuation)) {
    if (continuation_.empty()) bad_option("continuation", continuation_, "a text, not empty");
  }
  ScoreRequest(Ids prompt, Ids continuation)
      : prompt_ids_(std::move(prompt)), continuation_ids_(std::move(continuation)) {
    if (continuation_ids_.empty()) bad_option("continuation", "of no tokens", "1 token or more");
  }
  [[nodiscard]] bool of_ids() const { return !continuation_ids_.empty(); }
  [[nodiscard]] const std::string& prompt() const { return prompt_; }
  [[nodiscard]] const std::string& continuation() const { return continuation_; }
  [[nodiscard]] const Ids& prompt_ids() const { return prompt_ids_; }
  [[nodiscard]] const Ids& continuation_ids() const { return continuation_ids_; }
  /// Identity of the request without the model.
  [[nodiscard]] Hash key() const {
    Hasher h;
    h.add(prompt_).add(continuation_).add(std::uint64_t(prompt_ids_.size()));
    for (const Ids* ids : {&prompt_ids_, &continuation_ids_})
      for (const std::int32_t id : *ids) h.add(std::uint64_t(id));
    return h.finish();
  }

 private:
  std::string prompt_, continuation_;
  Ids prompt_ids_, continuation_ids_;
};

/// The log-probability of a continuation under the model, at temperature 1.
class Score {
 public:
  Score() = default;
  Score(double logprob, std::uint32_t tokens, std::uint32_t prompt_tokens)
      : logprob(logprob), tokens(tokens), prompt_tokens(prompt_tokens) {}
  double logprob = 0;               ///< sum over the continuation's tokens, natural log
  std::uint32_t tokens = 0;         ///< tokens of the continuation
  std::uint32_t prompt_tokens = 0;  ///< tokens of prompt and continuation together
  std::uint32_t attempts = 0;       ///< requests sent for it, never stored
};

}  // namespace espalier
