#include <espalier/toy/bandit.hpp>
#include <espalier/toy/corridor.hpp>
#include <espalier/toy/tic_tac_toe.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

namespace toy_test {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::toy;

static_assert(espalier::detail::PlainEnvironment<UniformTree> && espalier::detail::PlainEnvironment<Bandit> &&
              espalier::detail::PlainEnvironment<Corridor> && espalier::detail::PlainEnvironment<TicTacToe>);

namespace {

Ledger ledger;
template <class Env>
std::vector<typename Env::Action> actions(const Env& env, const typename Env::State& s, std::uint32_t n,
                                          std::uint32_t first = 0) {
  std::vector<typename Env::Action> found;
  const auto proposals = env.propose(s, 0, n, Context(Seed(), first, &ledger));
  for (const auto& proposal : proposals) found.push_back(proposal.action);
  return found;
}
/// The exact value of every action of a position, by cell.
std::map<int, int> values(const std::string& cells, char player) {
  const TicTacToe game;
  std::map<int, int> found;
  const auto s = game.position(cells, player);
  for (const auto cell : actions(game, s, 9)) found[cell] = game.solve(game.step(s, cell));
  return found;
}

}  // namespace

TEST_CASE("the uniform tree's hashes and values") {
  const UniformTree env({.branching = 3, .depth = 2});
  CHECK(env.root().hash == 1);
  CHECK(env.step(env.root(), 2).hash == mix64(6));  // 3 * 1 + 2 + 1
  CHECK(UniformTree::value({~std::uint64_t(0), 0}) < 1);
  CHECK(actions(env, env.root(), 9) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(actions(env, env.root(), 1, 2) == std::vector<std::uint32_t>{2});
  CHECK(actions(env, env.root(), 1, 3).empty());
  CHECK(env.kinds({1, 2}).empty());
  CHECK(env.kinds({1, 1}).size() == 1);
}

TEST_CASE("a bandit ends with the first pull") {
  const Bandit env({0.25, 0.5});
  CHECK(actions(env, env.root(), 5) == std::vector<std::uint32_t>{0, 1});
  CHECK(actions(env, env.root(), 5, 1) == std::vector<std::uint32_t>{1});
  CHECK(env.kinds(env.step(env.root(), 1)).empty());
  CHECK(env.value(1) == 0.5);
  CHECK(env.value(env.root()) == 0);
  CHECK_THROWS_AS(Bandit({}), std::invalid_argument);
}

TEST_CASE("a corridor pays for what was walked, unless it was left") {
  const Corridor env(4);
  auto s = env.step(env.step(env.root(), Corridor::Action::walk), Corridor::Action::walk);
  CHECK(env.value(s) == 0.5);
  CHECK(!env.kinds(s).empty());
  CHECK(env.value(env.step(s, Corridor::Action::leave)) == 0);
  CHECK(env.kinds(env.step(s, Corridor::Action::leave)).empty());
  s = {4, false};
  CHECK(env.value(s) == 1);
  CHECK(env.kinds(s).empty());
  CHECK(actions(env, env.root(), 1) == std::vector<Corridor::Action>{Corridor::Action::walk});
  CHECK(actions(env, env.root(), 3, 1) == std::vector<Corridor::Action>{Corridor::Action::leave});
}

TEST_CASE("tic-tac-toe against a perfect opponent has its known values") {
  // cells count 3 row + column
  CHECK(values("o...x...x", 'o') == std::map<int, int>{{1, -1}, {2, 0}, {3, -1}, {5, -1}, {6, 0}, {7, -1}});
  CHECK(values(".x......o", 'x') == std::map<int, int>{{0, -1}, {2, 1}, {3, -1}, {4, 0}, {5, -1}, {6, 0}, {7, -1}});
  CHECK(values("xo.......", 'x') == std::map<int, int>{{2, 0}, {3, 1}, {4, 1}, {5, 0}, {6, 1}, {7, 0}, {8, 0}});
  for (const auto& [cell, value] : values(".........", 'x')) CHECK(value == 0);
}

TEST_CASE("a game of tic-tac-toe ends with a line or a full board") {
  const TicTacToe game;
  const auto won = game.position("xxxoo....", 'x');
  CHECK(game.kinds(won).empty());
  CHECK(game.value(won) == 1);
  CHECK(game.value(game.position("xxxoo....", 'o')) == -1);
  CHECK(game.kinds(game.position("xoxxoooxx", 'x')).empty());
  CHECK(game.value(game.position("xoxxoooxx", 'x')) == 0);
  CHECK_THROWS_AS((void)game.position("xo", 'x'), std::invalid_argument);
  CHECK(actions(game, game.position("x...o...x", 'o'), 2, 1) == std::vector<TicTacToe::Action>{2, 3});
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const double v = game.playout(game.position(".........", 'x'), Random(Seed(seed)));
    CHECK(v <= 0);  // a perfect opponent never loses
    sum += v;
  }
  CHECK(sum < -100);  // and beats most random players
}

}  // namespace toy_test
