#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/llm/scheduler.hpp>
#include <espalier/policy/any_pruning.hpp>
#include <espalier/policy/select.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search/budget.hpp>

#include "bindings.hpp"
#include "environment.hpp"

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

/// An engine that is ready to grow trees. It must outlive their tasks.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;
  virtual Task<rag::Tree> grow(rag::State root, std::uint64_t run_seed) = 0;
};

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
  [[nodiscard]] virtual std::unique_ptr<Engine> on(Scheduler& scheduler, ModelPort model, RetrieverPort retriever,
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
template <class Grower>
class LoopEngine : public Engine {
 public:
  LoopEngine(Grower grower, rag::Environment environment)
      : grower_(std::move(grower)), environment_(std::move(environment)) {}
  Task<rag::Tree> grow(rag::State root, std::uint64_t run_seed) override {
    const Seed seed(run_seed, root.question().id);
    return grower_(environment_, std::move(root), seed);
  }

 private:
  Grower grower_;
  rag::Environment environment_;
};

}  // namespace espalier::python
