#include "speaker.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace dialects_test {

/// Whole loops in the marks and roles of published systems, beside those that the tests of baselines run: with perfect
/// skills each must reach the answer of every question, from passages alone or from memory alone.

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::testing;
using rag::SegmentKind;
using namespace espalier::sim;

namespace {

struct Ask {
  const World& world;
  const Speaker& speaker;
  const rag::Example& example;

  [[nodiscard]] rag::Reply with(const std::string& purpose, const rag::Transcript& history) const {
    return speaker.ask(purpose, {question(example.question.text), speaker.history(history)});
  }
  [[nodiscard]] Passages find(const std::string& query) const { return retrieved(world, example, query); }
};

/// Lets `loop` answer all questions of a world, reading and by heart.
void check_all(const Protocol& protocol, const std::function<std::string(const Ask&)>& loop, bool by_heart = true) {
  const World world({.passages = 1000, .questions = 60});
  for (const double recall : {0.0, 1.0}) {
    if (recall == 1 && !by_heart) continue;
    const Speaker speaker(Model(world.examples(), perfect(recall)), protocol);
    for (const auto& e : world.examples()) {
      CAPTURE(recall);
      CAPTURE(e.question.text);
      const std::string answer = loop({world, speaker, e});
      CHECK_MESSAGE(std::find(e.gold.begin(), e.gold.end(), answer) != e.gold.end(), answer);
    }
  }
}

/// Think, then search or answer; `after` is the purpose that concludes from the documents, if there is one.
std::string search_loop(const Ask& ask, const std::string& after = {}) {
  rag::Transcript history;
  for (int turn = 0; turn < 12; ++turn) {
    const auto reply = ask.with("step", history);
    if (!reply.thought.empty()) history = said(history, SegmentKind::thought, reply.thought);
    if (reply.tag == "answer") return reply.content;
    if (reply.tag == "sub_answer") {
      history = said(history, SegmentKind::sub_answer, reply.content);
      continue;
    }
    REQUIRE(reply.tag == "search");
    history = shown(said(history, SegmentKind::query, reply.content), ask.find(reply.content));
    if (!after.empty()) history = said(history, SegmentKind::sub_answer, ask.with(after, history).content);
  }
  return "no answer";
}

const std::vector<std::string> both = {"question", "history"};

}  // namespace

TEST_CASE("a loop of search and answer in line marks: a thought of several sentences stays on its line") {
  check_all({"decouple",
             {{"step", both, {"search", "answer"}}},
             {{"thought", "Thought:", "\n"},
              {"search", "Search(", ")"},
              {"information", "Observation:", "\n"},
              {"answer", "Finish(", ")"}}},
            [](const Ask& ask) { return search_loop(ask); });
}

TEST_CASE("follow-up questions, searches, conclusions and the answer, all in one purpose") {
  const std::vector<Protocol::Tag> marks = {{"question", "Follow up:", "\n"},
                                            {"sub_question", "Follow up:", "\n"},
                                            {"search", "Let's search:", "\n"},
                                            {"information", "Context:", "\n"},
                                            {"sub_answer", "Intermediate answer:", "\n"},
                                            {"answer", "So the final answer is:", "\n"}};
  check_all({"one", {{"step", both, {"question", "search", "sub_answer", "answer"}}}, marks}, [](const Ask& ask) {
    rag::Transcript history;
    for (int turn = 0; turn < 16; ++turn) {
      const auto reply = ask.with("step", history);
      if (reply.tag == "answer") return reply.content;
      if (!reply.thought.empty()) history = said(history, SegmentKind::thought, reply.thought);
      if (reply.tag == "question") history = said(history, SegmentKind::sub_question, reply.content);
      if (reply.tag == "search")
        history = shown(said(history, SegmentKind::query, reply.content), ask.find(reply.content));
      if (reply.tag == "sub_answer") history = said(history, SegmentKind::sub_answer, reply.content);
    }
    return std::string("no answer");
  });
}

TEST_CASE(
    "loops that conclude from what was found, in the same purpose or in one of its own, documents hidden or not") {
  const auto prorag = [](std::vector<std::string> hidden) {
    return Protocol{"prorag",
                    {{"step", both, {"search", "sub_answer", "answer"}}},
                    {{"thought", "<step>", "</step>"},
                     {"search", "<subquery>", "</subquery>"},
                     {"information", "<retrieval>", "</retrieval>"},
                     {"sub_answer", "<subanswer>", "</subanswer>"},
                     {"answer", "<answer>", "</answer>"}},
                    "Doc {rank}(Title: {title}) {text}\n",
                    std::move(hidden)};
  };
  check_all(prorag({}), [](const Ask& ask) { return search_loop(ask); });
  check_all(prorag({"thought"}), [](const Ask& ask) { return search_loop(ask); });
  const auto evidence = [](std::vector<std::string> hidden) {
    return Protocol{"reasonrag",
                    {{"step", both, {"search", "answer"}}, {"evidence", both, {"sub_answer"}}},
                    {{"search", "<query>", "</query>"},
                     {"sub_answer", "<evidence>", "</evidence>"},
                     {"answer", "<answer>", "</answer>"}},
                    "{title}\n{text}\n",
                    std::move(hidden)};
  };
  check_all(evidence({}), [](const Ask& ask) { return search_loop(ask, "evidence"); });
  check_all(evidence({"thought"}), [](const Ask& ask) { return search_loop(ask, "evidence"); });
}

