#include <espalier/core/batch_service.hpp>

#include "small_world.hpp"
#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace given_test {

using namespace espalier;
using testing::content;
using testing::run_job;

namespace {

/// A model that always says the same, and counts how often it was opened and asked.
class Fixed {
 public:
  [[nodiscard]] run::Given<Prompt, Completion> given(std::optional<Hash> fingerprint) const {
    run::Given<Prompt, Completion> made;
    made.fingerprint = fingerprint;
    made.by_name = fingerprint.has_value();
    made.open = [counts = counts_, fingerprint] {
      ++counts->opened;
      const auto answer = [counts](std::span<const Prompt> prompts) {
        counts->asked += prompts.size();
        return std::vector<Completion>(prompts.size(), Completion("Paris"));
      };
      return run::detail::ModelBackend(
          std::make_unique<BatchService<Prompt, Completion, std::decay_t<decltype(answer)>>>(answer), fingerprint,
          "fixed", true);
    };
    return made;
  }
  [[nodiscard]] int opened() const { return counts_->opened; }
  [[nodiscard]] std::size_t asked() const { return counts_->asked; }

 private:
  struct Counts {
    int opened = 0;
    std::size_t asked = 0;
  };
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

run::Settings settings(const testing::SmallWorld& world, const std::string& out) {
  run::Settings s = world.settings(out);
  s.task = run::Settings::Task::answer;
  s.method = "direct";
  s.journal.file = (world / "journal.sqlite").string();
  s.model.url = run::Settings::GivenBackends::source;
  s.model.name = "fixed";
  return s;
}

}  // namespace

TEST_CASE("a given model answers, is known by its fingerprint, and is not opened where nobody asks it") {
  const testing::SmallWorld world(4);
  const Fixed model;
  run::Settings first = settings(world, "out");
  first.given.models.emplace("given", model.given(Hasher().add(std::string_view("fixed")).finish()));
  CHECK(run_job(first).open == 0);
  CHECK(model.opened() == 1);
  CHECK(model.asked() == 4);
  const std::string answers = content(world / "out/answers.jsonl"), record = content(world / "out/run.json");
  CHECK(answers.find("Paris") != std::string::npos);
  CHECK(record.find(R"("name":"fixed")") != std::string::npos);
  CHECK(record.find(R"("given":"model")") != std::string::npos);

  CHECK(run_job(first).recognised);
  first.journal.replay = true;
  CHECK(run_job(first).open == 0);
  CHECK(model.opened() == 1);
  CHECK(content(world / "out/answers.jsonl") == answers);

  run::Settings again = settings(world, "again");
  again.given = first.given;
  CHECK(run_job(again).open == 0);  // from the journal
  CHECK(model.asked() == 4);
}

TEST_CASE("without a fingerprint a given model is asked by every run, and a replay is refused") {
  const testing::SmallWorld world(4);
  const Fixed model;
  for (const char* out : {"a", "b"}) {
    run::Settings one = settings(world, out);
    one.given.models.emplace("given", model.given(std::nullopt));
    CHECK(run_job(one).open == 0);
  }
  CHECK(model.asked() == 8);
  run::Settings replayed = settings(world, "c");
  replayed.given.models.emplace("given", model.given(std::nullopt));
  replayed.journal.replay = true;
  CHECK_THROWS_WITH_AS(run_job(replayed), "a replay of a function needs its fingerprint", std::invalid_argument);
}

}  // namespace given_test
