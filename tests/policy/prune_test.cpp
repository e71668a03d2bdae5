#include <espalier/policy/moments.hpp>
#include <espalier/policy/prune.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace prune_test {

using namespace espalier;

namespace {

using Small = Tree<int, int>;
using Cuts = std::vector<std::pair<NodeId, Reason>>;

static_assert(PruningPolicy<KeepAll, Small> && PruningPolicy<TopK, Small> && PruningPolicy<BestOfEachKind, Small> &&
              PruningPolicy<Vote, Small> && PruningPolicy<ThresholdSkip, Small> && PruningPolicy<Threshold, Small> &&
              PruningPolicy<Dedup<>, Small> && PruningPolicy<Budgeted, Small>);
static_assert(PruningPolicy<Before<TopK>, Small> && !detail::PrunesAtValues<Before<TopK>, Small>);
static_assert(PruningPolicy<Keep<TopK>, Small> && !detail::PrunesAtValues<Keep<TopK>, Small>);
static_assert(detail::PrunesBefore<AllOf<Vote, Before<TopK>>, Small> &&
              detail::PrunesAtValues<AllOf<Vote, Before<TopK>>, Small> &&
              !detail::PrunesWhenDone<AllOf<Vote, Before<TopK>>, Small>);

using Number = int (*)(const Small&, std::span<const NodeId>);
using TextKey = bool (*)(const std::string&);
struct Early : TopK {
  std::vector<NodeId> before(const auto&, std::span<const NodeId>) const { return {}; }
};
template <class... Policies>
constexpr bool none_prunes = !(PruningPolicy<Policies, Small> || ...);
static_assert(none_prunes<AllOf<TopK, Number>, AllOf<Early>, Before<Number>, Keep<Number>, Early, Dedup<TextKey>>);

struct Child {
  Kind kind = 0;
  double value = 0;
  float prior = 1;
  bool valued = true;
};

/// A root with these children, ids from 1, and what a policy says about all of them.
struct Family {
  explicit Family(std::vector<Child> children) : tree(0, Seed()) {
    for (const Child& c : children) {
      const NodeId id = tree.add(0, 0, 0, c.kind, c.prior);
      ids.push_back(id);
      if (!c.valued) continue;
      tree[id].visits = 2;
      tree[id].total = 2 * c.value;
    }
  }
  Verdict operator()(const auto& policy) const { return policy(tree, std::span<const NodeId>(ids)); }
  Small tree;
  std::vector<NodeId> ids;
};

}  // namespace

TEST_CASE("top-k keeps the best by value, then prior, then age") {
  const Family family({{0, 0.5}, {0, 0.9}, {0, 0.5, 2}, {0, 0.5}, {0, 0.1}});
  CHECK(family(TopK(5)).cut.empty());
  CHECK(family(TopK(9)).cut.empty());
  CHECK(family(TopK(1)).cut ==
        Cuts{{3, Reason::not_best}, {1, Reason::not_best}, {4, Reason::not_best}, {5, Reason::not_best}});
  CHECK(family(TopK(3)).cut == Cuts{{4, Reason::not_best}, {5, Reason::not_best}});  // 2, 3 (prior), 1 (older than 4)
  CHECK(!family(TopK(1)).enough);
  CHECK_THROWS_AS(TopK(0), std::invalid_argument);
  const int negative = -1;
  CHECK_THROWS_WITH_AS(TopK(std::size_t(negative)), "option 'top_k' is -1, allowed: 1 or more", std::invalid_argument);
}

TEST_CASE("a threshold on values is a number, or a distance from the best or from the parent") {
  using Of = Threshold::Of;
  Family family({{0, 0.5}, {0, 0.9}, {0, 0.3}, {0, 0, 1, false}});
  const Reason low = Reason::below_threshold;
  CHECK(family(Threshold(0.5)).cut == Cuts{{3, low}});  // equal values and those that are not known stay
  CHECK(family(Threshold(0.5 + 1e-7)).cut == Cuts{{3, low}});
  CHECK(family(Threshold(2)).cut == Cuts{{1, low}, {2, low}, {3, low}});
  CHECK(family(Threshold(0.4, Of::best)).cut == Cuts{{3, low}});  // 0.9 - 0.4
  CHECK(family(Threshold(0, Of::best)).cut == Cuts{{1, low}, {3, low}});
  CHECK(family(Threshold(0.1, Of::parent)).cut.empty());  // the parent has no value
  family.tree[0].visits = 2;
  family.tree[0].total = 1.3;  // mean 0.65
  CHECK(family(Threshold(0.1, Of::parent)).cut == Cuts{{1, low}, {3, low}});
  CHECK(Family({{0, 0, 1, false}})(Threshold(1, Of::best)).cut.empty());
  CHECK_THROWS_WITH_AS(Threshold(std::nan("")), "option 'threshold' is nan, allowed: a finite number",
                       std::invalid_argument);
}

