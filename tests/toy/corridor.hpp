#pragma once

#include <espalier/core/concepts.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace espalier::toy {

/// A corridor with an exit at every step. Walking on leads to a prize at the end, and every exit has the value 0.
/// Searches that look at one child per node walk a chain as long as the corridor.
class Corridor {
 public:
  struct State {
    std::uint32_t position = 0;
    bool out = false;
  };
  enum class Action : std::uint8_t { walk, leave };

  explicit Corridor(std::uint32_t length) : length_(length) {}
  [[nodiscard]] static State root() { return {}; }
  [[nodiscard]] std::span<const Kind> kinds(const State& s) const {
    static constexpr std::array<Kind, 1> move{0};
    return std::span<const Kind>(move).first(s.out || s.position == length_ ? 0 : 1);
  }
  /// Walking is proposed first, leaving second.
  [[nodiscard]] static std::span<const Proposal<Action>> propose(const State&, Kind, std::uint32_t n,
                                                                 const Context& context) {
    static const std::array<Proposal<Action>, 2> moves{Proposal<Action>(Action::walk, 0, 0.5F),
                                                       Proposal<Action>(Action::leave, 0, 0.5F)};
    const std::uint32_t first = context.first < 2 ? context.first : 2;
    return std::span(moves).subspan(first, n < 2 - first ? n : 2 - first);
  }
  [[nodiscard]] static State step(const State& s, Action a) {
    return {s.position + (a == Action::walk), a == Action::leave};
  }
  /// The share of the corridor that was walked, 0 outside.
  [[nodiscard]] double value(const State& s) const { return s.out ? 0 : static_cast<double>(s.position) / length_; }

 private:
  std::uint32_t length_;
};

}  // namespace espalier::toy
