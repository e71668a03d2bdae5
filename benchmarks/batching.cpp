// How full a synchronous model's batches are: flushes for 64 questions beside those of the slowest single one, which is
// the least that any scheduler can reach. Usage: batching [questions]
#include "world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  using namespace espalier;
  const auto questions = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 64);
  const benchmarks::Bench bench(2000, questions);
  std::uint64_t slowest = 0, sum = 0;
  for (const auto& example : bench.examples()) {
    const std::uint64_t alone = bench.grow({}, {&example, 1}).flushes;
    slowest = std::max(slowest, alone);
    sum += alone;
  }
  const auto together = bench.grow({}, bench.examples());
  std::printf("%u questions, simulated model: %llu flushes together, %llu one by one, %llu the slowest alone\n",
              questions, static_cast<unsigned long long>(together.flushes), static_cast<unsigned long long>(sum),
              static_cast<unsigned long long>(slowest));
  std::printf("mean batch %.1f prompts; ratio to the slowest %.3f (bar 1.1)\n",
              static_cast<double>(together.calls) / static_cast<double>(together.flushes),
              static_cast<double>(together.flushes) / static_cast<double>(slowest));
}
