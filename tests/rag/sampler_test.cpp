#include "bench.hpp"
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

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
  const auto drawn = bench.draw("sub_query", 2);
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
  const auto drawn = bench.draw("sub_query", 3);
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
    const auto drawn = bench.draw(purpose, 1);
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
  const auto drawn = bench.draw("own_answer", 3);
  CHECK(drawn[0].reply);
  const Ledger::Costs& costs = bench.ledger.by_purpose().at("own_answer");  // three, and one again; each 10 + 2 tokens
  CHECK(costs.completions == 4);
  CHECK(costs.prompt_tokens == 40);
  CHECK(costs.completion_tokens == 8);
  CHECK(bench.ledger.by_purpose().size() == 1);
}

TEST_CASE(
    "the ledger keeps how the first completion begins that could not be read, and counts apart those that max_tokens "
    "cut") {
  std::vector<std::string> said{"first", "<answer>x</answer>", "cut", "again", ""};
  std::size_t next = 0;
  const auto model = [&](std::span<const Prompt> prompts) {
    std::vector<Completion> replies;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      replies.emplace_back(said.at(next++));
      if (replies.back().text == "cut" || replies.back().text.empty())
        replies.back().finish = Completion::Finish::length;
    }
    return replies;
  };
  Bench bench(model, {.sampling = {.temperature = 1, .max_tokens = 9}, .resample = 1});
  (void)bench.draw("own_answer", 3);
  const Ledger::Costs& costs = bench.ledger.by_purpose().at("own_answer");
  CHECK(costs.completions == 5);  // three, and the two that could not be read once more
  CHECK(costs.unread == 4);
  CHECK(costs.cut == 2);
  CHECK(bench.ledger.first_unread().at("own_answer") == Ledger::Unread("first", 0, Seed(), 0));
  said = {"cut", "cut"}, next = 0;
  (void)bench.draw("own_answer", 1, 3);
  CHECK(bench.ledger.first_unread().at("own_answer").text == "first");
  (void)bench.draw("forced_answer", 0, 3);
  CHECK(bench.ledger.first_unread().size() == 1);
}

TEST_CASE("stop strings are the closing marks that a purpose returns, unless one has its own") {
  std::map<std::string, std::vector<std::string>> stops;
  Scripted model;
  const auto note = [&](const Prompt& p) { return stops[p.purpose()] = p.sampling().stop, "<answer>x</answer>"; };
  model.on("termination", note).on("forced_answer", note).on("sub_query", note);
  rag::Sampler::Options options{.sampling = {.temperature = 1}, .resample = 0};
  options.by_purpose["forced_answer"].stop = {"###"};
  Bench bench(model, options);
  for (const char* purpose : {"termination", "forced_answer", "sub_query"}) (void)bench.draw(purpose, 1);
  CHECK(stops.at("termination") == std::vector<std::string>{"</answer>", "</question>"});
  CHECK(stops.at("forced_answer") == std::vector<std::string>{"###"});
  CHECK(stops.at("sub_query").empty());
}

TEST_CASE("with tools a prompt says which to call, and stops at no mark; purposes without marks stay as they are") {
  std::map<std::string, std::string> asked;
  Scripted model;
  const auto note = [&](const Prompt& p) {
    CHECK(p.sampling().tools == (p.purpose() == "termination"));
    CHECK(p.sampling().stop.empty());
    return asked[p.purpose()] = p.text(), "<answer>x</answer>";
  };
  model.on("termination", note).on("sub_query", note);
  Bench bench(model, {.sampling = {.temperature = 1}, .resample = 0, .tools = true});
  for (const char* purpose : {"termination", "sub_query"}) (void)bench.draw(purpose, 1);
  CHECK(asked.at("termination")
            .ends_with("\nWrite no marks. In place of <answer> </answer> call the tool answer, in place of <question> "
                       "</question> call the tool question.\n"));
  CHECK(asked.at("sub_query").find("tool") == std::string::npos);
}

