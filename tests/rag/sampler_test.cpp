#include "bench.hpp"
#include <doctest/doctest.h>

#include <set>

namespace sampler_test {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::testing;

TEST_CASE(
    "a reply that cannot be read is drawn again under new sample indices, twice, and then recorded with its text") {
  std::vector<std::uint32_t> samples;
  Scripted model;
  model.on("sub_query", [&](const Prompt& p) {
    samples.push_back(p.sample());
    return p.sample() == 1 ? "good" : "<bad>";
  });
  Bench bench(model);
  const auto drawn = bench.scheduler.run(
      bench.sampler.draw("sub_query", {{"question", rag::render_text("Who?")}}, 2, bench.context()));
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
  const auto drawn = bench.scheduler.run(
      bench.sampler.draw("sub_query", {{"question", rag::render_text("Who?")}}, 3, bench.context()));
  CHECK(drawn.size() == 3);
  CHECK(calls == 1);                             // three equal requests share one answer
  CHECK(bench.ledger.total().completions == 3);  // and the tree counts all three
}

TEST_CASE("each purpose has its own sampling, stop strings and, if wanted, model") {
  Scripted model;
  std::set<std::string> seen;
  const auto note = [&](const Prompt& p) {
    seen.insert(p.purpose() + " T=" + std::to_string(p.sampling().temperature).substr(0, 3) +
                " stops=" + std::to_string(p.sampling().stop.size()));
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
    const auto drawn = bench.scheduler.run(bench.sampler.draw(
        purpose, {{"question", rag::render_text("q")}, {"history", rag::render_text("h")}}, 1, bench.context()));
    CHECK(drawn.front().reply);
  }
  CHECK(seen == std::set<std::string>{"own_answer T=0.2 stops=1", "rollout T=0.7 stops=2"});
  CHECK(others == 1);
}

TEST_CASE(
    "a sample's seed and index say which one it is: later samples of a place are others, other purposes and places "
    "too") {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> asked;
  Scripted model;
  const auto note = [&](const Prompt& p) { return asked.emplace_back(p.seed(), p.sample()), "<answer>x</answer>"; };
  model.on("own_answer", note).on("forced_answer", note);
  Bench bench(model);
  const auto draw = [&](const char* purpose, Context context) {
    (void)bench.scheduler.run(bench.sampler.draw(
        purpose, {{"question", rag::render_text("q")}, {"history", rag::render_text("h")}}, 2, std::move(context)));
  };
  const Context here = bench.context(), below(Seed(1).child(0), 0, &bench.ledger);
  draw("own_answer", here);
  draw("own_answer", here.from(2));
  draw("forced_answer", here);
  draw("own_answer", below);
  REQUIRE(asked.size() == 8);
  CHECK(asked[1] == std::pair(asked[0].first, 1U));
  CHECK(asked[2] == std::pair(asked[0].first, 2U));
  CHECK(asked[3] == std::pair(asked[0].first, 3U));
  CHECK(asked[4].first != asked[0].first);
  CHECK(asked[6].first != asked[0].first);
  CHECK(asked[6].first != asked[4].first);
}

TEST_CASE("the ledger counts every completion by purpose, those that could not be read too") {
  Scripted model;
  model.on("own_answer", [](const Prompt& p) { return p.sample() == 0 ? "no tag" : "<answer>x</answer>"; });
  Bench bench(model, {.sampling = {.temperature = 1}, .resample = 5});
  const auto drawn =
      bench.scheduler.run(bench.sampler.draw("own_answer", {{"question", rag::render_text("q")}}, 3, bench.context()));
  CHECK(drawn[0].reply);
  const Costs& costs = bench.ledger.by_purpose().at("own_answer");  // three, and one again; each 10 + 2 tokens
  CHECK(costs.completions == 4);
  CHECK(costs.prompt_tokens == 40);
  CHECK(costs.completion_tokens == 8);
  CHECK(bench.ledger.by_purpose().size() == 1);
}

TEST_CASE(
    "the ledger keeps how the first completion begins that could not be read, and counts apart those that max_tokens "
    "cut") {
  Scheduler scheduler;
  std::vector<std::string> said{"first", "<answer>x</answer>", "cut", "again", ""};
  std::size_t next = 0;
  const ModelPort port = scheduler.model([&](std::span<const Prompt> prompts) {
    std::vector<Completion> replies;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      replies.emplace_back(said.at(next++));
      if (replies.back().text == "cut" || replies.back().text.empty()) replies.back().finish = Finish::length;
    }
    return replies;
  });
  const rag::Sampler sampler(port, method::decex_prompts(),
                             {.sampling = {.temperature = 1, .max_tokens = 9}, .resample = 1});
  Ledger ledger;
  (void)scheduler.run(
      sampler.draw("own_answer", {{"question", rag::render_text("q")}}, 3, Context(Seed(1), 0, &ledger)));
  const Costs& costs = ledger.by_purpose().at("own_answer");
  CHECK(costs.completions == 5);  // three, and the two that could not be read once more
  CHECK(costs.unread == 4);
  CHECK(costs.cut == 2);
  CHECK(ledger.first_unread().at("own_answer") == Unread("first", 0, Seed(), 0));
  said = {"cut", "cut"}, next = 0;
  (void)scheduler.run(
      sampler.draw("own_answer", {{"question", rag::render_text("q")}}, 1, Context(Seed(1), 3, &ledger)));
  CHECK(ledger.first_unread().at("own_answer").text == "first");
  (void)scheduler.run(sampler.draw("forced_answer",
                                   {{"question", rag::render_text("q")}, {"history", rag::render_text("h")}}, 0,
                                   Context(Seed(1), 3, &ledger)));
  CHECK(ledger.first_unread().size() == 1);
}

TEST_CASE("stop strings are the closing marks that a purpose returns, unless one has its own") {
  std::map<std::string, std::vector<std::string>> stops;
  Scripted model;
  const auto note = [&](const Prompt& p) { return stops[p.purpose()] = p.sampling().stop, "<answer>x</answer>"; };
  model.on("termination", note).on("forced_answer", note).on("sub_query", note);
  rag::Sampler::Options options{.sampling = {.temperature = 1}, .resample = 0};
  options.by_purpose["forced_answer"].stop = {"###"};
  Bench bench(model, options);
  for (const char* purpose : {"termination", "forced_answer", "sub_query"})
    (void)bench.scheduler.run(bench.sampler.draw(
        purpose, {{"question", rag::render_text("q")}, {"history", rag::render_text("h")}}, 1, bench.context()));
  CHECK(stops.at("termination") == std::vector<std::string>{"</answer>", "</question>"});
  CHECK(stops.at("forced_answer") == std::vector<std::string>{"###"});
  CHECK(stops.at("sub_query").empty());
}

}  // namespace sampler_test
