#include <espalier/method/all.hpp>
#include <espalier/method/registry.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace asks_test {

using namespace espalier;

namespace {

/// The purposes that a task of a method can ask.
std::string asked(const std::string& name, bool answering,
                  const std::vector<std::pair<std::string, std::string>>& options = {}) {
  const auto method = method::make_method(name);
  for (const auto& [option, value] : options) method->options().set(option, value);
  std::string all;
  for (const Protocol::Purpose& purpose : method->prompts().protocol()->purposes)
    if (method->asks(purpose.name, answering)) all += (all.empty() ? "" : " ") + purpose.name;
  return all;
}

}  // namespace

TEST_CASE("a method says which purposes its tasks can ask under its options") {
  const bool answer = true, expand = false;
  CHECK(asked("decex", answer) == "forced_answer rollout");
  CHECK(asked("decex", answer, {{"inference", "expansion"}}) == asked("decex", expand));
  CHECK(asked("decex", expand).find("termination") != std::string::npos);
  CHECK(asked("decex", expand, {{"form", "policy"}}) == "forced_answer rollout");

  CHECK(asked("decouple", answer) == "plan query forced_answer judge");
  CHECK(asked("decouple", answer, {{"values", "server"}}) == "plan query forced_answer");
  CHECK(asked("decouple", expand) == "step forced_answer judge");
  CHECK(asked("decouple", expand, {{"terminal", "judge"}}) == "step forced_answer judge judge_answer");

  CHECK(asked("airrag", answer) == "say da ra qt sa");
  CHECK(asked("airrag", answer, {{"terminal_reward", "reward_model"}}) == "say da ra qt sa process_reward");
  CHECK(asked("airrag", expand, {{"terminal_reward", "reward_model"}}) == "say da ra qt sa");
  CHECK(asked("airrag", expand, {{"select", "reward_model"}}) == "say da ra qt sa process_reward");
  CHECK(asked("airrag-lite", answer) == "ra qt sa");
  CHECK(asked("airrag-blender", answer) == "say da ra qt sa refine");

  CHECK(asked("prorag", answer) == "rollout forced_answer");
  CHECK(asked("prorag", answer, {{"guide", "beam"}, {"force_answer", "false"}}) == "step process_reward");
  CHECK(asked("prorag", expand) == "step rollout judge");
  CHECK(asked("prorag", expand, {{"grow", "none"}, {"annotate", "cold_start"}}) == "cold_start");
  CHECK(asked("prorag", expand, {{"grow", "group"}, {"annotate", "prm"}}) == "step process_reward");

  CHECK(asked("reasonrag", answer) == "begin_reasoning reasoning evidence forced_answer");
  CHECK(asked("reasonrag", expand, {{"value", "judge"}}) == "begin_reasoning reasoning evidence forced_answer judge");
  CHECK(asked("self-rag", answer) == asked("self-rag", expand));
}

}  // namespace asks_test