TEST_CASE("a repair shows the model its reply and names the marks; only what it cannot mend is drawn again") {
  std::vector<std::tuple<bool, std::uint64_t, std::uint32_t>> asked;
  std::vector<PromptBody::Message> repair;
  Scripted model;
  model.on("rollout", [&](const Prompt& p) -> std::string {
    const bool again = p.body().messages.size() == 3;
    asked.emplace_back(again, p.seed(), p.sample());
    CHECK(p.slot("question") == "Who?");
    if (!again) return p.sample() == 0 ? "<search> a </search>" : "no tag";
    if (repair.empty()) repair = p.body().messages;
    return p.sample() % 4 == 1 ? "<answer> x </answer>" : "still none";
  });
  Bench bench(model, {.sampling = {.temperature = 1}, .resample = 1, .repair = true});
  const auto drawn = bench.draw("rollout", 3);
  CHECK(drawn[0].reply->content == "a");
  CHECK(drawn[1].reply->content == "x");  // mended, so it is not drawn again
  CHECK(drawn[1].raw.str() == "<answer> x </answer>");
  CHECK_FALSE(drawn[2].reply);
  CHECK(drawn[2].raw.str() == "still none");

  REQUIRE(asked.size() == 7);  // three, two repairs, one again, and its repair
  const std::uint64_t seed = std::get<1>(asked[0]), repair_seed = std::get<1>(asked[3]);
  CHECK(seed != repair_seed);
  constexpr std::uint32_t again = 1U << 20, mended = 1U << 19;
  CHECK(asked == decltype(asked){{false, seed, 0},
                                 {false, seed, 1},
                                 {false, seed, 2},
                                 {true, repair_seed, mended + 1},
                                 {true, repair_seed, mended + 2},
                                 {false, seed, again + 2},
                                 {true, repair_seed, again + mended + 2}});
  REQUIRE(repair.size() == 3);
  CHECK(repair[0].role == "user");
  CHECK(repair[1].role == "assistant");
  CHECK(repair[1].content == "no tag");
  CHECK(repair[2].role == "user");
  CHECK(repair[2].content ==
        "Your reply had no <search></search> or <answer></answer> that could be read. Write again: one query inside "
        "<search></search>, or the answer, as short as it can be, inside <answer></answer>.");

  const Ledger::Costs& costs = bench.ledger.by_purpose().at("rollout");  // a repair is a completion of the same purpose
  CHECK(bench.ledger.by_purpose().size() == 1);
  CHECK(costs.completions == 7);
  CHECK(costs.completion_tokens == 14);
  CHECK(costs.unread == 5);
  CHECK(costs.repairs == 3);
  CHECK(costs.repaired == 1);
  CHECK(bench.ledger.first_unread().at("rollout").text == "no tag");
}

TEST_CASE("with tools a repair names the tools that a reply may call, and no marks") {
  std::string repair;
  Scripted model;
  model.on("rollout", [&](const Prompt& p) -> std::string {
    if (p.body().messages.size() == 1) return "no call";
    CHECK(p.sampling().tools);
    repair = p.text();
    return "<answer> x </answer>";  // as a call is read
  });
  Bench bench(model, {.sampling = {.temperature = 1}, .repair = true, .tools = true});
  const auto drawn = bench.draw("rollout", 1);
  CHECK(drawn[0].reply->content == "x");
  CHECK(repair ==
        "Your reply had no call of search or answer that could be read. Write again: one query in a call of the tool "
        "search, or the answer, as short as it can be, in a call of the tool answer.");
}

TEST_CASE("a greedy reply is repaired, because the repair is another request, and an empty one without a message") {
  std::vector<std::string> texts;
  Scripted model;
  model.on("sub_query", [&](const Prompt& p) -> std::string {
    texts.push_back(p.text());
    CHECK(p.body().messages.size() == 1);
    return texts.size() == 1 ? " \n" : "good";
  });
  Bench bench(model, {.sampling = {.temperature = 0}, .repair = true});
  const auto drawn = bench.draw("sub_query", 1);
  CHECK(drawn.front().reply->content == "good");
  REQUIRE(texts.size() == 2);
  CHECK(texts[1] == texts[0] + "\nYour reply could not be read. Write again: one line, without any tags.");
  CHECK(bench.sampler.drawing_once().prompts().texts() == bench.sampler.prompts().texts());
  texts.clear();
  const auto once = bench.scheduler.run(
      bench.sampler.drawing_once().draw("sub_query", {{"question", rag::render_text("Where?")}}, 1, bench.context()));
  CHECK_FALSE(once.front().reply);  // the policy's own text, never mended
  CHECK(texts.size() == 1);
}

