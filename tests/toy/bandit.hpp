#pragma once

#include <espalier/core/concepts.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace espalier::toy {

/// One choice between arms of known value, the smallest search. It must come to pull the best most often.
class Bandit {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t(0);
  using State = std::uint32_t;  ///< the arm that was pulled, or none
  using Action = std::uint32_t;

  explicit Bandit(std::vector<double> arms) : arms_(std::move(arms)) {
    for (Action a = 0; a < arms_.size(); ++a) pulls_.emplace_back(a, Kind(0), 1.0F / static_cast<float>(arms_.size()));
  }
  [[nodiscard]] static State root() { return none; }
  [[nodiscard]] static std::span<const Kind> kinds(State s) {
    static constexpr std::array<Kind, 1> pull{0};
    return std::span<const Kind>(pull).first(s == none ? 1 : 0);
  }
  /// The next n arms from `context.first` on.
  [[nodiscard]] std::span<const Proposal<Action>> propose(State, Kind, std::uint32_t n, const Context& context) const {
    const std::size_t first = std::min<std::size_t>(context.first, pulls_.size());
    return std::span(pulls_).subspan(first, std::min<std::size_t>(n, pulls_.size() - first));
  }
  [[nodiscard]] static State step(State, Action a) { return a; }
  /// The value of the arm, 0 before it is pulled.
  [[nodiscard]] double value(State s) const { return s == none ? 0 : arms_[s]; }

 private:
  std::vector<double> arms_;
  std::vector<Proposal<Action>> pulls_;
};

}  // namespace espalier::toy
