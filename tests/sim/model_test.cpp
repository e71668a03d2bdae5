#include <espalier/core/batch_service.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "speaker.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace model_test {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::sim;
using testing::other;

static_assert(espalier::detail::BatchFunction<const Model, Prompt, Completion>);

namespace {

const Skills perfect = testing::perfect(1), reader_only = testing::perfect(0);

std::shared_ptr<const Protocol> protocol() {
  static const auto shared =
      std::make_shared<const Protocol>(Protocol{"test",
                                                {{"termination", {"question", "history"}, {"answer", "question"}},
                                                 {"forced_answer", {"question", "history"}, {"answer"}},
                                                 {"sub_question", {"question"}, {"question"}},
                                                 {"own_answer", {"question"}, {"answer"}},
                                                 {"sub_query", {"question"}, {}},
                                                 {"rollout", {"question", "history"}, {"search", "answer"}}},
                                                {{"reasoning", "<r>", "</r>"},
                                                 {"answer", "[[", "]]"},
                                                 {"question", "((", "))"},
                                                 {"search", "{{", "}}"},
                                                 {"information", "<i>", "</i>"}}});
  return shared;
}

/// A prompt under construction: segments of the history, in order.
struct Page {
  std::string purpose, question;
  std::vector<std::pair<std::string, std::string>> history = {};
  double temperature = 0;

  [[nodiscard]] Prompt prompt(std::uint64_t seed = 0, std::uint32_t sample = 0) const {
    PromptBody body;
    std::string text = "Question: ";
    const auto put = [&](const std::string& name, const std::string& value) {
      const auto begin = static_cast<std::uint32_t>(text.size());
      text += value;
      body.spans.push_back({name, begin, static_cast<std::uint32_t>(text.size())});
      text += "\n";
    };
    put("question", question);
    if (protocol()->purpose(purpose)->slots.size() > 1) {
      text += "History:\n";
      const std::size_t slot = body.spans.size();
      body.spans.push_back({"history", static_cast<std::uint32_t>(text.size()), 0});
      for (const auto& [name, value] : history) put(name, value);
      body.spans[slot].end = static_cast<std::uint32_t>(text.size());
    }
    body.messages = {{"system", "Be brief."}, {"user", text}};
    body.purpose = purpose;
    body.protocol = protocol();
    body.sampling.temperature = temperature;
    return Prompt(std::make_shared<const PromptBody>(std::move(body)), seed, sample);
  }
  [[nodiscard]] std::string ask(const Model& model, std::uint64_t seed = 0, std::uint32_t sample = 0) const {
    return model(std::vector{prompt(seed, sample)}).front().text;
  }
};

/// What stands between two marks at the end of a text; "" if it does not end so.
std::string tagged(const std::string& text, const std::string& open, const std::string& close) {
  const std::size_t begin = text.rfind(open);
  if (begin == std::string::npos || !text.ends_with(close)) return {};
  return text.substr(begin + 2, text.size() - close.size() - begin - 2);
}
std::string answer_in(const std::string& text) { return tagged(text, "[[", "]]"); }
std::string question_in(const std::string& text) { return tagged(text, "((", "))"); }
std::string query_in(const std::string& text) { return tagged(text, "{{", "}}"); }

bool is_gold(const rag::Example& e, const std::string& text) { return std::ranges::find(e.gold, text) != e.gold.end(); }

std::string document(const World& world, const std::string& id) {
  const Passage p = world.passage(std::stoul(id.substr(2)));
  return "[1] " + p.title() + "\n" + p.text();
}
/// The passages whose titles a text names, as a retriever would find them.
std::vector<std::pair<std::string, std::string>> retrieved(const World& world, const rag::Example& e,
                                                           const std::string& query) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const Passage& p : testing::retrieved(world, e, query))
    found.emplace_back("document", "[1] " + p.title() + "\n" + p.text());
  return found;
}

/// The examples without comparisons: those have two possible answers, so a coin is right half of the time.
std::vector<rag::Example> open_ended(const World& world) {
  std::vector<rag::Example> kept;
  for (const auto& e : world.examples())
    if (e.type == "single" || e.type == "composition") kept.push_back(e);
  return kept;
}

