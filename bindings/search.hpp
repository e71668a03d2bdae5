#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/llm/scheduler.hpp>
#include <espalier/policy/any_pruning.hpp>
#include <espalier/policy/select.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search/budget.hpp>

#include "bindings.hpp"
#include "environment.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace espalier::python {

/// The end of a search or rollout for a Python reward. Never shared.
struct RewardRequest {
  explicit RewardRequest(rag::State end) : state(std::move(end)) {}
  rag::State state;
};

/// One of our rewards, or a Python function of a list of states, called once per batch over all trees of the scheduler.
/// Throws py::type_error for anything else.
rag::AnyReward make_reward(const py::object& reward, Scheduler& scheduler);
/// What `prune=` takes in Python, None included. Throws py::type_error for anything else.
AnyPruning make_pruning(const py::object& policy);

/// Grows a tree. It must outlive the tasks.
using Grow = std::function<Task<rag::Tree>(rag::State root, std::uint64_t run_seed)>;

/// A search as a value: options and parts without backends.
class Search {
 public:
  Search(std::string name, Loop loop, py::object reward)
      : method(std::move(name)), environment(std::move(loop)), reward(std::move(reward)) {}
  virtual ~Search() = default;
  std::string method;
  Loop environment;
  py::object reward;

  /// The options as a JSON object.
  [[nodiscard]] virtual std::string options() const {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    show(json);
    environment.show(json);
    json.end_object();
    return out;
  }
  /// Builds the engine over backends with this reward.
  [[nodiscard]] virtual Grow on(Scheduler& scheduler, ModelPort model, RetrieverPort retriever,
                                const py::object& chosen_reward) const = 0;

 protected:
  virtual void show(JsonWriter&) const {}
};

/// The evaluator of Mcts and Beam: the mean reward of n rollouts.
struct RolloutPart {
  py::object reward;
  std::uint32_t n;
  std::uint32_t max_steps;
};

/// A selection policy that keeps its options for the provenance.
template <class Policy>
struct Chosen : Policy {
  explicit Chosen(typename Policy::Options numbers = {}) : Policy(numbers), options(numbers) {}
  typename Policy::Options options;
};

/// An engine of espalier/search over the policy loop.
template <class Engine>
Grow over_loop(Engine engine, rag::Environment loop) {
  const auto both = std::make_shared<std::pair<Engine, rag::Environment>>(std::move(engine), std::move(loop));
  return [both](rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    return both->first(both->second, std::move(root), seed);
  };
}

}  // namespace espalier::python
