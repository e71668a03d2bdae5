#include "../method/scripted.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace espalier;
using namespace espalier::testing;

namespace {

struct Bench {
  explicit Bench(Scripted model, rag::Sampler::Options sampling = {.sampling = {.temperature = 1}}, rag::Environment::Options options = {})
      : port(scheduler.model(std::move(model))),
        documents(scheduler.retriever([](std::span<const Query> queries) {
          return std::vector<Passages>(queries.size(), Passages{Passage("d", "T", "<answer>42</answer>")});
        })),
        sampler(port, method::decex_prompts(), std::move(sampling)), loop(sampler, documents, options) {}
  Scheduler scheduler;
  ModelPort port;
  RetrieverPort documents;
  rag::Sampler sampler;
  rag::Environment loop;
  Ledger ledger;
  Context context() { return {Seed(1), 0, &ledger}; }
};

}  // namespace

TEST_CASE("a reply that cannot be read is drawn again under new sample indices, twice, and then recorded with its text") {
  std::vector<std::uint32_t> samples;
  Scripted model;
  model.on("sub_query", [&](const Prompt& p) {
    samples.push_back(p.sample());
    return p.sample() == 1 ? "good" : "<bad>";
  });
  Bench bench(model);
  const auto drawn = bench.scheduler.run(bench.sampler.draw("sub_query", {{"question", rag::render_text("Who?")}}, 2, bench.context()));
  REQUIRE(drawn.size() == 2);
  CHECK_FALSE(drawn[0].reply);
  CHECK(drawn[0].raw.str() == "<bad>");
  CHECK(drawn[1].reply->content == "good");
  CHECK(samples == std::vector<std::uint32_t>{0, 1, 1U << 20, 2U << 20});
  CHECK(bench.ledger.total().completions == 4);
}

TEST_CASE("a greedy reply that cannot be read is not drawn again, because it would be the same") {
  int calls = 0;
  Scripted model;
  model.on("sub_query", [&](const Prompt&) { return ++calls, "<bad>"; });
  Bench bench(model, {.sampling = {.temperature = 0}});
  const auto drawn = bench.scheduler.run(bench.sampler.draw("sub_query", {{"question", rag::render_text("Who?")}}, 3, bench.context()));
  CHECK(drawn.size() == 3);
  CHECK(calls == 1);                                // three equal requests share one answer
  CHECK(bench.ledger.total().completions == 3);     // and the tree counts all three
}

TEST_CASE("each purpose has its own sampling, stop strings and, if wanted, model") {
  Scripted model;
  std::set<std::string> seen;
  const auto note = [&](const Prompt& p) {
    seen.insert(p.purpose() + " T=" + std::to_string(p.sampling().temperature).substr(0, 3) + " stops=" + std::to_string(p.sampling().stop.size()));
    return "<answer>x</answer>";
  };
  model.on("own_answer", note).on("rollout", note);
  rag::Sampler::Options options{.sampling = {.temperature = 0.7}};
  options.by_purpose["own_answer"].temperature = 0.2;
  Bench bench(model, options);
  int others = 0;
  bench.sampler.model_for("forced_answer", bench.scheduler.model([&](std::span<const Prompt> prompts) {
    others += static_cast<int>(prompts.size());
    return std::vector<std::string>(prompts.size(), "<answer>other</answer>");
  }));
  for (const char* purpose : {"own_answer", "rollout", "forced_answer"}) {
    const auto drawn = bench.scheduler.run(bench.sampler.draw(purpose, {{"question", rag::render_text("q")}, {"history", rag::render_text("h")}}, 1, bench.context()));
    CHECK(drawn.front().reply);
  }
  CHECK(seen == std::set<std::string>{"own_answer T=0.2 stops=1", "rollout T=0.7 stops=2"});
  CHECK(others == 1);
}

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
    const auto proposals = bench.scheduler.run(bench.loop.propose(state, bench.loop.kinds(state).front(), 1, bench.context()));
    REQUIRE(proposals.size() == 1);
    CHECK(proposals[0].action.forced == (step == 2));
    state = bench.scheduler.run(bench.loop.step(state, proposals[0].action, bench.context()));
  }
  CHECK(bench.loop.kinds(state).empty());
  CHECK(state.answer() == "done");
  CHECK(state.retrievals() == 2);
  CHECK(bench.ledger.by_purpose().at("retrieval").retrievals == 2);
}
