#include <espalier/method/all.hpp>
#include <espalier/rag/detail/repair.hpp>
#include <espalier/sim/model.hpp>

#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace prompts_test {

using namespace espalier;
using espalier::rag::detail::copyable;

namespace {

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("a text that could be copied is found in every form of marks") {
  const Protocol protocol{"m",
                          {{"tags", {"question"}, {"search", "answer"}},
                           {"lines", {"question"}, {"sub_answer"}},
                           {"brackets", {}, {"choice"}},
                           {"rest", {}, {"queries"}},
                           {"score", {}, {"score"}, {0, 1, 1}},
                           {"bare", {}, {}},
                           {"whole", {}, {"verdict"}}},
                          {{"search", "<search>", "</search>"},
                           {"answer", "<answer>", "</answer>"},
                           {"sub_answer", "Answer:", "\n"},
                           {"choice", "Pick(", ")"},
                           {"queries", "**Queries**", ""},
                           {"score", "<score>", "</score>"},
                           {"verdict", "", ""}}};
  const auto found = [&](const char* purpose, const char* text) {
    return copyable(text, protocol, *protocol.purpose(purpose));
  };
  CHECK(found("tags", "Write <search> query </search> or <answer> the answer </answer>.") ==
        Found{"query", "the answer"});
  CHECK(found("tags", "Put it between <search> and </search>.") == Found{"and"});
  CHECK(found("tags", "Put it inside <search></search>, or stop after </answer>.") == Found());
  CHECK(found("tags", "You were asked <search> {question} </search> before.") == Found());
  CHECK(found("lines", "Write:\nAnswer: a word\nor on a line after Answer:\n") == Found{"a word"});
  CHECK(found("brackets", "Write Pick() or Pick(A).") == Found{"A"});
  CHECK(found("rest", "After **Queries**\n\n### Question\n{question}") == Found());
  CHECK(found("rest", "**Queries** one a line\n### Question\n") == Found{"one a line"});
  CHECK(found("score", "<score> number </score>") == Found());  // not read as a score, so it does no harm
  CHECK(found("score", "<score> 0.5 </score>") == Found{"0.5"});
  CHECK(found("bare", "Write <search> query </search>.") == Found());
  CHECK(found("whole", "Write yes or no.") == Found());
}

TEST_CASE("each worked example's reply is read by its purpose's parser, and the two of a choice differ") {
  const std::vector<std::pair<rag::PromptSet, method::detail::Examples>> methods{
      {method::decex_prompts(), method::detail::decex_examples()},
      {method::decouple_prompts(), method::detail::decouple_examples()},
      {method::airrag_prompts(), method::detail::airrag_examples()},
      {method::prorag_prompts(), method::detail::prorag_examples()},
      {method::reasonrag_prompts(), method::detail::reasonrag_examples()}};
  for (const auto& [prompts, examples] : methods) {
    CAPTURE(prompts.protocol()->method);
    for (const Protocol::Purpose& purpose : prompts.protocol()->purposes) {
      CAPTURE(purpose.name);
      const std::string& text = prompts.texts().at(purpose.name);
      const std::size_t last = text.rfind("\n### ") + 5;
      const std::string heading = '\n' + text.substr(last, text.find('\n', last) - last) + ":\n";
      REQUIRE(examples.contains(purpose.name));
      REQUIRE(examples.at(purpose.name).size() == 2);
      std::set<std::string> tags, contents;
      for (const auto& [shown, written] : examples.at(purpose.name)) {
        const std::string example = shown + written;
        CAPTURE(example);
        CHECK(example.find('#') == std::string::npos);
        const std::size_t at = example.rfind(heading);
        REQUIRE(at != std::string::npos);
        const auto reply =
            rag::parse(rag::ModelText(example.substr(at + heading.size())), *prompts.protocol(), purpose);
        REQUIRE(reply);
        CHECK(example.substr(at + heading.size()) == written);
        tags.insert(reply->tag);
        contents.insert(reply->content);
      }
      CHECK(contents.size() == 2);
      CHECK(tags.size() == std::min<std::size_t>(2, std::max<std::size_t>(1, purpose.returns.size())));
    }
  }
}

TEST_CASE("shots put that many examples before a prompt's first heading, and the rest of it stays") {
  const auto made = [](const std::string& name, const char* shots) {
    const auto method = method::make_method(name);
    method->options().set("shots", shots);
    method->check();
    return method->prompts();
  };
  const rag::PromptSet none = made("decex", "0"), one = made("decex", "1"), two = made("decex", "2");
  CHECK(none.texts() == method::decex_prompts().texts());
  const std::string shown =
      "\n### Examples\nQuestion:\nIn which country does the river that flows through Vienna reach the sea?\n\n"
      "Your output:\nI need the river that flows through Vienna first. <question> Which river flows through Vienna? "
      "</question>\n";
  std::string expected = none.texts().at("sub_question");
  expected.insert(expected.find("\n### Question"), shown);
  CHECK(one.texts().at("sub_question") == expected);
  CHECK(two.texts().at("sub_question").find("Kepler") != std::string::npos);
  CHECK_THROWS_WITH_AS(made("decex", "3"), "option 'shots' is 3, allowed: 0 to 2", std::invalid_argument);
  CHECK_THROWS_WITH_AS(made("ircot", "5"), "option 'shots' is 5, allowed: 0 to 4", std::invalid_argument);
  for (const char* name : {"decouple", "greedy-agent", "airrag", "prorag", "reasonrag"})
    CHECK(made(name, "2").texts() != made(name, "1").texts());
}

TEST_CASE("shots reach a prompt of one's own: before its first heading, unless it has one for examples") {
  const test::TemporaryFolder folder;
  const auto method = method::make_method("decex");
  method->options().set("shots", "1");
  const auto own = [&](const std::string& text) {
    std::ofstream(folder / "sub_question.txt") << text;
    return method->prompts(folder.path()).texts().at("sub_question");
  };
  const std::string built_in = method->prompts().texts().at("sub_question");
  const std::size_t begin = built_in.find("### Examples");
  const std::string examples = built_in.substr(begin, built_in.find("### Question") - begin);
  CHECK(own("Ask.\n### Question\n{question}\n### Now\n") ==
        "Ask.\n" + examples + "### Question\n{question}\n### Now\n");
  CHECK(own("### Question\n{question}") == examples + "### Question\n{question}");
  CHECK(own("### Examples\nmine\n### Question\n{question}") == "### Examples\nmine\n### Question\n{question}");
  CHECK_THROWS_WITH_AS(own("Ask about {question}"),
                       "sub_question.txt: has no heading (### ...) before which the examples of the option 'shots' can "
                       "stand: add one, such as ### Question, or leave shots out",
                       InputError);
  method->options().set("shots", "0");
  CHECK(own("Ask about {question}") == "Ask about {question}");
}

TEST_CASE("grammars and worked examples are refused for replies that call tools, by the option's name") {
  const auto checked = [](const char* option, const char* value) {
    const auto method = method::make_method("decex");
    method->options().set("protocol", "tools");
    method->options().set(option, value);
    method->check();
  };
  for (const char* option : {"constrain", "sampling.rollout.constrain"}) {
    const std::string said = "option '" + std::string(option) + "' is draft, allowed: off beside protocol=tools";
    CHECK_THROWS_WITH_AS(checked(option, "draft"), said.c_str(), std::invalid_argument);
    CHECK_THROWS_AS(checked(option, "on"), std::invalid_argument);
    CHECK_NOTHROW(checked(option, "off"));
  }
  CHECK_NOTHROW(checked("sampling.sub_query.constrain", "on"));  // without marks, so it calls no tool
  CHECK_THROWS_WITH_AS(checked("shots", "1"),
                       "option 'shots' is 1, allowed: 0 beside protocol=tools: worked examples show marks",
                       std::invalid_argument);
}

TEST_CASE("the simulated model says the same where a prompt is worded anew, and something else to a repair") {
  const std::vector<rag::Example> known{rag::Example()};
  const sim::Model model(known, {.malformed = 0.5});
  const auto method = method::make_method("decex");
  method->options().set("shots", "2");
  const std::vector<std::pair<std::string, rag::Rendering>> slots{{"question", rag::render_text("Who wrote it?")}};
  std::size_t different = 0;
  for (std::uint32_t sample = 0; sample < 50; ++sample) {
    const auto reply = [&](const rag::PromptSet& prompts, bool repair) {
      auto body = prompts.render("own_answer", slots, {.temperature = 1});
      if (repair) body = rag::detail::repair(*body, "no tag", body->sampling);
      const std::vector<Prompt> asked{Prompt(body, 3, sample)};
      return model(asked).front();
    };
    const Completion plain = reply(method::decex_prompts(), false), shown = reply(method->prompts(), false);
    CHECK(plain.text == shown.text);
    CHECK(plain.prompt_tokens < shown.prompt_tokens);
    different += plain.text != reply(method::decex_prompts(), true).text;
  }
  CHECK(different > 10);
}

namespace {

/// The purposes that a task of a method can ask.
std::string asked(const std::string& name, bool answering,
                  const std::vector<std::pair<std::string, std::string>>& options = {}) {
  const auto method = method::make_method(name);
  for (const auto& [option, value] : options) method->options().set(option, value);
  std::string all;
  for (const Protocol::Purpose& purpose : method->prompts().protocol()->purposes)
    if (method->asks(purpose.name, answering)) all += (all.empty() ? "" : " ") + purpose.name;
  return all;
}

}  // namespace

TEST_CASE("a method says which purposes its tasks can ask under its options") {
  const bool answer = true, expand = false;
  CHECK(asked("decex", answer) == "forced_answer rollout");
  CHECK(asked("decex", answer, {{"inference", "expansion"}}) == asked("decex", expand));
  CHECK(asked("decex", expand).find("termination") != std::string::npos);
  CHECK(asked("decex", expand, {{"form", "policy"}}) == "forced_answer rollout");

  CHECK(asked("decouple", answer) == "plan query forced_answer judge");
  CHECK(asked("decouple", answer, {{"values", "server"}}) == "plan query forced_answer");
  CHECK(asked("decouple", expand) == "step forced_answer judge");
  CHECK(asked("decouple", expand, {{"terminal", "judge"}}) == "step forced_answer judge judge_answer");

  CHECK(asked("airrag", answer) == "say da ra qt sa");
  CHECK(asked("airrag", answer, {{"terminal_reward", "reward_model"}}) == "say da ra qt sa process_reward");
  CHECK(asked("airrag", expand, {{"terminal_reward", "reward_model"}}) == "say da ra qt sa");
  CHECK(asked("airrag", expand, {{"choice", "reward_model"}}) == "say da ra qt sa process_reward");
  CHECK(asked("airrag-lite", answer) == "ra qt sa");
  CHECK(asked("airrag-blender", answer) == "say da ra qt sa refine");

  CHECK(asked("prorag", answer) == "rollout forced_answer");
  CHECK(asked("prorag", answer, {{"guide", "beam"}, {"force_answer", "false"}}) == "step process_reward");
  CHECK(asked("prorag", expand) == "step rollout judge");
  CHECK(asked("prorag", expand, {{"grow", "none"}, {"annotate", "cold_start"}}) == "cold_start");
  CHECK(asked("prorag", expand, {{"grow", "group"}, {"annotate", "prm"}}) == "step process_reward");

  CHECK(asked("reasonrag", answer) == "begin_reasoning reasoning evidence forced_answer");
  CHECK(asked("reasonrag", expand, {{"value", "judge"}}) == "begin_reasoning reasoning evidence forced_answer judge");
  CHECK(asked("self-rag", answer) == asked("self-rag", expand));
}

}  // namespace prompts_test
