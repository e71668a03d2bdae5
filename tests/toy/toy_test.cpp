#include <espalier/toy/uniform_tree.hpp>

#include "../../benchmarks/two_players.hpp"
#include <doctest/doctest.h>

#include <vector>

namespace toy_test {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::toy;

static_assert(espalier::detail::PlainEnvironment<UniformTree> && espalier::detail::PlainEnvironment<TwoPlayers>);

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

TEST_CASE("a game of tic-tac-toe ends with a line or a full board") {
  const TwoPlayers game;
  CHECK(actions(game, {{0401, 0020}, 1}, 2, 1) == std::vector<TwoPlayers::Action>{2, 3});  // cells 3 row + column
  CHECK(game.step(game.step({}, 8), 4).marks == std::array<std::uint16_t, 2>{0400, 0020});
  CHECK(game.kinds({{0007, 0030}, 1}).empty());
  CHECK(game.value({{0007, 0030}, 1}) == 1);
  CHECK(game.value({{0030, 0007}, 0}) == -1);
  CHECK(game.kinds({{0615, 0162}, 1}).empty());
  CHECK(game.value({{0615, 0162}, 1}) == 0);
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) sum += game.playout({}, Random(Seed(seed)));
  CHECK(sum > 20);  // who begins wins more often
}

}  // namespace toy_test