/// Whether `count` of `trials` is within five standard deviations of the rate; everything is seeded, so it stays so.
bool near(std::size_t count, std::size_t trials, double rate) {
  const auto n = static_cast<double>(trials);
  return std::abs(static_cast<double>(count) - n * rate) <= 5 * std::sqrt(n * rate * (1 - rate)) + 1;
}

rag::Example major() {
  return {{"m1", "Who is the spouse of the person who played the sergeant major in We Were Soldiers?"},
          {"Katharine Ross", "Katharine Juliet Ross"},
          {{"who played the sergeant major in we were soldiers", "Sam Elliott", "Basil L. Plumley", "mq-1"},
           {"#1 >> spouse", "Katharine Ross", "Murder in Texas", "mq-2"}},
          {},
          2,
          "2hop"};
}
rag::Example elder() {  // a comparison of two chains, subjects written out as triples are
  return {{"w1", "Which film has the director who died first, Bawarchi or Manhattan Romance?"},
          {"Manhattan Romance"},
          {{"Bawarchi >> director", "Hrishikesh Mukherjee", "Bawarchi", ""},
           {"Manhattan Romance >> director", "Tom O'Brien", "Manhattan Romance", ""},
           {"Hrishikesh Mukherjee >> date of death", "27 August 2006", "Hrishikesh Mukherjee", ""},
           {"Tom O'Brien (actor, born 1890) >> date of death", "June 8, 1947", "Tom O'Brien (actor, born 1890)", ""}},
          {},
          4,
          "bridge_comparison"};
}
const std::string soldiers_page = "Basil L. Plumley\nHe was played by Sam Elliott in the film We Were Soldiers.";
const std::string texas_page = "Murder in Texas\nIt stars Katharine Ross, the wife of Sam Elliott.";

}  // namespace

TEST_CASE("a chain is followed step by step: ask, read, ask about what was read, read, stop") {
  const std::vector<rag::Example> examples = {major(), other()};
  const Model model(examples, reader_only);
  Page page{"termination", examples[0].question.text};
  std::string reply = page.ask(model);
  CHECK(question_in(reply) == "who played the sergeant major in we were soldiers?");
  CHECK(reply.starts_with("<r>"));
  CHECK(Page{"sub_query", question_in(reply)}.ask(model) == "played sergeant major we soldiers");

  page.history = {{"sub_question", question_in(reply)},
                  {"query", "played sergeant major we soldiers"},
                  {"document", soldiers_page}};
  reply = page.ask(model);
  CHECK(question_in(reply) == "What is the spouse of Sam Elliott?");
  CHECK(Page{"sub_query", question_in(reply)}.ask(model) == "spouse Sam Elliott");

  page.history.insert(
      page.history.end(),
      {{"sub_question", question_in(reply)}, {"query", "spouse Sam Elliott"}, {"document", texas_page}});
  CHECK(answer_in(page.ask(model)) == "Katharine Ross");
  page.purpose = "forced_answer";
  CHECK(answer_in(page.ask(model)) == "Katharine Ross");
  page.purpose = "rollout";
  CHECK(answer_in(page.ask(model)) == "Katharine Ross");
}

TEST_CASE("what a later sub-question names counts as known") {
  const Model model(std::vector{major(), other()}, reader_only);
  Page page{"termination",
            major().question.text,
            {{"sub_question", "Tell me the spouse of Sam Elliott."}, {"document", texas_page}}};
  CHECK(answer_in(page.ask(model)) == "Katharine Ross");
}

TEST_CASE("all wordings of a step ask the same, and a relation that ends in 'of' is not given a second one") {
  std::set<std::string> texts;
  for (std::uint32_t sample = 0; sample < 100; ++sample) {
    const sim::detail::Draws draws(Page{"own_answer", "x", {}, 1.0}.prompt(0, sample), 1);
    texts.insert(sim::detail::ask("Jacoby Shaddix >> member of", draws));
    CHECK(sim::detail::content(sim::detail::ask("Jacoby Shaddix >> member of", draws)) ==
          sim::detail::content("Jacoby Shaddix >> member of"));
    CHECK(sim::detail::content(sim::detail::ask("When was Papa Roach formed?", draws)) ==
          sim::detail::content("When was Papa Roach formed?"));
  }
  CHECK(texts == std::set<std::string>{"What is the member of Jacoby Shaddix?", "Tell me the member of Jacoby Shaddix.",
                                       "I need to know the member of Jacoby Shaddix.",
                                       "Jacoby Shaddix: what is its member of?",
                                       "What is Jacoby Shaddix's member of?"});
}

