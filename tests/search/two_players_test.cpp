// Environments with player(state): each player sees values of its own.
#include "../../benchmarks/two_players.hpp"

#include <espalier/search/mcts_task.hpp>
#include <espalier/search/rollout.hpp>

#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace two_players_test {

using namespace espalier;

namespace {

/// Nim: a player takes one to three of a pile. Who takes the last one wins.
struct Nim {
  struct State {
    std::uint32_t pile = 0;
    int turn = 0;
  };
  using Action = std::uint32_t;
  static std::vector<Kind> kinds(const State& s) { return std::vector<Kind>(s.pile > 0 ? 1 : 0); }
  static std::vector<Proposal<Action>> propose(const State& s, Kind kind, std::uint32_t n, const Context& context) {
    std::vector<Proposal<Action>> moves;
    for (Action a = context.first + 1; a <= std::min(3u, s.pile) && moves.size() < n; ++a) moves.emplace_back(a, kind);
    return moves;
  }
  static State step(const State& s, Action a) { return {s.pile - a, 1 - s.turn}; }
  static int player(const State& s) { return s.turn; }
  static double value(const State& s) { return s.pile > 0 ? 0 : s.turn == 1 ? 1 : -1; }
};
constexpr auto nim_value = [](const Nim&, const Nim::State& s) { return Nim::value(s); };

/// The best value that the player to move can force, for itself.
template <class Game>
int minimax(Game& game, const typename Game::State& s) {
  const auto kinds = game.kinds(s);
  if (kinds.empty()) return static_cast<int>(game.player(s) == 0 ? game.value(s) : -game.value(s));
  int best = -1;
  Ledger ledger;
  for (const auto& move : game.propose(s, kinds.front(), 9, Context(Seed(), 0, &ledger)))
    best = std::max(best, -minimax(game, game.step(s, move.action)));
  return best;
}

/// Lets the engine play both sides. Empty if no move gave away what minimax can force.
template <class Game, class Engine>
std::string blunders(Game& game, Engine& engine, typename Game::State s, std::uint64_t seed) {
  std::string found;
  for (std::uint64_t move = 0; !game.kinds(s).empty(); ++move) {
    const auto tree = move % 2 ? testing::complete(engine(game, s, Seed(seed))) : engine.search(game, s, Seed(seed));
    NodeId best = tree[0].first_child;
    for (const NodeId child : tree.children(0))
      if (tree[child].visits > tree[best].visits) best = child;
    if (minimax(game, s) != -minimax(game, tree.state(best))) found += " move " + std::to_string(move);
    s = tree.state(best);
  }
  return found;
}

}  // namespace

TEST_CASE("MCTS plays tic-tac-toe as minimax does") {
  toy::TwoPlayers game;
  const toy::TwoPlayers::State starts[] = {{{0001, 0420}}, {{0002, 0400}}, {{0001, 0002}}, {{0021, 0400}, 1}};
  for (const std::uint32_t window : {1u, 4u}) {
    const MctsOptions options{.simulations = 3000, .width = 9, .window = window};
    Mcts textbook(options, Rollout({.n = 1, .max_steps = 9}, &toy::TwoPlayers::value, RandomMoves()), Uct());
    for (const auto& start : starts) CHECK(blunders(game, textbook, start, 2) == "");
  }
}

TEST_CASE("MCTS plays Nim as minimax does, whoever begins") {
  Nim game;
  Mcts textbook({.simulations = 2000, .width = 3}, Rollout({.n = 1, .max_steps = 20}, &Nim::value, RandomMoves()),
                Uct());
  Mcts parent({.simulations = 2000, .width = 3}, nim_value, Uct({.w = 1, .first_play = FirstPlay::parent}));
  for (const int turn : {0, 1})
    for (std::uint32_t pile = 1; pile < 12; ++pile) {
      CAPTURE(pile);
      CHECK(minimax(game, {pile, turn}) == (pile % 4 ? 1 : -1));
      CHECK(blunders(game, textbook, {pile, turn}, 1) == "");
      CHECK(blunders(game, parent, {pile, turn}, 1) == "");
    }
}

TEST_CASE("a pruning policy sees a parent as the player to move there, as its children are seen") {
  // A node's total is its own value, -1 to 1, and the totals of its children.
  std::size_t asked = 0, wrong = 0;
  const auto look = [&](const auto& tree, std::span<const NodeId> siblings) {
    const NodeId parent = tree[siblings.front()].parent;
    double below = 0;
    for (const NodeId child : tree.children(parent)) below += tree[child].total;
    wrong += std::abs(tree[parent].total - below) > 1;
    ++asked;
    return Verdict();
  };
  Nim game;
  for (const int turn : {0, 1}) {
    Mcts search({.simulations = 200, .width = 3}, nim_value, Uct(), look);
    (void)search.search(game, {7, turn}, Seed(1));
    (void)testing::complete(search(game, {7, turn}, Seed(1)));
  }
  CHECK(asked > 700);
  CHECK(wrong == 0);
}

TEST_CASE("a player is 0 or 1") {
  struct Signed : Nim {
    static int player(const State& s) { return s.turn ? -1 : 1; }
  } game;
  Mcts search({.simulations = 4, .width = 3}, nim_value);
  CHECK_THROWS_WITH_AS((search.search(game, {2, 1}, Seed(1))), "player(state) is -1, not 0 or 1", TreeError);
}

TEST_CASE("a node's total is for the player who moved to it, by hand") {
  // A pile of two. Take one (A): 0. Take both (B), twice: won. Then A again, and the other takes the last (C).
  Nim game;
  for (const int turn : {0, 1}) {
    const auto tree = Mcts({.simulations = 4, .width = 3}, nim_value, Uct({.w = 10})).search(game, {2, turn}, Seed(1));
    REQUIRE(tree.size() == 4);
    CHECK(tree[0].total == (turn == 0 ? 1 : -1));  // for player 0
    CHECK(tree[1].total == -1);
    CHECK(tree[2].total == 2);
    CHECK(tree[3].total == 1);
  }
}

}  // namespace two_players_test