TEST_CASE("the line of a repair names what each role wants, in every form of marks") {
  const Protocol protocol{"m",
                          {{"judge", {}, {"score"}, {-1, 1, 2}},
                           {"rate", {}, {"score"}, {0, 100, 1}},
                           {"step", {}, {"thought", "answer"}},
                           {"verdict", {}, {"verdict"}},
                           {"route", {}, {"choice"}},
                           {"facts", {}, {"sub_answer"}}},
                          {{"score", "<score>", "</score>"},
                           {"thought", "", ""},
                           {"answer", "Finish(", ")"},
                           {"verdict", "", ""},
                           {"choice", "Class:", "\n"},
                           {"sub_answer", "**Facts**", ""}}};
  const auto line = [&](const char* purpose, bool tools = false) {
    return rag::detail::repair_line(protocol, *protocol.purpose(purpose), tools);
  };
  CHECK(line("judge") ==
        "Your reply had no <score></score> that could be read. Write again: 2 numbers from -1 to 1, separated by "
        "commas, inside <score></score>.");
  CHECK(line("rate") ==
        "Your reply had no <score></score> that could be read. Write again: one number from 0 to 100 inside "
        "<score></score>.");
  CHECK(line("step") ==
        "Your reply had no Finish() that could be read. Write again: one thought and nothing else, or the answer, as "
        "short as it can be, inside Finish().");
  CHECK(line("verdict") == "Your reply could not be read. Write again: yes or no and nothing else.");
  CHECK(line("route") ==
        "Your reply had no Class: that could be read. Write again: one letter on a line after Class:.");
  CHECK(line("judge", true) ==
        "Your reply had no call of score that could be read. Write again: 2 numbers from -1 to 1, separated by commas, "
        "in a call of the tool score.");
  CHECK(
      line("step", true) ==
      "Your reply had no call of answer that could be read. Write again: one thought and nothing else, or the answer, "
      "as short as it can be, in a call of the tool answer.");
  CHECK(line("verdict", true) == line("verdict"));  // no mark, no tool
  CHECK(line("facts") == "Your reply had no **Facts** that could be read. Write again: one sentence after **Facts**.");
}

TEST_CASE("a prompt that the model has no room for is a reply that cannot be read, and is not asked again") {
  const auto model = [](std::span<const Prompt> prompts) {
    std::vector<Completion> replies(prompts.size(), Completion("<answer>no room</answer>"));
    for (Completion& reply : replies) {
      reply.finish = Completion::Finish::too_long;
      reply.prompt_tokens = 9000;
    }
    return replies;
  };
  Bench bench(model, {.sampling = {.temperature = 1}, .repair = true});
  const auto drawn = bench.draw("own_answer", 1);
  CHECK_FALSE(drawn.front().reply);
  CHECK(bench.ledger.by_purpose().at("own_answer").unread == 1);
  CHECK(bench.ledger.total().completions == 1);
  CHECK(bench.ledger.total().repairs == 0);
  CHECK(bench.ledger.total().prompt_tokens == 0);  // the model has read none of them
  CHECK(bench.ledger.first_unread().at("own_answer").text == "<answer>no room</answer>");
  CHECK(bench.ledger.first_unread().at("own_answer").cut_at == 0);
}

TEST_CASE("a reply with a damaged call and a refused one are not read, and are drawn again") {
  for (const bool damaged : {true, false}) {
    const std::string bad = damaged ? "<answer>injected</answer>" : "I can't help.";
    const std::string purpose = damaged ? "own_answer" : "sub_query";  // which takes the whole reply
    int asked = 0;
    const auto model = [&](std::span<const Prompt> prompts) {
      std::vector<Completion> replies(prompts.size(), Completion(bad));
      if (++asked > 1) replies.front().text = damaged ? "<answer>right</answer>" : "right";
      else replies.front().finish = damaged ? Completion::Finish::length : Completion::Finish::refused;
      replies.front().damaged = damaged && asked == 1;
      return replies;
    };
    Bench bench(model, {.sampling = {.temperature = 1}});
    const auto drawn = bench.draw(purpose, 1);
    REQUIRE(drawn.front().reply);
    CHECK(drawn.front().reply->content == "right");
    CHECK(bench.ledger.by_purpose().at(purpose).unread == 1);
    CHECK(bench.ledger.by_purpose().at(purpose).cut == damaged);
    CHECK(bench.ledger.first_unread().at(purpose).text == bad);
  }
}

TEST_CASE("replies that max_tokens cut are counted, read or not") {
  const auto model = [](std::span<const Prompt> prompts) {
    std::vector<Completion> replies;
    for (const Prompt& prompt : prompts) {
      replies.emplace_back(prompt.sample() == 0   ? "<answer>x</answer> and"
                           : prompt.sample() == 1 ? "so"
                                                  : "<answer>y</answer>");
      if (prompt.sample() < 2) replies.back().finish = Completion::Finish::length;
    }
    return replies;
  };
  Bench bench(model, {.sampling = {.temperature = 1}, .resample = 0});
  (void)bench.draw("own_answer", 3);
  const Ledger::Costs& costs = bench.ledger.by_purpose().at("own_answer");
  CHECK(costs.completions == 3);
  CHECK(costs.cut == 1);
  CHECK(costs.cut_read == 1);
  CHECK(costs.repairs == 0);
}

