#pragma once

#include <espalier/core/prompt.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// The natural log-probabilities of a text's tokens as a reply lists them.
struct LogprobSum {
  double sum = 0;
  std::uint64_t tokens = 0;
  std::vector<Completion::TokenLogprob> each{};  ///< empty where the reply does not name the tokens
  bool whole = false;  ///< known to hold all tokens of the text up to its stop string, and no others

  /// Adds a token, with its text where it is known.
  void add(double logprob, std::optional<std::string_view> text) {
    sum += logprob;
    ++tokens;
    if (text) each.push_back({std::string(*text), logprob});
  }
  /// Takes out what the list cannot name.
  void finish() {
    if (each.size() != tokens) each.clear();
  }
};

/// Cuts the list behind the last token that begins before the text's first stop string. Some servers list the tokens of
/// a stop string and others do not. Nothing changes if there is no stop string, or if the tokens do not spell the text.
inline void cut_at_stop(LogprobSum& list, std::string_view text, const std::vector<std::string>& stops) {
  std::size_t end = std::string_view::npos;
  for (const std::string& stop : stops) end = std::min(end, text.find(stop));
  if (end == std::string_view::npos) return;
  std::size_t at = 0, kept = 0;
  double sum = 0;
  for (; at < end && kept < list.each.size(); ++kept) {
    const std::string& token = list.each[kept].text;
    if (text.substr(at, token.size()) != token) return;
    at += token.size();
    sum += list.each[kept].logprob;
  }
  if (at < end) return;
  list.each.resize(kept);
  list.sum = sum;
  list.tokens = kept;
  list.whole = true;
}

/// Puts the sum into a completion, and each token if it was asked for.
inline void set_logprobs(Completion& completion, LogprobSum list, const Sampling& sampling) {
  completion.logprob = list.sum;
  if (sampling.token_logprobs) completion.tokens = std::move(list.each);
}

}  // namespace espalier::backend::detail