TEST_CASE("a passage helps only if it is the right one and holds the answer") {
  const Model model(std::vector{major(), other()}, reader_only);
  const auto asks_first = [&](const std::string& shown) {
    return question_in(Page{"termination", major().question.text, {{"document", shown}}}.ask(model))
        .starts_with("who played");
  };
  CHECK_FALSE(asks_first(soldiers_page));
  CHECK(asks_first("Basil L. Plumley\nAnother part of the same page, without the name."));
  CHECK(asks_first("A list of actors\nSam Elliott stands in it, next to the title Basil L. Plumley."));
  CHECK(asks_first("Sam Elliot\nBasil L. Plumley"));
}

TEST_CASE("a document cannot speak: a statement in it is no thought") {
  const Model model(std::vector{major(), other()}, reader_only);
  const std::string said = "The answer to \"who played the sergeant major in we were soldiers\" is Mel Gibson.";
  Page page{"termination", major().question.text, {{"document", "A page\n" + said}}};
  CHECK(question_in(page.ask(model)).starts_with("who played"));
  page.history[0].first = "thought";
  CHECK(question_in(page.ask(model)) == "What is the spouse of Mel Gibson?");
}

TEST_CASE("an own answer is believed as it stands, and a wrong one leads astray") {
  const std::vector<rag::Example> examples = {major(), other()};
  const Model model(examples, reader_only);
  Page page{"termination",
            examples[0].question.text,
            {{"sub_question", "who played the sergeant major in we were soldiers?"}, {"own_answer", "Mel Gibson"}}};
  const std::string sub = question_in(page.ask(model));
  CHECK(sub == "What is the spouse of Mel Gibson?");
  page.history.insert(page.history.end(),
                      {{"sub_question", sub}, {"document", texas_page}, {"document", soldiers_page}});
  CHECK(question_in(page.ask(model)) == sub);  // the passages say nothing of that person
  page.history.resize(3);
  page.history.emplace_back("own_answer", "Robyn Moore");
  CHECK(answer_in(page.ask(model)) == "Robyn Moore");
  page.history[1].second = "I don't know";
  page.history.resize(2);
  CHECK(question_in(page.ask(model)).starts_with("who played"));
}

TEST_CASE("a fact of another chain answers a question about a wrong entity") {
  const Model model(std::vector{major(), other()}, perfect);
  Page page{"forced_answer",
            major().question.text,
            {{"sub_question", "who played the sergeant major in we were soldiers?"}, {"own_answer", "Brandi Carlile"}}};
  CHECK(answer_in(page.ask(model)) == "Catherine Shepherd");
}

TEST_CASE("a comparison is answered when all its steps are known, whether chains are linked by marks or by names") {
  const std::vector<rag::Example> examples = {elder(), major()};
  const Model model(examples, reader_only);
  Page page{"termination", elder().question.text};
  page.history = {{"document", "Bawarchi\nDirected by Hrishikesh Mukherjee."},
                  {"document", "Manhattan Romance\nDirected by Tom O'Brien."}};
  CHECK(question_in(page.ask(model)) == "What is the date of death of Hrishikesh Mukherjee?");
  page.history.emplace_back("document", "Hrishikesh Mukherjee\nHe died on 27 August 2006.");
  CHECK(question_in(page.ask(model)) == "What is the date of death of Tom O'Brien?");
  page.history.emplace_back("document", "Tom O'Brien (actor, born 1890)\nHe died on June 8, 1947.");
  CHECK(answer_in(page.ask(model)) == "Manhattan Romance");
  page.history.erase(page.history.begin());
  CHECK(question_in(page.ask(model)) == "What is the director of Bawarchi?");
}

