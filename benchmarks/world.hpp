#pragma once

#include <espalier/espalier.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include <sys/resource.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace espalier::benchmarks {

/// CPU seconds of this process so far.
inline double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// A generated world with everything DecEx-RAG needs; the model is simulated.
class Bench {
 public:
  Bench(std::uint32_t passages, std::uint32_t questions)
      : world_({.passages = passages, .questions = questions}), model_(world_.examples()), index_(corpus(world_)) {}
  [[nodiscard]] const std::vector<rag::Example>& examples() const { return world_.examples(); }
  [[nodiscard]] const sim::Model& model() const { return model_; }
  [[nodiscard]] const backend::Bm25& index() const { return index_; }

  /// The agent loop over a model and a retriever.
  [[nodiscard]] static rag::Environment loop(const ModelPort& model, const RetrieverPort& retriever) {
    return {rag::Sampler(model, method::decex_prompts(), {.sampling = {.temperature = 0.7}}), retriever, {}};
  }

  struct Result {
    std::vector<rag::Tree> trees;
    std::uint64_t flushes = 0;  ///< calls of the model's batch function
    std::uint64_t calls = 0;
  };
  /// Grows the trees of some questions, all of them open at once.
  [[nodiscard]] Result grow(const method::DecExRagOptions& options, std::span<const rag::Example> examples,
                            std::uint64_t seed = 1) const {
    Result result;
    Scheduler scheduler;
    const ModelPort model = scheduler.model(
        [&](std::span<const Prompt> prompts) {
          ++result.flushes;
          result.calls += prompts.size();
          return model_(prompts);
        },
        Scheduler::unlimited);
    method::DecExRag search(options, loop(model, scheduler.retriever(index_)), rag::F1());
    std::vector<Task<rag::Tree>> searches;
    for (const auto& example : examples) searches.push_back(search(rag::State(example), seed));
    result.trees = scheduler.run(std::move(searches));
    return result;
  }

 private:
  static std::vector<Passage> corpus(const sim::World& world) {
    std::vector<Passage> passages;
    for (std::size_t i = 0; i < world.size(); ++i) passages.push_back(world.passage(i));
    return passages;
  }
  sim::World world_;
  sim::Model model_;
  backend::Bm25 index_;
};

}  // namespace espalier::benchmarks
