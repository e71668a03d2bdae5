#pragma once

#include <espalier/core/concepts.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace espalier::toy {

/// Tic-tac-toe as a problem of one player. A perfect opponent replies inside step(). So the value of an action is the
/// exact value of the game for the player: 1 won, 0 drawn, -1 lost.
class TicTacToe {
 public:
  /// Bit 3 row + column is set where the player (mine) or the opponent (theirs) has a mark.
  struct State {
    std::uint16_t mine = 0;
    std::uint16_t theirs = 0;
  };
  using Action = std::uint8_t;  ///< a cell, 3 row + column

  TicTacToe() {
    auto values = std::make_shared<Values>();
    values->fill(unknown);
    for (std::uint16_t mine = 0; mine <= 0777; ++mine)
      for (std::uint16_t theirs = 0; theirs <= 0777; ++theirs)
        if (!(mine & theirs)) solve({mine, theirs}, *values);
    values_ = std::move(values);
  }

  /// A position from nine characters in reading order. `player` is to move, '.' is free, and any other character is the
  /// opponent.
  [[nodiscard]] static State position(std::string_view cells, char player) {
    if (cells.size() != 9) bad_option("cells", cells, "nine characters");
    State s;
    for (Action cell = 0; cell < 9; ++cell)
      if (cells[cell] != '.') (cells[cell] == player ? s.mine : s.theirs) |= static_cast<std::uint16_t>(1u << cell);
    return s;
  }
  [[nodiscard]] static std::span<const Kind> kinds(const State& s) {
    static constexpr std::array<Kind, 1> move{0};
    return std::span<const Kind>(move).first(over(s) ? 0 : 1);
  }
  /// The next n free cells from `context.first` on.
  [[nodiscard]] static std::vector<Proposal<Action>> propose(const State& s, Kind kind, std::uint32_t n,
                                                             const Context& context) {
    std::vector<Proposal<Action>> moves;
    std::uint32_t i = 0;
    for (Action cell = 0; cell < 9; ++cell)
      if (free(s, cell) && i++ >= context.first && moves.size() < n) moves.emplace_back(cell, kind);
    return moves;
  }
  /// The player's mark, then the opponent's best reply, the first of equals.
  [[nodiscard]] State step(const State& s, Action cell) const {
    const State reply = swapped(marked(s, cell));
    return over(reply) ? swapped(reply) : swapped(marked(reply, best(reply)));
  }
  /// 1, 0 or -1 for a finished position, 0 before.
  [[nodiscard]] static double value(const State& s) { return won(s.mine) ? 1 : won(s.theirs) ? -1 : 0; }
  /// The value under perfect play when the player is to move.
  [[nodiscard]] int solve(const State& s) const { return (*values_)[index(s)]; }
  /// The value after random moves of the player to the end of the game.
  [[nodiscard]] double playout(State s, Random random) const {
    while (!over(s)) {
      Action cell = static_cast<Action>(random.below(9));
      while (!free(s, cell)) cell = static_cast<Action>((cell + 1) % 9);
      s = step(s, cell);
    }
    return value(s);
  }

 private:
  using Values = std::array<std::int8_t, std::size_t(1) << 18>;
  static constexpr std::int8_t unknown = 2;
  static std::size_t index(const State& s) { return std::size_t(s.mine) << 9 | s.theirs; }
  static std::int8_t solve(const State& s, Values& values) {
    std::int8_t& known = values[index(s)];
    if (known != unknown) return known;
    if (over(s)) return known = static_cast<std::int8_t>(value(s));
    known = -1;
    for (Action cell = 0; cell < 9; ++cell)
      if (free(s, cell))
        known = static_cast<std::int8_t>(std::max<int>(known, -solve(swapped(marked(s, cell)), values)));
    return known;
  }
  static bool won(std::uint16_t marks) {
    constexpr std::array<std::uint16_t, 8> lines{0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124};
    for (std::uint16_t line : lines)
      if ((marks & line) == line) return true;
    return false;
  }
  static bool over(const State& s) { return (s.mine | s.theirs) == 0777 || won(s.mine) || won(s.theirs); }
  static bool free(const State& s, Action cell) { return !((s.mine | s.theirs) >> cell & 1); }
  static State marked(State s, Action cell) {
    s.mine = static_cast<std::uint16_t>(s.mine | 1u << cell);
    return s;
  }
  static State swapped(const State& s) { return {s.theirs, s.mine}; }
  Action best(const State& s) const {
    Action move = 9;
    for (Action cell = 0; cell < 9; ++cell)
      if (free(s, cell) && (move == 9 || solve(swapped(marked(s, cell))) < solve(swapped(marked(s, move)))))
        move = cell;
    return move;
  }

  std::shared_ptr<const Values> values_;  // by position
};

}  // namespace espalier::toy
