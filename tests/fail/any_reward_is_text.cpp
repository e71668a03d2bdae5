// expect: reward: must be reward(const rag::State&) -> double, or have group(
#include <espalier/rag/rewards.hpp>

#include <string>

int main() {
#ifdef FAIL
  const auto reward = [](const espalier::rag::State&) { return std::string("good"); };
#else
  const auto reward = [](const espalier::rag::State& s) { return s.answer() ? 1.0 : 0.0; };
#endif
  const espalier::rag::AnyReward any = reward;
  return any.group({}).done() ? 1 : 0;
}
