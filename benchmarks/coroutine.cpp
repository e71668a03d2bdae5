/// UCT on the toy tree through coroutines: each simulation asks a batch model that costs nothing for its value. 1, 100
/// and 10,000 trees at once beside the plain loop, and what one suspension and one answer cost.
#include <espalier/llm/scheduler.hpp>
#include <espalier/search/mcts_task.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace {

using namespace espalier;
using toy::UniformTree;

template <class F>
double seconds(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Median of five runs, in seconds.
template <class F>
double median(F f) {
  std::vector<double> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(seconds(f));
  std::nth_element(runs.begin(), runs.begin() + 2, runs.end());
  return runs[2];
}

std::vector<Completion> answer(std::span<const Prompt> prompts) { return std::vector<Completion>(prompts.size()); }

std::shared_ptr<const PromptBody> sampled_body() {
  PromptBody body;
  body.messages.push_back({"user", "value"});
  body.sampling.temperature = 1;
  return std::make_shared<const PromptBody>(std::move(body));
}
const std::shared_ptr<const PromptBody> body = sampled_body();

/// Asks the model, then takes the toy's own value.
struct Asking {
  ModelPort model;
  Task<double> operator()(const UniformTree&, UniformTree::State s, Context context) {
    const Completion completion =
        co_await model(Prompt(body, s.hash, static_cast<std::uint32_t>(context.seed.value())));
    co_return UniformTree::value(s) + static_cast<double>(completion.prompt_tokens);
  }
};

void trees_at_once(std::size_t trees, std::uint32_t simulations, std::uint32_t window) {
  UniformTree env({.branching = 3, .depth = 16});
  const MctsOptions options{
      .simulations = simulations, .width = 3, .window = window, .expand = MctsOptions::Expand::one};
  Mcts plain(options, [](const UniformTree&, const UniformTree::State& s) { return UniformTree::value(s); });
  const double loop = median([&] {
    for (std::size_t i = 0; i < trees; ++i) plain.search(env, env.root(), Seed(i));
  });
  std::size_t flushes = 0;
  const double coroutines = median([&] {
    Scheduler scheduler;
    flushes = 0;
    const auto counted = [&](std::span<const Prompt> prompts) { return ++flushes, answer(prompts); };
    Mcts engine(options, Asking{scheduler.model(counted, Scheduler::unlimited)});
    std::vector<Task<Tree<UniformTree::State, UniformTree::Action>>> tasks;
    for (std::size_t i = 0; i < trees; ++i) tasks.push_back(engine(env, env.root(), Seed(i)));
    scheduler.run(std::move(tasks));
  });
  const double all = static_cast<double>(trees) * simulations / 1e6;
  std::printf(
      "%6zu trees x %6u simulations, window %2u: %.2f us a simulation (%.2f M/s), plain loop %.2f us, %zu flushes\n",
      trees, simulations, window, coroutines / all, all / coroutines, loop / all, flushes);
}

Task<int> leaf(int i) { co_return i; }
Task<long> children(int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) sum += co_await leaf(i);
  co_return sum;
}
Task<long> calls(ModelPort model, std::uint64_t seed, int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    const Completion completion = co_await model(Prompt(body, seed, static_cast<std::uint32_t>(i)));
    sum += completion.prompt_tokens;
  }
  co_return sum;
}

void primitives() {
  constexpr int n = 1'000'000;
  const double child = median([] {
    Scheduler scheduler;
    scheduler.run(children(n));
  });
  std::printf("await a child task: %.0f ns\n", child * 1e9 / n);
  const double prompt = median([] {
    std::uint64_t sum = 0;
    for (int i = 0; i < n; ++i) sum += Prompt(body, 0, static_cast<std::uint32_t>(i)).key().low;
    if (sum == 0) std::puts("");
  });
  for (const std::size_t at_once : {std::size_t(1), std::size_t(100), std::size_t(10'000)}) {
    const int each = n / static_cast<int>(at_once);
    const double call = median([&] {
      Scheduler scheduler;
      ModelPort model = scheduler.model(answer, Scheduler::unlimited);
      std::vector<Task<long>> tasks;
      for (std::size_t i = 0; i < at_once; ++i) tasks.push_back(calls(model, i, each));
      scheduler.run(std::move(tasks));
    });
    std::printf("suspend at a port, answer, resume, %5zu at once: %.0f ns, of which making the prompt %.0f ns\n",
                at_once, call * 1e9 / n, prompt * 1e9 / n);
  }
}

}  // namespace

int main() {
  primitives();
  trees_at_once(1, 200'000, 1);
  trees_at_once(100, 2'000, 1);
  trees_at_once(10'000, 20, 1);
  trees_at_once(1, 200'000, 32);
  trees_at_once(100, 2'000, 8);
}
