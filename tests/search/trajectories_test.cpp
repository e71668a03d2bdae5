#include <espalier/search/layered.hpp>
#include <espalier/search/trajectories.hpp>

#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <array>
#include <vector>

namespace trajectories_test {

using namespace espalier;

namespace {

/// Steps are digits; three make an end. The first is the sample's number modulo 3; 2 is unreadable, 1 ends early.
struct Digits {
  using State = std::vector<int>;
  using Action = int;
  [[nodiscard]] std::span<const Kind> kinds(const State& state) const {
    static constexpr std::array<Kind, 1> digit{0};
    return std::span<const Kind>(digit).first(state.size() < 3 ? 1 : 0);
  }
  [[nodiscard]] std::vector<Proposal<int>> propose(const State& state, Kind, std::uint32_t n,
                                                   const Context& context) const {
    ++(*context.ledger)["digit"].completions;
    std::vector<Proposal<int>> proposals;
    for (std::uint32_t i = 0; i < n && (state.empty() || state.back() != 1); ++i) {
      const int digit =
          state.empty() ? static_cast<int>((context.first + i) % modulo) : static_cast<int>(state.size()) + 2;
      proposals.emplace_back(digit, Kind(0), 1.0F, digit == 2 ? Reason::malformed : Reason::none);
    }
    return proposals;
  }
  [[nodiscard]] State step(State state, int digit) const {
    state.push_back(digit);
    return state;
  }
  std::uint32_t modulo = 3;
};
struct Sum {
  double operator()(Digits&, const std::vector<int>& state) const {
    double sum = 0;
    for (const int digit : state) sum += digit;
    return sum;
  }
};

auto grow(Digits digits, std::uint32_t n, std::vector<int> root = {}, Budget budget = {}) {
  Trajectories<Sum> paths({n, std::move(budget)}, Sum());
  return testing::complete(paths(digits, std::move(root), Seed(1)));
}

}  // namespace

TEST_CASE("trajectories are chains of their own, also where they say the same") {
  const auto tree = grow({.modulo = 1}, 4);  // 0 3 4, four times
  CHECK(tree.children(0).size() == 4);
  CHECK(tree.size() == 13);
  CHECK(tree[0].visits == 4);
  CHECK(tree[0].mean() == 7);
  for (const NodeId first : tree.children(0)) {
    CHECK(tree[first].prior == 0.25F);
    CHECK(tree[first].visits == 1);
    CHECK(tree[first].status == Status::expanded);
  }
  CHECK(tree.ending == SearchFacts::Ending::done);
  CHECK(tree.ledger.total().completions == 12);
}

TEST_CASE("a trajectory that cannot be read or gets no proposal ends, the others go on") {
  const auto tree = grow({}, 3);  // 0 3 4; 1; 2
  CHECK(tree.size() == 6);
  CHECK(tree[0].visits == 1);
  CHECK(tree[2].status == Status::expanded);
  CHECK(tree[3].status == Status::pruned);
  CHECK(tree[3].reason == Reason::malformed);
  CHECK(tree[5].status == Status::terminal);
  CHECK(tree[5].total == 7);
}

TEST_CASE("a root that is an end, or proposes nothing, ends at once") {
  const auto end = grow({}, 3, {1, 2, 3});
  CHECK(end.size() == 1);
  CHECK(end[0].total == 6);
  CHECK(grow({}, 3, {1}).size() == 1);
}

TEST_CASE("a budget ends trajectories between steps") {
  const auto tree = grow({.modulo = 1}, 4, {}, {.calls = 5});
  CHECK(tree.size() == 6);  // a step of four, and one of the first alone
  CHECK(tree[5].parent == 1);
  CHECK(tree.ledger.total().completions == 5);
  CHECK(tree.ending == SearchFacts::Ending::budget);
  CHECK(tree[0].visits == 0);
  Digits digits{.modulo = 1};
  Trajectories<Sum> scored({4, {.calls = 13, .kept = 1}, 1}, Sum());
  const auto some = testing::complete(scored(digits, {}, Seed(1)));
  CHECK(some.ledger.total().completions == 6);  // and 6 for their scores; 13 - 1 pays for no other step and its score
  CHECK(some.ending == SearchFacts::Ending::budget);
  CHECK_THROWS_WITH_AS(grow({}, 0), "option 'n' is 0, allowed: 1 or more", std::invalid_argument);
}

}  // namespace trajectories_test
