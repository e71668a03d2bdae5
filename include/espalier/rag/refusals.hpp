#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/rag/state.hpp>
#include <espalier/rag/text.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::rag {

namespace detail {

/// Phrases with which models say that they do not know, separated by ';'.
inline constexpr std::string_view refusal_phrases =
    "unknown; n/a; unanswerable; uncertain; don't know; do not know; not known; is unknown; remains unknown; not sure; "
    "no idea; never heard; cannot answer; can't answer; unable to answer; cannot determine; cannot be determined; "
    "unable to determine; no information; not enough information; insufficient information; not have enough; "
    "not have information; no answer";

}  // namespace detail

/// Tells answers that say "I don't know". A phrase of one word must be the whole answer. A longer phrase may stand
/// anywhere in it. Both are compared in the metrics' normal form, and a curly apostrophe is a straight one.
class Refusals {
 public:
  /// Takes phrases separated by ';'. Without phrases nothing is a refusal.
  explicit Refusals(std::string_view phrases = detail::refusal_phrases) {
    for (std::size_t begin = 0; begin <= phrases.size();) {
      const std::size_t end = std::min(phrases.find(';', begin), phrases.size());
      if (std::string phrase = plain(phrases.substr(begin, end - begin)); !phrase.empty())
        phrases_.push_back(std::move(phrase));
      begin = end + 1;
    }
  }

  [[nodiscard]] bool operator()(std::string_view answer) const {
    const std::string said = plain(answer), within = ' ' + said + ' ';
    return std::any_of(phrases_.begin(), phrases_.end(), [&](const std::string& phrase) {
      return phrase.find(' ') == phrase.npos ? said == phrase : within.find(' ' + phrase + ' ') != std::string::npos;
    });
  }

  /// Closes proposed answers that are refusals, and returns how many. `kind`: that of the method's answers from memory.
  std::uint64_t close(std::vector<Proposal<Action>>& proposals, SegmentKind kind) const {
    std::uint64_t closed = 0;
    for (auto& proposal : proposals)
      if (proposal.closed == Reason::none && proposal.action.kind == kind && (*this)(proposal.action.text)) {
        proposal.closed = Reason::refused;
        ++closed;
      }
    return closed;
  }

 private:
  static std::string plain(std::string_view text) {
    std::string straight(text);
    constexpr std::string_view curly = "\xE2\x80\x99";
    for (std::size_t at = 0; (at = straight.find(curly, at)) != straight.npos;) straight.replace(at, curly.size(), "'");
    return normalise(straight);
  }
  std::vector<std::string> phrases_;
};

}  // namespace espalier::rag
