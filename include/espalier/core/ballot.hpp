#pragma once

#include <espalier/version.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace espalier::detail {

/// Counts votes for texts. `Where` says where a text was found. Of equally frequent texts, the one found first wins.
template <class Where>
class Ballot {
 public:
  void vote(std::string text, Where place) {
    auto& [count, first] = votes_.try_emplace(std::move(text), 0, place).first->second;
    ++count;
    if (place < first) first = place;
  }
  /// The first place of the most frequent text, or `none` without votes.
  [[nodiscard]] Where winner(Where none) const {
    std::pair<std::size_t, Where> best{0, none};
    for (const auto& [text, vote] : votes_)
      if (vote.first > best.first || (vote.first == best.first && vote.second < best.second)) best = vote;
    return best.second;
  }

 private:
  std::map<std::string, std::pair<std::size_t, Where>> votes_;
};

}  // namespace espalier::detail
