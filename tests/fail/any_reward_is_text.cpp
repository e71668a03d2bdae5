// expect: RewardFunction
#include <espalier/rag/rewards.hpp>

#include <string>

int main() {
#ifdef FAIL
  const auto reward = [](const espalier::rag::State&) { return std::string("good"); };
#else
  const auto reward = [](const espalier::rag::State&) { return 1.0; };
#endif
  [[maybe_unused]] const espalier::rag::AnyReward any(reward);
}
