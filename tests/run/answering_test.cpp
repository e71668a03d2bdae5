#include <espalier/run/detail/answering.hpp>
#include <espalier/run/world.hpp>

#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

namespace answering_test {

using namespace espalier;

namespace {

/// A small world and what is asked about it.
class Asked {
 public:
  Asked() {
    run::write_world(folder_.path().string(), {200, 6, 3, 3});
    for (const auto& example : output::read_questions((folder_.path() / "questions.jsonl").string()))
      questions.push_back(example.question);
  }
  [[nodiscard]] run::Settings settings() const {
    run::Settings s;
    s.task = run::Settings::Task::answer;
    s.questions = (folder_.path() / "questions.jsonl").string();
    s.retriever.corpus = (folder_.path() / "corpus.jsonl").string();
    return s;
  }
  std::vector<rag::Question> questions;

 private:
  test::TemporaryFolder folder_;
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