TEST_CASE("an example without a chain is one step over its supporting passages") {
  const rag::Example both{{"h1", "Are Ranger Rick and Tennis both sports magazines?"},
                          {"no"},
                          {},
                          {"Ranger Rick", "Tennis (magazine)"},
                          2,
                          ""};
  const rag::Example one{
      {"p1", "What is Shirley Palmer's occupation?"}, {"actor", "actress"}, {}, {"Shirley Palmer (actress)"}, 1, ""};
  const Model model(std::vector{both, one}, reader_only);
  Page page{
      "termination", both.question.text, {{"document", "Ranger Rick\nA magazine for children, not about sports; no."}}};
  CHECK(answer_in(page.ask(model)).empty());
  page.history.emplace_back("document", "Tennis (magazine)\nA magazine on tennis.");
  CHECK(answer_in(page.ask(model)) == "no");
  CHECK(answer_in(Page{
            "termination", one.question.text, {{"document", "Shirley Palmer (actress)\nAn American film actress."}}}
                      .ask(model)) == "actress");
}

TEST_CASE("an unknown question gets itself as sub-question and query, and no knowledge") {
  const Model model(std::vector{major()}, perfect);
  const std::string text = "Why is the sky of Neptune blue?";
  CHECK(question_in(Page{"termination", text}.ask(model)) == text);
  CHECK(question_in(Page{"sub_question", text}.ask(model)) == text);
  CHECK(Page{"sub_query", text}.ask(model) == text);
  CHECK(query_in(Page{"rollout", text}.ask(model)) == text);
  CHECK(query_in(Page{"rollout", text, {{"thought", "It is far away."}}}.ask(model)) == text);
  CHECK(answer_in(Page{"rollout", text, {{"document", soldiers_page}}}.ask(model)) == "unknown");
  CHECK(question_in(Page{"termination", text, {{"document", soldiers_page}}}.ask(model)) == text);
  CHECK(answer_in(Page{"termination", text, {{"sub_question", text}}}.ask(model)) == "unknown");
  CHECK(Page{"sub_question", text}.ask(model) == "((" + text + "))");
  CHECK(answer_in(Page{"own_answer", text}.ask(model)) == sim::detail::not_known);
  CHECK(model(std::vector{Prompt(text)}).front().text == sim::detail::not_known);
  const Model empty(std::vector<rag::Example>{}, Skills{.hallucinate = 1});
  CHECK(answer_in(Page{"own_answer", text}.ask(empty)) == "unknown");
}

TEST_CASE("with perfect skills every question of a world is answered from passages alone") {
  const World world({.passages = 2000, .questions = 200});
  const Model model(world.examples(), reader_only);
  for (const auto& e : world.examples()) {
    CAPTURE(e.question.text);
    Page page{"termination", e.question.text};
    std::string answer;
    for (int layer = 0; layer <= 4 && answer.empty(); ++layer) {
      const std::string reply = page.ask(model);
      answer = answer_in(reply);
      if (!answer.empty()) break;
      const std::string sub = question_in(reply);
      REQUIRE(!sub.empty());
      const std::string query = Page{"sub_query", sub}.ask(model);
      page.history.emplace_back("sub_question", sub);
      page.history.emplace_back("query", query);
      const auto found = retrieved(world, e, query);
      CHECK(found.size() >= 1);
      page.history.insert(page.history.end(), found.begin(), found.end());
    }
    CHECK(is_gold(e, answer));

    Page walk{"rollout", e.question.text};
    for (int turn = 0; turn <= 4; ++turn) {
      const std::string reply = walk.ask(model);
      answer = answer_in(reply);
      if (!answer.empty()) break;
      walk.history.emplace_back("thought", reply.substr(0, reply.find("{{")));
      walk.history.emplace_back("query", query_in(reply));
      const auto found = retrieved(world, e, query_in(reply));
      walk.history.insert(walk.history.end(), found.begin(), found.end());
    }
    CHECK(is_gold(e, answer));
  }
}

TEST_CASE("who recalls everything needs no passage") {
  const World world({.passages = 1000, .questions = 100});
  const Model model(world.examples(), perfect);
  for (const auto& e : world.examples()) {
    CAPTURE(e.question.text);
    CHECK(is_gold(e, answer_in(Page{"rollout", e.question.text}.ask(model))));
    CHECK(is_gold(e, answer_in(Page{"forced_answer", e.question.text}.ask(model))));
    const std::string sub = question_in(Page{"sub_question", e.question.text}.ask(model));
    CHECK(answer_in(Page{"own_answer", sub}.ask(model)) == e.chain[0].answer);
  }
}

