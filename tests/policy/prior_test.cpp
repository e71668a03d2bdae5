#include <espalier/policy/prior.hpp>
#include <espalier/search/mcts_task.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace prior_test {

using namespace espalier;

namespace {

/// One choice between two actions: the first is said by two samples of three, has 4 tokens and log-probability -2; the
/// second has 1 token and -1. Their proposed shares are 0.9 and 0.1.
struct Choice {
  using State = int;
  struct Action {
    int name = 0;
    float logprob = NAN;
    std::uint32_t tokens = 0;
    bool operator==(const Action& other) const { return name == other.name; }
  };
  bool scored = true;  ///< log-probabilities are known
  std::vector<Kind> kinds(int s) const { return s == 0 ? std::vector<Kind>{0} : std::vector<Kind>(); }
  std::vector<Proposal<Action>> propose(int, Kind kind, std::uint32_t, const Context&) const {
    const Action long_one = scored ? Action{1, -2, 4} : Action{1}, short_one = scored ? Action{2, -1, 1} : Action{2};
    return {{long_one, kind, 0.45F}, {short_one, kind, 0.1F}, {long_one, kind, 0.45F}};
  }
  int step(int, const Action& action) const { return action.name; }
};
const auto nothing = [](const Choice&, int) { return 0.0; };

struct Shares {
  double first, second;
  std::string source;
};
Shares shares(Prior prior, Choice env = {}) {
  const auto tree = Mcts({.simulations = 2, .width = 3, .prior = prior}, nothing).search(env, 0, Seed(1));
  REQUIRE(tree.size() == 3);
  return {static_cast<double>(tree[1].prior), static_cast<double>(tree[2].prior), tree.prior_source};
}

}  // namespace

TEST_CASE("priors come from where the option says, and the tree says so too") {
  const auto expect = [](Prior prior, double first, const char* source) {
    CAPTURE(source);
    const Shares got = shares(prior);
    CHECK(got.first == doctest::Approx(first).epsilon(1e-5));
    CHECK(got.second == doctest::Approx(1 - first).epsilon(1e-5));
    CHECK(got.source == source);
  };
  expect({PriorSource::given}, 0.9, "");
  expect({PriorSource::uniform}, 0.5, "uniform");
  expect({PriorSource::counts}, 2.0 / 3, "counts");
  expect({PriorSource::scored}, 0.9, "scored");
  // a token: -0.5 and -1: 1 / (1 + e^-0.5) = 0.6224593; in sum: -2 and -1: 1 / (1 + e) = 0.2689414
  expect({PriorSource::mean_logprob}, 0.6224593, "mean_logprob");
  expect({PriorSource::sum_logprob}, 0.2689414, "sum_logprob");
  // at temperature 0.5 the differences double: 1 / (1 + e^-1) = 0.7310586; 1 / (1 + e^2) = 0.1192029
  expect({PriorSource::mean_logprob, 0.5}, 0.7310586, "mean_logprob");
  expect({PriorSource::sum_logprob, 0.5}, 0.1192029, "sum_logprob");
}

TEST_CASE("without log-probabilities siblings share by counts, and the tree does not claim otherwise") {
  for (const auto source : {PriorSource::mean_logprob, PriorSource::sum_logprob}) {
    const Shares got = shares({source}, Choice{.scored = false});
    CHECK(got.first == doctest::Approx(2.0 / 3));
    CHECK(got.source == "counts");
  }
}

TEST_CASE("the numbers behind a softmax stand in the tree") {
  Choice env;
  const auto tree =
      Mcts({.simulations = 1, .width = 3, .prior = {PriorSource::mean_logprob}}, nothing).search(env, 0, Seed(1));
  CHECK(tree.annotation("logprob", 1) == doctest::Approx(-0.5));
  CHECK(tree.annotation("logprob", 2) == doctest::Approx(-1));
}

TEST_CASE("a pruned sibling leaves its share to the others") {
  Tree<int, int> tree(0, Seed(1));
  for (const float prior : {0.5F, 0.3F, 0.2F}) tree.add(0, 1, 1, 0, prior);
  tree[0].status = Status::expanded;
  tree.prune(2, Reason::malformed);
  Prior().share(tree, 0);
  CHECK(static_cast<double>(tree[1].prior) == doctest::Approx(5.0 / 7));
  CHECK(static_cast<double>(tree[3].prior) == doctest::Approx(2.0 / 7));
}

TEST_CASE("a temperature that is no temperature is refused") {
  CHECK_THROWS_WITH_AS(Prior({PriorSource::counts, 0}).check(), "option 'tau' is 0.000000, allowed: above 0",
                       std::invalid_argument);
  CHECK_THROWS_AS(Prior({PriorSource::counts, std::nan("")}).check(), std::invalid_argument);
}

}  // namespace prior_test