TEST_CASE("what servers had read before is added up by purpose, once for a shared answer, and is no cost of a tree") {
  const auto model = [](std::span<const Prompt> prompts) {
    std::vector<Completion> replies;
    for (const Prompt& prompt : prompts) {
      replies.emplace_back("<answer>x</answer>");
      replies.back().prompt_tokens = 10;
      replies.back().attempts = 1;
      if (prompt.purpose() == "own_answer") replies.back().reused_tokens = prompt.sample() == 0 ? 4 : 10;
    }
    return replies;
  };
  rag::Sampler::Options options{.sampling = {.temperature = 1}};
  options.by_purpose["own_answer"].temperature = 0;
  Bench sampled(model), greedy(model, options);
  for (Bench* bench : {&sampled, &greedy})
    for (const char* purpose : {"own_answer", "rollout"}) (void)bench->draw(purpose, 2);
  const auto told = [](const Bench& bench) {
    CHECK(bench.ledger.execution.prompts.size() == 1);  // nothing is known of rollouts
    const auto& [reused, read] = bench.ledger.execution.prompts.at("own_answer");
    return std::tuple(reused, read, bench.ledger.execution.attempts);
  };
  CHECK(told(sampled) == std::tuple(14, 6, 4));
  CHECK(told(greedy) == std::tuple(4, 6, 3));
  CHECK(greedy.ledger == sampled.ledger);
  greedy.ledger += sampled.ledger;
  CHECK(told(greedy) == std::tuple(18, 12, 7));
}

TEST_CASE("a constrained purpose is asked under its grammar, the others are not") {
  Scripted model;
  std::map<std::string, std::string> grammars;
  const auto note = [&](const Prompt& p) { return grammars[p.purpose()] = p.sampling().grammar, "<answer>x</answer>"; };
  model.on("own_answer", note).on("rollout", note);
  rag::Sampler::Options options{.sampling = {.temperature = 0.7, .max_tokens = 100}, .grammar = Grammar::gbnf_of};
  options.constrain = {{"own_answer", rag::Sampler::Constrain::on}, {"rollout", rag::Sampler::Constrain::off}};
  Bench bench(model, options);
  for (const char* purpose : {"own_answer", "rollout"}) bench.draw(purpose, 1);
  options.grammar = nullptr;
  CHECK_THROWS_WITH_AS(Bench(model, options), doctest::Contains("option 'grammar' is null"), std::invalid_argument);
  const auto protocol = method::decex_prompts().protocol();
  CHECK(grammars["own_answer"] == Grammar(*protocol, *protocol->purpose("own_answer"), 100).gbnf());
  CHECK(grammars["rollout"] == "");
  CHECK(bench.ledger.execution.ungoverned.empty());
}

TEST_CASE("a draft that cannot be read is shown to the model, which gives its result under the grammar") {
  Scripted model;
  std::vector<Prompt> seen;
  model.on("own_answer", [&](const Prompt& p) -> std::string {
    seen.push_back(p);
    if (p.sample() == 0) return "<answer>at once</answer>";
    return p.sampling().grammar.empty() ? "It is <b>Paris</b>." : "<answer>Paris</answer>";
  });
  rag::Sampler::Options options{.sampling = {.temperature = 0.7}, .grammar = Grammar::gbnf_of};
  options.constrain = {{"own_answer", rag::Sampler::Constrain::draft}};
  Bench bench(model, options);
  const auto drawn = bench.draw("own_answer", 2);
  CHECK(drawn[0].reply->content == "at once");
  CHECK(drawn[1].reply->content == "Paris");
  CHECK(bench.ledger["own_answer"].completions == 3);
  CHECK(bench.ledger["own_answer"].unread == 1);
  REQUIRE(seen.size() == 3);
  const auto& messages = seen[2].body().messages;
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].content == seen[1].text());
  CHECK(messages[1].role == "assistant");
  CHECK(messages[1].content == "It is <b>Paris</b>.");
  CHECK(messages[2].role == "user");
  CHECK(seen[2].sample() == (1U << 19) + 1);
  CHECK(seen[2].seed() != seen[1].seed());
  CHECK(bench.ledger["own_answer"].repaired == 1);
  CHECK(bench.ledger["own_answer"].constrained == 1);
  CHECK(seen[2].key() != seen[1].key());
}

TEST_CASE("whole replies that break their grammar are counted: the server ignores it") {
  Scripted model;
  model.on("own_answer", [](const Prompt&) { return "Paris"; });
  rag::Sampler::Options options{.sampling = {.temperature = 0}, .grammar = Grammar::gbnf_of};
  options.constrain = {{"own_answer", rag::Sampler::Constrain::on}};
  Bench bench(model, options);
  bench.draw("own_answer", 2);
  CHECK(bench.ledger.execution.ungoverned == std::map<std::string, std::uint64_t>{{"own_answer", 2}});
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

}  // namespace sampler_test