TEST_CASE("of equal actions of one kind the best one stays") {
  Small tree(0, Seed());
  std::vector<NodeId> ids;
  for (const auto& [action, kind, value] : {std::tuple(4, 0, 0.1), {-4, 0, 0.7}, {4, 1, 0.2}, {3, 0, 0.1}}) {
    ids.push_back(tree.add(0, action, 0, static_cast<Kind>(kind), 1));
    tree[ids.back()].visits = 1;
    tree[ids.back()].total = value;
  }
  CHECK(Dedup()(tree, ids).cut.empty());
  const auto size = [](int action) { return action < 0 ? -action : action; };
  CHECK(Dedup(size)(tree, ids).cut == Cuts{{1, Reason::not_best}});
}

TEST_CASE("a budgeted policy keeps fewer as calls are spent") {
  Family family({{0, 0.1}, {0, 0.2}, {0, 0.3}, {0, 0.4}, {0, 0.5}});
  for (const auto& [spent, kept] : {std::pair(0, 4), {1, 4}, {25, 3}, {49, 3}, {50, 2}, {99, 1}, {100, 1}, {900, 1}}) {
    family.tree.ledger = {};
    family.tree.ledger["x"].completions = static_cast<std::uint64_t>(spent);
    CAPTURE(spent);
    CHECK(family(Budgeted(100, 4)).cut.size() == static_cast<std::size_t>(5 - kept));
  }
  family.tree.ledger = {};
  CHECK(family(Budgeted(std::numeric_limits<std::int64_t>::max(), 3)).cut.size() == 2);
  CHECK_THROWS_AS(Budgeted(0, 4), std::invalid_argument);
  CHECK_THROWS_AS(Budgeted(9, 0), std::invalid_argument);
}

TEST_CASE("policies that are joined see what those before them left, each at its own moment") {
  const Family family({{1, 0.5}, {2, 0.9}, {1, 0.7}, {2, 0.1}});
  // the best of each kind are 3 (0.7) and 2 (0.9), and the better of these is 2
  CHECK(family(AllOf(BestOfEachKind(), TopK(1))).cut ==
        Cuts{{1, Reason::not_best}, {4, Reason::not_best}, {3, Reason::not_best}});
  const AllOf policy(Before(Vote(1)), Threshold(0.6), Keep(TopK(1)));
  const std::span<const NodeId> ids(family.ids);
  CHECK(policy.before(family.tree, ids).cut == Cuts{{1, Reason::outvoted}, {3, Reason::outvoted}});
  CHECK(policy(family.tree, ids).cut == Cuts{{1, Reason::below_threshold}, {4, Reason::below_threshold}});
  CHECK(policy.keep(family.tree, ids).cut.size() == 3);
  const AllOf enough(ThresholdSkip(1, 0.6, ThresholdSkip::Of::best), TopK(9));
  CHECK(enough(family.tree, ids).enough);
}

TEST_CASE("the best of each kind stays") {
  const Family family({{1, 0.2}, {2, 0.1}, {1, 0.6}, {2, 0.1, 0.5F}, {1, 0.6}});
  CHECK(family(BestOfEachKind()).cut == Cuts{{1, Reason::not_best}, {4, Reason::not_best}, {5, Reason::not_best}});
}

