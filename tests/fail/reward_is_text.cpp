// expect: RewardFunction
#include <espalier/llm/scheduler.hpp>
#include <espalier/search/rollout.hpp>

#include "../toy/corridor.hpp"

#include <string>

using espalier::toy::Corridor;

int main() {
  Corridor env(3);
#ifdef FAIL
  const auto reward = [](const Corridor::State&) { return std::string("good"); };
#else
  const auto reward = [&](const Corridor::State& s) { return env.value(s); };
#endif
  espalier::Rollout rollout({.n = 1}, reward);
  espalier::Ledger ledger;
  return espalier::Scheduler().run(rollout(env, env.root(), espalier::Context(espalier::Seed(1), 0, &ledger))).known
             ? 0
             : 1;
}
