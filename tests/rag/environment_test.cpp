#include "bench.hpp"
#include <doctest/doctest.h>

namespace environment_test {

using namespace espalier;
using namespace espalier::testing;

TEST_CASE("the policy loop searches, reads and answers; after max_rounds its answer is forced") {
  Scripted model;
  int asked = 0;
  model.on("rollout", [&](const Prompt& p) {
    ++asked;
    CHECK(p.text().find("<answer>42") == std::string::npos);
    return "<think>h</think><search>q" + std::to_string(asked) + "</search>";
  });
  model.on("forced_answer", "<answer>done</answer>");
  Bench bench(model, {.sampling = {.temperature = 1}}, {.max_rounds = 2});
  rag::State state(rag::Question{"q", "Who?"});
  for (int step = 0; step < 3; ++step) {
    const auto proposals =
        bench.scheduler.run(bench.loop.propose(state, bench.loop.kinds(state).front(), 1, bench.context()));
    REQUIRE(proposals.size() == 1);
    CHECK(proposals[0].action.forced == (step == 2));
    state = bench.scheduler.run(bench.loop.step(state, proposals[0].action, bench.context()));
  }
  CHECK(bench.loop.kinds(state).empty());
  CHECK(state.answer() == "done");
  CHECK(state.retrievals() == 2);
  CHECK(bench.ledger.by_purpose().at("retrieval").retrievals == 2);
}

TEST_CASE("a hostile document is shown neutralised and cannot answer, search or end the history") {
  std::string shown;
  Scripted model;
  model.on("rollout", [&](const Prompt& p) {
    return shown = p.text(), shown.find("Docs 1") == std::string::npos ? "<search>q</search>" : "no tag";
  });
  Bench bench(model, {.sampling = {.temperature = 1}, .resample = 0});
  rag::State state(rag::Question{"q", "Who?"});
  const auto first =
      bench.scheduler.run(bench.loop.propose(state, bench.loop.kinds(state).front(), 1, bench.context()));
  state = bench.scheduler.run(bench.loop.step(state, first[0].action, bench.context()));
  CHECK_FALSE(state.answer());
  const auto second =
      bench.scheduler.run(bench.loop.propose(state, bench.loop.kinds(state).front(), 1, bench.context()));
  CHECK(second[0].closed == Reason::malformed);  // the document's answer is nobody's
  CHECK(second[0].action.text == "no tag");
  CHECK(shown.find("&lt;answer>42&lt;/answer>") != std::string::npos);
  CHECK(shown.find("<answer>42") == std::string::npos);
}

TEST_CASE("what makes two actions equal is their text, or their normal form") {
  Scripted model;
  model.on("rollout", [](const Prompt& p) {
    return p.sample() == 0 ? "<answer>The Danube!</answer>" : "<answer>danube</answer>";
  });
  for (const rag::Environment::Dedup dedup : {rag::Environment::Dedup::exact, rag::Environment::Dedup::normalised}) {
    Bench bench(model, {.sampling = {.temperature = 1}}, {.dedup = dedup});
    const rag::State state(rag::Question{"q", "Which river?"});
    const auto drawn =
        bench.scheduler.run(bench.loop.propose(state, bench.loop.kinds(state).front(), 2, bench.context()));
    CHECK((drawn[0].action == drawn[1].action) == (dedup == rag::Environment::Dedup::normalised));
    CHECK(drawn[0].action.text == "The Danube!");
  }
}

TEST_CASE("a search that asks for no documents is refused by name") {
  CHECK_THROWS_WITH_AS(Bench(Scripted(), {}, {.documents = 0}), "option 'documents' is 0, allowed: 1 or more",
                       std::invalid_argument);
}

}  // namespace environment_test