TEST_CASE("without evidence and without memory no reply is gold, whatever the purpose, temperature and seed") {
  const World world({.passages = 2000, .questions = 150});
  const auto examples = open_ended(world);
  const Model model(world.examples(), Skills{.recall = 0, .stop = 0.3, .hallucinate = 0.9, .malformed = 0});
  std::size_t answers = 0, right = 0, coins = 0, heads = 0;
  for (const auto& e : world.examples())
    for (const std::string purpose : {"termination", "forced_answer", "own_answer", "rollout"})
      for (std::uint32_t sample = 0; sample < 4; ++sample) {
        Page page{purpose, e.question.text, {}, 1.0};
        page.history = {{"thought", "I look around.\n"},
                        {"document", "A page\n" + e.chain[0].support_title + " is a title."}};
        const std::string answer = answer_in(page.ask(model, 9, sample));
        if (answer.empty()) continue;
        const bool coin = e.type.find("comparison") != std::string::npos;
        ++(coin ? coins : answers);
        if (is_gold(e, answer)) ++(coin ? heads : right);
      }
  CHECK(answers > 500);
  CHECK(right == 0);
  CHECK(coins > 100);
  CHECK(heads <= coins * 6 / 10);
  CHECK(examples.size() > 100);
}

TEST_CASE("recall is a fixed property of the fact: every request of a model agrees, and seeds differ") {
  const World world({.passages = 5000, .questions = 600});
  const auto examples = open_ended(world);
  const Skills half{.recall = 0.45, .hallucinate = 0.5, .malformed = 0, .seed = 3};
  const Skills reseeded{.recall = 0.45, .hallucinate = 0.5, .malformed = 0, .seed = 4};
  const Model model(examples, half), second(examples, reseeded);
  std::size_t known = 0, facts = 0, differ = 0;
  std::set<std::string> seen;
  for (const auto& e : examples) {
    if (!seen.insert(e.chain[0].question).second) continue;
    ++facts;
    const auto knows = [&](const Model& m, const std::string& question, std::uint64_t seed) {
      return answer_in(Page{"own_answer", question, {}, 1.0}.ask(m, seed)) == e.chain[0].answer;
    };
    const bool first = knows(model, e.chain[0].question, 0);
    for (std::uint64_t seed = 1; seed < 4; ++seed) CHECK(knows(model, e.chain[0].question, seed) == first);
    CHECK(knows(model, "Tell me: " + e.chain[0].question, 7) == first);
    known += first;
    differ += knows(second, e.chain[0].question, 0) != first;
  }
  CHECK(near(known, facts, 0.45));
  CHECK(near(differ, facts, 2 * 0.45 * 0.55));
}

TEST_CASE("skills succeed at their rates at temperature 1") {
  const World world({.passages = 2000, .questions = 200, .max_hops = 2});
  const auto examples = open_ended(world);
  const Skills skills{
      .recall = 0, .decompose = 0.8, .phrase = 0.7, .read = 0.6, .stop = 0.9, .hallucinate = 0.25, .malformed = 0.05};
  const Skills sure{.recall = 0, .decompose = 1, .read = 0.6, .stop = 1, .hallucinate = 0, .malformed = 0};
  const Model model(examples, skills), steady(examples, sure);
  std::size_t n = 0, decomposed = 0, phrased = 0, went_on = 0, invented = 0, malformed = 0, read = 0;
  for (const auto& e : examples)
    for (std::uint32_t sample = 0; sample < 8; ++sample) {
      ++n;
      const auto first = sim::detail::content(e.chain[0].question);
      decomposed += sim::detail::content(
                        question_in(Page{"sub_question", e.question.text, {}, 1.0}.ask(model, 5, sample))) == first;
      const auto query = sim::detail::content(Page{"sub_query", e.chain[0].question, {}, 1.0}.ask(model, 5, sample));
      const auto subject = sim::detail::content(e.chain[0].support_title);
      phrased += std::includes(query.begin(), query.end(), subject.begin(), subject.end());
      const std::string reply = Page{"termination", e.question.text, {}, 1.0}.ask(model, 5, sample);
      malformed += question_in(reply).empty() && answer_in(reply).empty();
      went_on += !question_in(reply).empty();
      invented +=
          answer_in(Page{"own_answer", e.chain[0].question, {}, 1.0}.ask(model, 5, sample)) != sim::detail::not_known;
      Page shown{"termination", e.question.text, {}, 1.0};
      for (const auto& step : e.chain) shown.history.emplace_back("document", document(world, step.support_id));
      read += answer_in(shown.ask(steady, 5, sample)).empty() ? 0 : 1;
    }
  CHECK(n > 1000);
  CHECK(near(malformed, n, 0.05));
  CHECK(near(went_on, n, 0.95 * 0.9));
  CHECK(near(invented, n, 0.25 * 0.95 + 0.05));  // a reply without its tags is not the plain words either
  CHECK(near(phrased, n, 0.7));
  std::size_t one_step = 0;
  for (const auto& e : examples) one_step += e.hops == 1;
  const double both = (static_cast<double>(one_step) * 0.6 + static_cast<double>(examples.size() - one_step) * 0.36) /
                      static_cast<double>(examples.size());
  CHECK(near(read, n, both));
  CHECK(near(decomposed, n, 0.95 * 0.8));
}

