#pragma once

#include <espalier/method/detail/evidence.hpp>
#include <espalier/method/option_check.hpp>
#include <espalier/method/prorag/prompts.hpp>
#include <espalier/policy/any_pruning.hpp>
#include <espalier/policy/select.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search/mcts_task.hpp>
#include <espalier/search/rollout.hpp>
#include <espalier/search/trajectories.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// ProRAG (arXiv 2601.21912): tree search over steps of a thought and an action. It uses PUCT with the policy as prior,
/// outcomes discounted by the number of steps, and process rewards learnt from siblings that a judge compares.
namespace espalier::method {

/// ProRAG's options (arXiv 2601.21912).
struct ProRagOptions {
  enum class Grow : std::uint8_t { search, group, none };     ///< none: for annotations of its gold chain
  enum class Discount : std::uint8_t { from_end, per_edge };  ///< Eq. 3, rollout included, or as the code has it
  using Visits = Puct::Visits;
  enum class Simulate : std::uint8_t { first, random };  ///< which new child of a node is simulated
  enum class Distinct : std::uint8_t { step, action };   ///< samples differ by thought and action, or only by action
  Grow grow = Grow::search;
  std::uint32_t simulations = 200;
  std::uint32_t samples = 5;
  double c = 2.5;
  Visits visits = Visits::parent;
  double gamma = 0.99;  ///< Eq. 3
  Discount discount = Discount::from_end;
  std::uint32_t max_depth = 10, answer_depth = 10;
  bool force_answer = true;
  MctsOptions::Expand expand = MctsOptions::Expand::all;
  Prior prior{PriorSource::counts, 1};
  Simulate simulate = Simulate::first;
  Distinct distinct = Distinct::action;
  std::uint32_t rollouts = 1, window = 1;
  bool solve = true;  ///< simulations find new steps
  std::uint32_t group = 8;
  AnyPruning prune{};  ///< asked at values
  Budget budget{};     ///< per question

  void describe(auto& table) {
    const Range from_one = Range::at_least(1);
    table
        .add("grow", grow, "trees of the search, groups of independent trajectories, or nothing but the question",
             {"search", "group", "none"})
        .add("simulations", simulations, "simulations per tree", from_one)
        .add("samples", samples, "samples of a node's next step (K)", Range::between(1, 255))
        .add("c", c, "exploration weight of PUCT", Range::at_least(0))
        .add("puct_visits", visits,
             "what stands under the square root of PUCT: a parent's visits, or the sum of its children's (Eq. 2)",
             {"parent", "children"})
        .add("gamma", gamma, "discount per step", Range::above(0).up_to(1))
        .add("discount", discount, "by the steps to the trajectory's end, or by the edges above the simulated node",
             {"from_end", "per_edge"})
        .add("max_depth", max_depth, "steps on a path of a search", from_one)
        .add("answer_depth", answer_depth, "steps on a path of `answer` or of a group", from_one)
        .add("force_answer", force_answer, "the last step of `answer` must answer")
        .add("expand", expand, "all children of a node at once, or one per simulation", {"all", "one"})
        .add("prior", prior.source, "where the priors of siblings come from",
             {"given", "uniform", "counts", "mean_logprob", "sum_logprob"})
        .add("tau", prior.tau, "temperature of a prior from log-probabilities", Range::above(0))
        .add("simulate", simulate, "which new child is simulated", {"first", "random"})
        .add("distinct", distinct, "samples differ by thought and action, or by action", {"step", "action"})
        .add("rollouts", rollouts, "simulated ends per node", from_one)
        .add("window", window, "simulations under way in one tree", Range::between(1, 65535))
        .add("solve", solve, "do not select solved nodes again")
        .add("group", group, "trajectories per question (G)", from_one)
        .prune(prune, "Mcts");
  }
};

namespace detail {

/// Steps in sequence, until there is an answer or the path reaches its largest depth.
class ProRagEnvironment {
 public:
  using State = rag::State;
  using Action = rag::Action;
  struct Options {
    std::string purpose;        ///< "step" or "rollout"
    std::uint32_t max_depth;    ///< steps on one path
    bool force_answer = false;  ///< the last step must answer
    ProRagOptions::Distinct distinct = ProRagOptions::Distinct::step;
    ProRagOptions::Simulate simulate = ProRagOptions::Simulate::first;  ///< random: samples are in random order
  };
  ProRagEnvironment(rag::Environment loop, Options options) : loop_(std::move(loop)), options_(std::move(options)) {}

