#include <espalier/llm/scheduler.hpp>
#include <espalier/rag/rewards.hpp>

#include <doctest/doctest.h>

namespace rewards_test {

using namespace espalier;
using namespace espalier::rag;

namespace {

State answered(const char* answer) {
  Example example;
  example.question = {"q", "Who?"};
  example.gold = {"Marie Curie", "Curie"};
  const State state(example);
  return answer ? state.with(Segment(SegmentKind::answer, ModelText(answer))) : state;
}

}  // namespace

TEST_CASE("F1, exact match and accuracy take the best gold answer; no answer is worth nothing") {
  // "Marie Sklodowska" against "Marie Curie": one word of two in both, F1 1/2; against "Curie": 0.
  CHECK(F1()(answered("Marie Sklodowska")) == doctest::Approx(0.5));
  CHECK(ExactMatch()(answered("the Curie")) == 1);
  CHECK(ExactMatch()(answered("Marie Sklodowska")) == 0);
  CHECK(Accuracy()(answered("it was Marie Curie herself")) == 1);
  CHECK(F1()(answered(nullptr)) == 0);
  CHECK(ExactMatch()(answered(nullptr)) == 0);
}

TEST_CASE("agreement is the mean F1 between the answers of a place, and needs no gold") {
  // a = "red ball", b = "red", c = none: F1(a, b) = 2 * 1/2 * 1 / (3/2) = 2/3, shared between two others: 1/3 each.
  const std::vector<State> states{answered("red ball"), answered("red"), answered(nullptr)};
  const auto values = Agreement().group(states);
  CHECK(values[0] == doctest::Approx(1.0 / 3));
  CHECK(values[1] == doctest::Approx(1.0 / 3));
  CHECK(values[2] == 0);
  CHECK(Agreement().group(std::vector<State>{answered("alone")})[0] == 1);
}

TEST_CASE("any reward may stand behind one type, also one that waits for a backend") {
  Scheduler scheduler;
  const std::vector<State> states{answered("Curie"), answered("nobody")};
  CHECK(scheduler.run(AnyReward(F1()).group(states)) == std::vector<double>{1, 0});
  const ModelPort judge =
      scheduler.model([](std::span<const Prompt> prompts) { return std::vector<std::string>(prompts.size(), "7"); });
  struct Judged {
    static Task<std::vector<double>> value(ModelPort port, std::vector<State> all) {
      std::vector<double> values;
      for (std::size_t i = 0; i < all.size(); ++i) {
        Prompt prompt("rate " + std::to_string(i));
        const Completion completion = co_await port(std::move(prompt));
        values.push_back(std::stod(completion.text) / 10);
      }
      co_return values;
    }
  };
  const AnyReward reward([judge](std::vector<State> all) { return Judged::value(judge, std::move(all)); });
  CHECK(scheduler.run(reward.group(states)) == std::vector<double>{0.7, 0.7});
}

TEST_CASE("a reward that judges ends together needs no other form, and may wait while it looks at them") {
  struct Shared {
    std::vector<double> group(std::span<const State> ends) const {
      return std::vector<double>(ends.size(), 1.0 / static_cast<double>(ends.size()));
    }
  };
  struct Waits {
    ModelPort judge;
    Task<std::vector<double>> group(std::span<const State> ends) const { return value(judge, ends); }
    static Task<std::vector<double>> value(ModelPort judge, std::span<const State> ends) {
      Prompt prompt("rate");
      const Completion completion = co_await judge(std::move(prompt));
      std::vector<double> values;
      for (const State& end : ends) values.push_back(ExactMatch()(end) * std::stod(completion.text) / 10);
      co_return values;
    }
  };
  Scheduler scheduler;
  const ModelPort judge =
      scheduler.model([](std::span<const Prompt> prompts) { return std::vector<std::string>(prompts.size(), "7"); });
  const std::vector<State> states{answered("Curie"), answered("nobody")};
  CHECK(scheduler.run(AnyReward(Shared()).group(states)) == std::vector<double>{0.5, 0.5});
  CHECK(scheduler.run(AnyReward(Waits{judge}).group(states)) == std::vector<double>{0.7, 0});
}

}  // namespace rewards_test
