// How full the slots of a model server are while the main job runs: 500 questions of a generated world, DecEx-RAG's
// expansion, the simulated model behind a server of 64 slots in virtual time, where nothing but the order of the calls
// costs (log-normal service, mean 50 ms, sigma 0.5, decided by the request). The bound is work / slots. Beside it
// stands a sample of the same calls as ProRAG's code issues them: 16 questions at once, one call after the other in
// each. Usage: bench_many_questions [questions [in_flight [open_questions]]]
#include "virtual_server.hpp"
#include "world.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

using namespace espalier;
using benchmarks::VirtualServer;

namespace {

constexpr std::size_t slots = 64;
constexpr double mean_s = 0.05;

/// A server with a clock of its own, as the scheduler takes it.
struct Server {
  std::shared_ptr<VirtualServer::Clock> clock = std::make_shared<VirtualServer::Clock>();
  [[nodiscard]] std::unique_ptr<Service<Prompt, Completion>> served(VirtualServer::Model model) const {
    return std::make_unique<VirtualServer>(slots, clock, std::move(model));
  }
  /// Prints how full the slots were; returns work a second.
  double print(const char* what, std::uint64_t requests) const {
    const double used = clock->busy / (static_cast<double>(slots) * clock->now);
    std::printf("%s: %llu requests, %.1f s, %.1f %% of slot time used, time %.3f of work / slots\n", what,
                static_cast<unsigned long long>(requests), mean_s * clock->now, 100 * used, 1 / used);
    return clock->busy / clock->now;
  }
};

/// One question's calls one after the other.
Task<int> one_by_one(ModelPort model, std::vector<Prompt> prompts) {
  for (Prompt& prompt : prompts) co_await model(std::move(prompt));
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::size_t otherwise) {
    return argc > i ? std::strtoul(argv[i], nullptr, 10) : otherwise;
  };
  const std::size_t questions = number(1, 500), in_flight = number(2, 64), open = number(3, 4 * in_flight);
  const benchmarks::Bench bench(10'000, static_cast<std::uint32_t>(questions));
  std::printf("%zu questions, %zu slots, %zu in flight, %zu questions open\n", questions, slots, in_flight, open);

  std::map<std::uint64_t, std::vector<Prompt>> calls;  // by question
  std::uint64_t served = 0;
  const auto answer = [&](const Prompt& prompt) {
    ++served;
    calls[prompt.affinity()].push_back(prompt);
    return bench.model()(std::span<const Prompt>(&prompt, 1)).front();
  };
  const Server ours;
  {
    Scheduler scheduler;
    const ModelPort model = scheduler.model(ours.served(answer), in_flight);
    method::DecExRag search({}, bench.loop(model, scheduler.retriever(bench.index())), rag::F1());
    const auto& examples = bench.examples();
    scheduler.for_each(
        examples.size(), open, [&](std::size_t i) { return search(rag::State(examples[i]), 1); },
        [](std::size_t, Outcome<rag::Tree> tree) { (void)std::move(tree).value(); });
  }
  const double our_rate = ours.print("Espalier", served);

  // A sample is enough to see the share: some questions' first calls, in the order in which they were made. As many
  // calls of each, so that no long question is left alone at the end.
  constexpr std::size_t sample = 64, calls_of_each = 50;
  std::vector<std::vector<Prompt>> lists;
  for (auto& [question, prompts] : calls) {
    if (lists.size() == sample) break;
    if (prompts.size() < calls_of_each) continue;
    prompts.erase(prompts.begin() + calls_of_each, prompts.end());
    lists.push_back(std::move(prompts));
  }
  const Server theirs;
  Scheduler scheduler;
  const ModelPort model = scheduler.model(theirs.served([](const Prompt&) { return Completion("ok"); }), 16);
  scheduler.for_each(
      lists.size(), 16, [&](std::size_t i) { return one_by_one(model, lists[i]); },
      [](std::size_t, Outcome<int> done) { (void)std::move(done).value(); });
  const double their_rate =
      theirs.print("16 questions at once, one call after the other", lists.size() * calls_of_each);
  std::printf("  Espalier does %.2f times as much work a second\n", our_rate / their_rate);
}