  [[nodiscard]] std::span<const Kind> kinds(const State& state) const {
    static constexpr std::array<Kind, 1> step{16};
    return std::span<const Kind>(step).first(state.answer() || steps_of(state) >= options_.max_depth ? 0 : 1);
  }
  template <class = void>
  Task<std::vector<Proposal<Action>>> propose(State state, Kind, std::uint32_t n, Context context) const {
    const bool last = options_.force_answer && steps_of(state) + 1 >= options_.max_depth;
    const std::string purpose = last ? "forced_answer" : options_.purpose;
    auto proposals =
        co_await loop_.draw(purpose, loop_.slots(state.view()), n, context, rag::SegmentKind::answer, last);
    if (options_.distinct == ProRagOptions::Distinct::step)
      for (auto& proposal : proposals) proposal.action.key.insert(0, proposal.action.thought + '\n');
    if (options_.simulate == ProRagOptions::Simulate::random)
      shuffle(proposals, Random(context.seed.purpose("order of samples")));
    co_return proposals;
  }
  template <class = void>
  Task<State> step(State state, Action action, Context context) const {
    return loop_.step(std::move(state), std::move(action), context);
  }
  [[nodiscard]] const rag::Environment& loop() const { return loop_; }

 private:
  static void shuffle(std::vector<Proposal<Action>>& proposals, Random random) {
    for (auto left = static_cast<std::uint32_t>(proposals.size()); left > 1; --left)
      std::swap(proposals[left - 1], proposals[random.below(left)]);
  }
  rag::Environment loop_;
  Options options_;
};

/// The outcome of simulated ends, discounted by the steps from the node to each end (Eq. 3) if the options say so.
class ProRagValue {
 public:
  using Result = Evaluation<rag::State, double>;
  ProRagValue(const ProRagOptions& options, const rag::Environment& loop, rag::AnyReward outcome)
      : gamma_(options.discount == ProRagOptions::Discount::from_end ? options.gamma : 1),
        rollouts_({options.rollouts, options.max_depth}, std::move(outcome),
                  ProRagEnvironment(loop, {"rollout", options.max_depth})) {}

  template <class = void>
  Task<Result> operator()(ProRagEnvironment& env, rag::State state, Context context) {
    Result result = co_await rollouts_(env, state, context);
    result.value = 0;
    for (const auto& [end, outcome] : result.terminals)
      result.value += std::pow(gamma_, steps_of(end) - steps_of(state)) * outcome / double(result.terminals.size());
    co_return result;
  }

 private:
  double gamma_;
  Rollout<rag::AnyReward, ProRagEnvironment> rollouts_;
};

}  // namespace detail

/// ProRAG's trees: from its search, or groups of trajectories of its policy.
class ProRag {
 public:
  ProRag(const ProRagOptions& options, const rag::Environment& loop, const rag::AnyReward& outcome)
      : grow_(detail::checked(options).grow),
        nodes_(loop, {"step", options.max_depth, false, options.distinct, options.simulate}),
        policy_(loop.drawing_once(), {"step", options.answer_depth}),
        search_({.simulations = options.simulations,
                 .width = options.samples,
                 .window = options.window,
                 .expand = options.expand,
                 .solve = options.solve,
                 .prior = options.prior,
                 .range = {0, 1},
                 .budget = options.budget},
                detail::ProRagValue(options, loop, outcome), Puct({.c = options.c, .visits = options.visits}),
                options.prune, DiscountedBackup({.gamma = options.gamma})),
        group_({options.group, options.budget}, {{.n = 1}, outcome}, options.prune) {}

  /// Grows the tree of one question. This object must outlive the task.
  template <class = void>
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    if (grow_ == ProRagOptions::Grow::none) return espalier::detail::as_task(rag::Tree(std::move(root), seed));
    if (grow_ == ProRagOptions::Grow::group) return group_(policy_, std::move(root), seed);
    return search_(nodes_, std::move(root), seed);
  }

 private:
  ProRagOptions::Grow grow_;
  detail::ProRagEnvironment nodes_, policy_;
  Mcts<detail::ProRagValue, Puct, AnyPruning, DiscountedBackup> search_;
  Trajectories<Rollout<rag::AnyReward>, AnyPruning> group_;
};

}  // namespace espalier::method