TEST_CASE("a chain of thought sentence by sentence: news, or what is missing, until the marker of the answer") {
  const Protocol ircot{"ircot",
                       {{"sentence", {"question", "documents", "history"}, {"answer", "sub_answer"}}},
                       {{"answer", "So the answer is:", "\n"}, {"sub_answer", "", ""}, {"thought", "", ""}}};
  const rag::Example e{{"m1", "Who is the spouse of the director of Bawarchi?"},
                       {"Katharine Ross"},
                       {{"Bawarchi >> director", "Sam Elliott", "Bawarchi", ""},
                        {"#1 >> spouse", "Katharine Ross", "Murder in Texas", ""}},
                       {},
                       2,
                       ""};
  const Speaker speaker(Model(std::vector{e}, perfect(0)), ircot);
  const Passage film("1", "Bawarchi", "Directed by Sam Elliott.");
  const auto next = [&](const Passages& documents, const rag::Transcript& history) {
    return speaker.ask("sentence", {question(e.question.text), speaker.documents(documents), speaker.history(history)});
  };
  CHECK(next({}, {}).content == "I need to know the director of Bawarchi.");
  CHECK(next({film}, {}).content == "The director of Bawarchi is Sam Elliott.");
  const auto known = said({}, SegmentKind::thought, "The director of Bawarchi is Sam Elliott.");
  CHECK(next({film}, known).content == "I need to know the spouse of Sam Elliott.");
  const auto stuck =
      said(said(known, SegmentKind::thought, next({}, known).content), SegmentKind::thought, next({}, known).content);
  CHECK(next({}, stuck).content.starts_with(
      "The spouse of Sam Elliott is "));  // asked twice in vain: it makes something up
  const auto done = said(known, SegmentKind::thought, "The spouse of Sam Elliott is Katharine Ross.");
  CHECK(next({}, done).tag == "answer");
  CHECK(next({}, done).content == "Katharine Ross");
  const auto logprob = [&](const rag::Transcript& history) {
    return *speaker
                .complete("sentence", {question(e.question.text), speaker.documents({film}), speaker.history(history)},
                          {.logprobs = true})
                .logprob;
  };
  CHECK(logprob({}) > logprob(known));  // what it reads is surer than what it lacks
}

TEST_CASE("plans before queries") {
  const Protocol planned{"planned",
                         {{"plan", both, {"thought", "answer"}}, {"query", both, {"search"}}},
                         {{"thought", "", ""}, {"search", "Search(", ")"}, {"answer", "Finish(", ")"}}};
  check_all(planned, [](const Ask& ask) {
    rag::Transcript history;
    for (int turn = 0; turn < 8; ++turn) {
      const auto plan = ask.with("plan", history);
      if (plan.tag == "answer") return plan.content;
      history = said(history, SegmentKind::thought, plan.content);
      const std::string query = ask.with("query", history).content;
      history = shown(said(history, SegmentKind::query, query), ask.find(query));
    }
    return std::string("no answer");
  });
}

TEST_CASE("a queue of queries, each rewritten with the answers before it, answered and put together") {
  const Protocol airrag{"airrag",
                        {{"split", {"question"}, {"queries"}},
                         {"reword", {"question", "history", "query"}, {"queries"}},
                         {"retrieve", {"query", "documents"}, {"sub_answer"}},
                         {"summary", both, {"answer"}}},
                        {{"queries", "", ""}, {"sub_answer", "", ""}, {"answer", "<answer>", "</answer>"}}};
  check_all(
      airrag,
      [](const Ask& ask) {
        const Slot q = question(ask.example.question.text);
        std::string lines = ask.speaker.ask("split", {q}).content;
        if (lines == "None") lines = ask.example.question.text;
        rag::Transcript history;
        std::istringstream queue(lines);
        for (std::string query; std::getline(queue, query);) {
          const std::string better =
              ask.speaker.ask("reword", {q, ask.speaker.history(history), slot("query", query)}).content;
          if (better != "None") query = better;
          const std::string response =
              ask.speaker.ask("retrieve", {slot("query", query), ask.speaker.documents(ask.find(query))}).content;
          history = said(said(history, SegmentKind::query, query), SegmentKind::sub_answer, response);
        }
        return ask.with("summary", history).content;
      },
      false);  // a query for a step that is not reached yet is no sentence of memory
}

}  // namespace dialects_test
