#include <espalier/run/answering.hpp>

#include "small_world.hpp"
#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <thread>

namespace answering_test {

using namespace espalier;

namespace {

/// A small world and what is asked about it.
class Asked : public testing::SmallWorld {
 public:
  Asked() : SmallWorld(6) {
    for (const auto& example : output::read_questions((*this / "world/questions.jsonl").string()))
      questions.push_back(example.question);
  }
  [[nodiscard]] run::Settings settings() const {
    run::Settings s = SmallWorld::settings("unused");
    s.task = run::Settings::Task::answer;
    return s;
  }
  std::vector<rag::Question> questions;
};

/// The best answers by id; "" where there is none.
using Answers = std::map<std::uint64_t, std::string>;

run::detail::Answering::Done into(Answers& answers) {
  return [&answers](std::uint64_t id, std::uint64_t, Outcome<rag::Tree> outcome) {
    const auto best = output::best_answer(outcome.value());
    answers[id] = best ? best->text : "";
  };
}

}  // namespace

TEST_CASE("questions that come while others are open get the answers that they get alone") {
  const Asked world;
  Answers alone;
  for (std::size_t i = 0; i < world.questions.size(); ++i) {
    run::detail::Answering answering(world.settings());
    answering.ask(i, world.questions[i], 1);
    answering.stop();
    answering.run(into(alone));
  }
  Answers together;
  run::detail::Answering answering(world.settings());
  std::thread asker([&] {
    for (std::size_t i = world.questions.size(); i-- > 0;) answering.ask(i, world.questions[i], 1);
    answering.stop();
  });
  answering.run(into(together));
  asker.join();
  CHECK(together.size() == world.questions.size());
  CHECK(together == alone);
}

TEST_CASE("a question that was cancelled is dropped, before its start and from within, and the others end") {
  const Asked world;
  run::detail::Answering answering(world.settings());
  for (std::size_t i = 0; i < 4; ++i) answering.ask(i, world.questions[i], 1);
  answering.cancel(1);
  answering.stop();
  Answers answers;
  answering.run([&](std::uint64_t id, std::uint64_t seed, Outcome<rag::Tree> outcome) {
    answering.cancel(3);  // is open, or has ended in this very step
    answering.cancel(77);
    into(answers)(id, seed, std::move(outcome));
  });
  CHECK(answers.contains(0));
  CHECK_FALSE(answers.contains(1));
  CHECK(answers.contains(2));
}

TEST_CASE("bad options are refused by name before anything is loaded") {
  run::Settings s = Asked().settings();
  s.set = {{"documents", "0"}};
  CHECK_THROWS_WITH_AS(run::detail::Answering{s}, doctest::Contains("'documents' is 0"), std::invalid_argument);
  s.set = {};
  s.method = "decexx";
  CHECK_THROWS_WITH_AS(run::detail::Answering{s}, doctest::Contains("did you mean 'decex'"), std::invalid_argument);
}

}  // namespace answering_test