TEST_CASE("temperature 0 is the likeliest behaviour, always the same; heat brings more wordings and more failures") {
  const World world({.passages = 2000, .questions = 100});
  const auto examples = open_ended(world);
  const Skills skills{.recall = 0, .decompose = 0.8, .hallucinate = 0, .malformed = 0};
  const Model model(examples, skills);
  std::vector<std::size_t> right, wordings;
  for (double temperature : {0.0, 0.3, 1.0, 2.0}) {
    std::size_t good = 0, different = 0;
    for (const auto& e : examples) {
      std::set<std::string> texts;
      for (std::uint32_t sample = 0; sample < 8; ++sample) {
        const std::string text =
            question_in(Page{"sub_question", e.question.text, {}, temperature}.ask(model, 5, sample));
        good += sim::detail::content(text) == sim::detail::content(e.chain[0].question);
        texts.insert(text);
      }
      different += texts.size();
    }
    right.push_back(good);
    wordings.push_back(different);
  }
  CHECK(right[0] == examples.size() * 8);
  CHECK(wordings[0] == examples.size());
  CHECK(right[0] > right[1]);
  CHECK(right[1] > right[2]);
  CHECK(right[2] > right[3]);
  CHECK(right[3] > examples.size() * 8 / 2);  // moderately
  CHECK(wordings[0] < wordings[1]);
  CHECK(wordings[1] < wordings[2]);
}

TEST_CASE("a reply does not depend on the batch it is in, and counts its tokens") {
  const World world({.passages = 500, .questions = 40});
  const Model model(world.examples());
  std::vector<Prompt> prompts;
  for (const auto& e : world.examples())
    for (const std::string purpose :
         {"termination", "forced_answer", "sub_question", "own_answer", "sub_query", "rollout"})
      prompts.push_back(Page{purpose, e.question.text, {}, 0.7}.prompt(1, 2));
  const auto together = model(prompts);
  REQUIRE(together.size() == prompts.size());
  Hasher h;
  for (std::size_t i = prompts.size(); i-- > 0;) {
    const auto alone = model(std::span(prompts).subspan(i, 1));
    CHECK(alone[0].text == together[i].text);
    CHECK(together[i].finish == Completion::Finish::stop);
    CHECK(together[i].prompt_tokens == (9 + prompts[i].text().size()) / 4 + 1);
    CHECK(together[i].completion_tokens == together[i].text.size() / 4 + 1);
    h.add(together[i].text);
  }
  CHECK(h.finish().hex() == "43fc505afef9eed5564a2657adada4e6");
}

TEST_CASE("the fingerprint tells models apart") {
  const std::vector<rag::Example> one = {major()}, two = {major(), other()};
  CHECK(Model(one).fingerprint() == Model(one).fingerprint());
  CHECK(Model(one).fingerprint() != Model(two).fingerprint());
  CHECK(Model(one).fingerprint() != Model(one, Skills{.seed = 2}).fingerprint());
  CHECK(Model(one).fingerprint() != Model(one, Skills{.read = 0.5}).fingerprint());
}

TEST_CASE("a bad rate is named") {
  const std::vector<rag::Example> none;
  CHECK_THROWS_WITH_AS(Model(none, Skills{.read = 1.5}), "option 'read' is 1.500000, allowed: 0 ... 1",
                       std::invalid_argument);
  CHECK_THROWS_AS(Model(none, Skills{.recall = std::nan("")}), std::invalid_argument);
}

}  // namespace model_test
