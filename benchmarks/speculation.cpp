// What `speculate` saves and costs: DecEx-RAG on a generated world (simulated model, k = 3, n = 4, T_max = 4) behind a
// journal and a server of 64 slots in virtual time, log-normal service (mean 1, sigma 0.5). Printed for each number of
// questions at once: the time of a question from its start to its end, calls paid, and those of them that no search
// asked for or waited for. The trees must be the same.
// Usage: speculation [questions]
#include <espalier/backend/journal.hpp>
#include <espalier/backend/memory_store.hpp>
#include <espalier/output/tree_json.hpp>

#include "virtual_server.hpp"
#include "world.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

using namespace espalier;
using Options = method::DecExRagOptions;

namespace {

struct Measured {
  std::string trees;
  double seconds = 0, calls = 0, wasted = 0;  ///< per question
  double whole = 0;                           ///< time of all questions
};

Measured measure(const benchmarks::Bench& bench, const Options& options, std::size_t at_once) {
  constexpr std::size_t slots = 64;
  const auto clock = std::make_shared<benchmarks::VirtualServer::Clock>();
  auto server = std::make_unique<benchmarks::VirtualServer>(
      slots, clock, [&](const Prompt& prompt) { return bench.model()(std::span<const Prompt>(&prompt, 1)).front(); });
  auto journal = std::make_unique<backend::Journaled<Prompt, Completion>>(
      std::move(server), std::make_shared<backend::MemoryStore>(), Hash());
  const Accounts& accounts = journal->accounts();
  Scheduler scheduler;
  const ModelPort model = scheduler.model(std::unique_ptr<Service<Prompt, Completion>>(std::move(journal)), slots);
  const rag::Environment loop(rag::Sampler(model, method::decex_prompts(), {.sampling = {.temperature = 0.7}}),
                              scheduler.retriever(bench.index()), {});
  method::DecExRag search(options, loop, rag::F1());
  const auto& examples = bench.examples();
  const auto count = static_cast<double>(examples.size());
  Measured measured;
  std::vector<double> starts(examples.size());
  std::vector<std::string> lines(examples.size());
  scheduler.for_each(
      examples.size(), at_once,
      [&](std::size_t i) {
        starts[i] = clock->now;
        return search(rag::State(examples[i]), 1);
      },
      [&](std::size_t i, Outcome<rag::Tree> outcome) {
        const rag::Tree tree = std::move(outcome).value();
        measured.seconds += (clock->now - starts[i]) / count;
        measured.wasted += static_cast<double>(tree.ledger.execution.discarded) / count;
        output::append_tree({tree, "decex", 1, "{}"}, lines[i]);
      });
  for (const std::string& line : lines) measured.trees += line;
  measured.whole = clock->now;
  measured.calls = static_cast<double>(accounts.paid_applied + accounts.paid_cancelled) / count;
  measured.wasted += static_cast<double>(accounts.paid_cancelled) / count;
  return measured;
}

}  // namespace

int main(int argc, char** argv) {
  const benchmarks::Bench bench(5000, static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 200));
  std::printf("%-8s %8s %10s %14s %6s %14s %6s %8s %8s\n", "curtail", "at once", "speculate", "time/question", "ratio",
              "calls/question", "ratio", "wasted", "whole");
  for (const auto curtail : {Options::Curtail::none, Options::Curtail::exact})
    for (const std::size_t at_once : {1U, 4U, 16U, 64U}) {
      const Measured plain = measure(bench, {.curtail = curtail}, at_once);
      for (std::uint64_t speculate = 0; speculate <= 4; ++speculate) {
        const Measured m = measure(bench, {.curtail = curtail, .speculate = speculate}, at_once);
        if (m.trees != plain.trees) return std::puts("the trees differ"), 1;
        std::printf("%-8s %8zu %10llu %14.2f %6.2f %14.1f %6.2f %8.1f %8.0f\n",
                    curtail == Options::Curtail::none ? "none" : "exact", at_once,
                    static_cast<unsigned long long>(speculate), m.seconds, m.seconds / plain.seconds, m.calls,
                    m.calls / plain.calls, m.wasted, m.whole);
      }
    }
}
