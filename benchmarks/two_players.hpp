#pragma once

#include <espalier/core/concepts.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier::toy {

/// Tic-tac-toe in which the search plays both sides. The kind of a move is its player. Values are for the first player,
/// as engines want them where there is player(state).
class TwoPlayers {
 public:
  struct State {
    std::array<std::uint16_t, 2> marks{};  ///< bit 3 row + column, for the first and the second player
    std::uint8_t turn = 0;
  };
  using Action = std::uint8_t;  ///< a cell, 3 row + column

  [[nodiscard]] static std::span<const Kind> kinds(const State& s) {
    static constexpr std::array<Kind, 2> player{0, 1};
    return std::span<const Kind>(player).subspan(s.turn, over(s) ? 0 : 1);
  }
  [[nodiscard]] static std::uint8_t player(const State& s) { return s.turn; }
  /// The next n free cells from `context.first` on.
  [[nodiscard]] static std::vector<Proposal<Action>> propose(const State& s, Kind kind, std::uint32_t n,
                                                             const Context& context) {
    std::vector<Proposal<Action>> moves;
    moves.reserve(n);
    std::uint32_t left = without_first(context.first, free_cells(s));
    for (; left != 0 && moves.size() < n; left = without_first(1, left)) moves.emplace_back(first_of(left), kind);
    return moves;
  }
  [[nodiscard]] static State step(State s, Action cell) {
    s.marks[s.turn] = static_cast<std::uint16_t>(s.marks[s.turn] | 1U << cell);
    s.turn ^= 1;
    return s;
  }
  /// 1 if the first player has won, -1 if the second has, else 0.
  [[nodiscard]] static double value(const State& s) { return won(s.marks[0]) ? 1 : won(s.marks[1]) ? -1 : 0; }
  /// The value after random moves to the end of the game.
  [[nodiscard]] static double playout(State s, Random random) {
    while (!over(s)) {
      const std::uint32_t cells = free_cells(s);
      s = step(s, first_of(without_first(random.below(std::uint32_t(std::popcount(cells))), cells)));
    }
    return value(s);
  }
  [[nodiscard]] static bool over(const State& s) {
    return (s.marks[0] | s.marks[1]) == 0777 || won(s.marks[0]) || won(s.marks[1]);
  }

 private:
  /// For every set of marks: true if it holds a line.
  static constexpr std::array<bool, 512> lines = [] {
    std::array<bool, 512> won{};
    for (std::uint16_t marks = 0; marks < 512; ++marks)
      for (const int line : {0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124})
        won[marks] = won[marks] || (marks & line) == line;
    return won;
  }();
  static bool won(std::uint16_t marks) { return lines[marks]; }
  static std::uint32_t free_cells(const State& s) { return ~(s.marks[0] | s.marks[1]) & 0777U; }
  static std::uint32_t without_first(std::uint32_t n, std::uint32_t cells) {
    for (; n > 0; --n) cells &= cells - 1;
    return cells;
  }
  static Action first_of(std::uint32_t cells) { return static_cast<Action>(std::countr_zero(cells)); }
};

}  // namespace espalier::toy
