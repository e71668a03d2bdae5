#include <espalier/method/decex/prompts.hpp>
#include <espalier/rag/parse.hpp>

#include <doctest/doctest.h>

namespace parse_test {

using namespace espalier;
using rag::ModelText;

namespace {

std::optional<rag::Reply> read(const std::string& text, const char* purpose) {
  const auto protocol = method::decex_prompts().protocol();
  return rag::parse(ModelText(text), *protocol, *protocol->purpose(purpose));
}

}  // namespace

TEST_CASE("a reply is its first complete tag of those that the purpose returns, and the words before it") {
  const auto reply =
      read("<reasoning> both are known </reasoning> <answer> Paris </answer> and more <question>x</question>",
           "termination");
  REQUIRE(reply);
  CHECK(reply->tag == "answer");
  CHECK(reply->content == "Paris");
  CHECK(reply->thought == "both are known");
  CHECK(read("<question>Who?</question><answer>Paris</answer>", "termination")->tag == "question");
  CHECK(read("t <search> a query </search>", "rollout")->content == "a query");
}

TEST_CASE(
    "the tag that is complete first wins, as it would at a server that stops there; marks that are only mentioned do "
    "not count") {
  CHECK(read("I could <search> but need not. <answer>Paris</answer>", "rollout")->content == "Paris");
  CHECK(read("I end with <answer> when done. <answer>Paris</answer>", "rollout")->content == "Paris");
  CHECK(read("<answer>Paris</answer> <answer>Rome</answer>", "rollout")->content == "Paris");
  for (const char* rest : {" and more</question>", ""}) {
    const auto nested = read(std::string("<question>x <answer>Paris</answer>") + rest, "termination");
    REQUIRE(nested);
    CHECK(nested->tag == "answer");
    CHECK(nested->content == "Paris");
  }
  CHECK_FALSE(read("</search> <answer>Paris</search>", "rollout"));
}

TEST_CASE("tags of other methods, missing, empty and unclosed tags are no reply") {
  for (const char* text : {"", "   ", "Paris", "<answer></answer>", "<answer>  </answer>", "<answer>Paris",
                           "</answer>Paris<answer>", "Finish(Paris)", "<subanswer>Paris</subanswer>", "\\boxed{Paris}"})
    CHECK_FALSE(read(text, "termination"));
  CHECK_FALSE(read("<search>x</search>", "termination"));
  CHECK_FALSE(read("<question>x</question>", "rollout"));
}

TEST_CASE("a reasoning model's think block is part of the thought and never searched") {
  const auto reply = read("<think> maybe <answer>Rome</answer>? </think> so <answer>Paris</answer>", "rollout");
  REQUIRE(reply);
  CHECK(reply->content == "Paris");
  CHECK(reply->thought == "maybe <answer>Rome</answer>?\nso");
  const auto twice = read("<think>a</think> <think>or <search>b</search></think><answer>Paris</answer>", "rollout");
  REQUIRE(twice);
  CHECK(twice->content == "Paris");
  CHECK(twice->thought == "a\nor <search>b</search>");
}

TEST_CASE("what stands before a closing mark is a thought, though the prompt's template wrote the opening one") {
  const auto one = read(" maybe <answer>Rome</answer>? </think> so <answer>Paris</answer>", "rollout");
  REQUIRE(one);
  CHECK(one->content == "Paris");
  CHECK(one->thought == "maybe <answer>Rome</answer>?\nso");
  const auto two = read("a</think><think>or <search>b</search></think><answer>Paris</answer>", "rollout");
  REQUIRE(two);
  CHECK(two->content == "Paris");
  CHECK(two->thought == "a\nor <search>b</search>");
  CHECK(read("</think><search>b</search>", "rollout")->content == "b");
  CHECK(read("hm </think> a query", "sub_query")->content == "a query");
  CHECK_FALSE(read("I could <search>b</search></think>", "rollout"));
  CHECK(read("<search>b</search> <think> and </think>", "rollout")->content == "b");  // opened behind the action
  for (const char* thought : {"a</think>", "</think>", "a</think><think>b"}) CHECK(rag::detail::only_thinks(thought));
  CHECK_FALSE(rag::detail::only_thinks("a</think> b"));
}

TEST_CASE(
    "of a think block that is never closed the action behind its last opening mark is read, if a mark of its own "
    "closes it") {
  const auto one = read("<think> I must look it up. <search>Rome</search>", "rollout");
  REQUIRE(one);
  CHECK(one->tag == "search");
  CHECK(one->content == "Rome");
  CHECK(one->thought == "I must look it up.");
  const auto two =
      read("<think>a</think><think> perhaps <answer>b</answer> <think> c <answer>Paris</answer>", "rollout");
  REQUIRE(two);
  CHECK(two->content == "Paris");
  CHECK(two->thought == "a\nperhaps <answer>b</answer>\nc");
  CHECK_FALSE(read("<think> never ends", "rollout"));
  for (const char* thought : {"<think> never ends", "<think>a</think>\n", "<think>a</think><think>b"})
    CHECK(rag::detail::only_thinks(thought));
  for (const char* more : {"", "a", "<think>a</think> b", "a <think>"}) CHECK_FALSE(rag::detail::only_thinks(more));
  CHECK_FALSE(read("<think> never ends <answer>Ro", "rollout"));
  CHECK_FALSE(read("<think> a query", "sub_query"));  // a bare reply has no mark
  const Protocol lines{
      "m", {{"p", {}, {"question", "answer"}}}, {{"question", "Follow up:", "\n"}, {"answer", "", ""}}};
  CHECK_FALSE(parse(ModelText("<think> so I ask. Follow up: who"), lines, *lines.purpose("p")));
  CHECK_FALSE(parse(ModelText("<think> so I ask. Follow up: who\n and"), lines, *lines.purpose("p")));
}

TEST_CASE("a bare reply is its first line; one with a tag in it is none") {
  CHECK(read("\n  capital of France \nsecond line", "sub_query")->content == "capital of France");
  CHECK_FALSE(read("<search>capital</search>", "sub_query"));
  CHECK_FALSE(read(" \n ", "sub_query"));
}

TEST_CASE("what a model copied from a neutralised prompt is restored") {
  CHECK(read("<answer>a &lt; b &amp;lt; c</answer>", "forced_answer")->content == "a < b &lt; c");
}

TEST_CASE(
    "brackets are balanced, a line ends with the text, a tag without marks takes the whole reply if no other does") {
  const Protocol protocol{
      "m",
      {{"act", {}, {"search", "answer"}}, {"ask", {}, {"question", "sub_answer"}}, {"boxed", {}, {"final"}}},
      {{"search", "Search(", ")"},
       {"answer", "Finish(", ")"},
       {"question", "Follow up:", "\n"},
       {"sub_answer", "", ""},
       {"final", "\\boxed{", "}"}}};
  const auto read = [&](const char* purpose, const char* text) {
    const auto reply = parse(ModelText(text), protocol, *protocol.purpose(purpose));
    return reply ? reply->tag + "|" + reply->content + "|" + reply->thought : "none";
  };
  CHECK(read("act", "Let me see. Search(Titanic (1997 film) director) and more") ==
        "search|Titanic (1997 film) director|Let me see.");
  CHECK(read("act", "Finish(Paris (France))") == "answer|Paris (France)|");
  CHECK(read("act", "Finish(Paris (France)") == "none");
  CHECK(read("ask", "Hm.\nFollow up: who is it?\nIntermediate answer: me") == "question|who is it?|Hm.");
  CHECK(read("ask", "Follow up: who is it?") == "question|who is it?|");
  CHECK(read("ask", "One line.\nAnd another.") == "sub_answer|One line.\nAnd another.|");
  CHECK(read("ask", "  ") == "none");
  CHECK(read("boxed", "so \\boxed{\\text{a} b}.") == "final|\\text{a} b|so");
}

}  // namespace parse_test