TEST_CASE("a vote needs strictly more than half of the samples") {
  const Kind answer = 1, question = 2;
  // two of three samples say answer, in one merged child
  Verdict v = Family({{answer, 0, 2.0F / 3}, {question, 0, 1.0F / 3}})(Vote(answer));
  CHECK(v.enough);
  CHECK(v.cut == Cuts{{2, Reason::outvoted}});
  // two children of a third each are as many
  v = Family({{answer, 0, 1.0F / 3}, {question, 0, 1.0F / 3}, {answer, 0, 1.0F / 3}})(Vote(answer));
  CHECK(v.enough);
  CHECK(v.cut == Cuts{{2, Reason::outvoted}});
  // exactly half is not enough
  v = Family({{answer, 0, 0.5F}, {question, 0, 0.5F}})(Vote(answer));
  CHECK(!v.enough);
  CHECK(v.cut == Cuts{{1, Reason::outvoted}});
  // shares that float arithmetic puts a little above a half: 0.1 + 0.4 with errors
  v = Family({{answer, 0, 0.1F}, {answer, 0, 0.4F}, {question, 0, 0.5F}})(Vote(answer));
  CHECK(!v.enough);
  // what could not be read has no vote: one answer of one, one of two
  CHECK(Family({{answer, 0, 1.0F / 3}})(Vote(answer)).enough);
  CHECK(!Family({{answer, 0, 1.0F / 3}, {question, 0, 1.0F / 3}})(Vote(answer)).enough);
  // no child of that kind: nothing to vote on
  v = Family({{question, 0, 1}})(Vote(answer));
  CHECK(!v.enough);
  CHECK(v.cut.empty());
}

TEST_CASE("a threshold is passed by values strictly above it") {
  using Of = ThresholdSkip::Of;
  const Kind own = 1, other = 2;
  const Family family({{own, 0.7}, {own, 0.5}, {other, 0.9}});  // best 0.7, mean 0.6
  CHECK(family(ThresholdSkip(own, 0.65, Of::best)).enough);
  CHECK(family(ThresholdSkip(own, 0.65, Of::best)).cut == Cuts{{3, Reason::skipped}});
  CHECK(!family(ThresholdSkip(own, 0.7, Of::best)).enough);
  CHECK(family(ThresholdSkip(own, 0.7, Of::best)).cut ==
        Cuts{{1, Reason::below_threshold}, {2, Reason::below_threshold}});
  CHECK(family(ThresholdSkip(own, 0.59, Of::mean)).enough);
  CHECK(!family(ThresholdSkip(own, 0.65, Of::mean)).enough);
  CHECK(family(ThresholdSkip(3, 0, Of::best)).cut.empty());
  CHECK_THROWS_AS(ThresholdSkip(own, std::nan(""), Of::best), std::invalid_argument);
}

TEST_CASE("a mean is over samples, and three of five right are not above 0.6") {
  using Of = ThresholdSkip::Of;
  const Family two_of_three({{1, 1, 2.0F / 3}, {1, 0, 1.0F / 3}});  // mean 0.667; over the children it would be 0.5
  CHECK(two_of_three(ThresholdSkip(1, 0.6, Of::mean)).enough);
  CHECK(!two_of_three(ThresholdSkip(1, 0.67, Of::mean)).enough);
  CHECK(!two_of_three(ThresholdSkip(1, 2.0 / 3, Of::mean)).enough);
  const Family three_of_five({{1, 1, 0.6F}, {1, 0, 0.4F}});
  CHECK(!three_of_five(ThresholdSkip(1, 0.6, Of::mean)).enough);
  const Family rounded_up({{1, 0.2 + 0.2 + 0.2}});  // 0.6000000000000001
  CHECK(!rounded_up(ThresholdSkip(1, 0.6, Of::best)).enough);
}

TEST_CASE("a threshold says nothing about a kind without values: a failure to look is no zero") {
  using Of = ThresholdSkip::Of;
  const Family none({{1, 0, 1, false}, {2, 0.9}});
  CHECK(none(ThresholdSkip(1, 0.5, Of::best)).cut.empty());
  const Family some({{1, 0, 1, false}, {1, 0.8}, {2, 0.9}});
  CHECK(some(ThresholdSkip(1, 0.7, Of::mean)).enough);  // the mean is over what is known
  const Family negative({{1, -0.5}, {1, -0.25}});
  CHECK(negative(ThresholdSkip(1, -0.3, Of::best)).enough);
}

}  // namespace prune_test
