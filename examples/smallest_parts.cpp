// The smallest type that satisfies each concept of <espalier/core/concepts.hpp>, and searches that use them.
#include <espalier/backend/dense.hpp>
#include <espalier/method/decex/prompts.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/search/layered.hpp>
#include <espalier/search/mcts_task.hpp>
#include <espalier/search/rollout.hpp>

#include <array>
#include <cstdio>

using namespace espalier;

// LanguageModel, Retriever, Encoder: a batch function each; a lambda will do.
inline const auto model = [](std::span<const Prompt> prompts) {
  return std::vector<std::string>(prompts.size(), "<answer> hello </answer>");
};
inline const auto retriever = [](std::span<const Query> queries) { return std::vector<Passages>(queries.size()); };
inline const auto encoder = [](std::span<const EncodeRequest> texts) {
  return std::vector<Embedding>(texts.size(), {1, 0});
};
static_assert(LanguageModel<decltype(model)> && Retriever<decltype(retriever)> && Encoder<decltype(encoder)>);

// Environment: count down to 0 by steps of 1 to 3.
struct Countdown {
  using State = int;
  using Action = int;
  std::vector<Kind> kinds(int left) const { return std::vector<Kind>(left > 0 ? 1 : 0); }
  std::vector<Proposal<int>> propose(int left, Kind kind, std::uint32_t) const {
    std::vector<Proposal<int>> steps;
    for (int step = 1; step <= std::min(left, 3); ++step) steps.emplace_back(step, kind);
    return steps;
  }
  int step(int left, int taken) const { return left - taken; }
};
static_assert(Environment<Countdown>);

// RewardFunction: of a terminal state. Evaluator: of any state.
struct Reached {
  double operator()(int left) const { return left == 0 ? 1 : 0; }
};
struct Nearness {
  double operator()(Countdown&, int left) const { return 1.0 / (1 + left); }
};
static_assert(RewardFunction<Reached, int> && Evaluator<Nearness, Countdown>);

// SelectionPolicy, PruningPolicy, Backup.
struct LeastVisited {
  double operator()(const Node<double>&, const Node<double>& child) const { return -double(child.visits); }
};
struct OldestOnly {
  template <class Tree>
  Verdict operator()(const Tree&, std::span<const NodeId> siblings) const {
    Verdict verdict;
    for (std::size_t i = 1; i < siblings.size(); ++i) verdict.cut.emplace_back(siblings[i], Reason::not_best);
    return verdict;
  }
};
struct LastValue {
  template <class Tree>
  void operator()(Tree& tree, NodeId leaf, double value) const {
    for (NodeId id = leaf; id != no_node; id = tree[id].parent) tree[id].total = value * ++tree[id].visits;
  }
};
using CountTree = Tree<int, int>;
static_assert(SelectionPolicy<LeastVisited> && PruningPolicy<OldestOnly, CountTree> && Backup<LastValue, CountTree>);

int main() {
  Countdown environment;
  Mcts search({.simulations = 50, .width = 3}, Nearness(), LeastVisited(), KeepAll(), LastValue());
  const auto tree = search.search(environment, 20, Seed(1));

  Scheduler scheduler;
  Layered pruned({.width = 3}, Nearness(), Keep(OldestOnly()));
  const auto layers = scheduler.run(pruned(environment, 20, Seed(1)));
  std::printf("%zu nodes by MCTS, %zu by layers\n", tree.size(), layers.size());

  const auto answered = [](const rag::State& state) { return state.answer() ? 1.0 : 0.0; };
  const rag::Sampler sampler(scheduler.model(model), method::decex_prompts(), {});
  const rag::Environment loop(sampler, scheduler.retriever(retriever), {});
  Mcts answering({.simulations = 4}, Rollout({.n = 1}, answered), Uct());
  const auto grown = scheduler.run(answering(loop, rag::State(rag::Question{"1", "What do people say?"}), Seed(1)));
  std::printf("%s\n", output::best_answer(grown)->text.c_str());

  backend::VectorRetriever<backend::DenseIndex> dense(std::vector{Passage("1", "Greetings", "Hello.")}, encoder);
  const std::array queries{Query("hello", 3)};
  std::printf("%s\n", dense(queries)[0].value()[0].title().c_str());
}
