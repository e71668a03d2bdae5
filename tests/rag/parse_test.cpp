#include <espalier/method/decex/prompts.hpp>
#include <espalier/rag/parse.hpp>

#include <doctest/doctest.h>

namespace parse_test {

using namespace espalier;
using rag::ModelText;

namespace {

/// "tag|content|thought" of what is read, or "none". A bare reply has no tag.
std::string read(const std::string& text, const Protocol& protocol, const char* purpose) {
  const auto reply = rag::parse(ModelText(text), protocol, *protocol.purpose(purpose));
  return reply ? reply->tag + "|" + reply->content + "|" + reply->thought : "none";
}
std::string read(const std::string& text, const char* purpose) {
  return read(text, *method::decex_prompts().protocol(), purpose);
}

}  // namespace

TEST_CASE("a reply is its first complete tag of those that the purpose returns, and the words before it") {
  CHECK(read("<reasoning> both are known </reasoning> <answer> Paris </answer> and more <question>x</question>",
             "termination") == "answer|Paris|both are known");
  CHECK(read("<question>Who?</question><answer>Paris</answer>", "termination") == "question|Who?|");
  CHECK(read("t <search> a query </search>", "rollout") == "search|a query|t");
}

TEST_CASE(
    "the tag that is complete first wins, as it would at a server that stops there; marks that are only mentioned do "
    "not count") {
  CHECK(read("I could <search> but need not. <answer>Paris</answer>", "rollout") ==
        "answer|Paris|I could <search> but need not.");
  CHECK(read("I end with <answer> when done. <answer>Paris</answer>", "rollout") ==
        "answer|Paris|I end with <answer> when done.");
  CHECK(read("<answer>Paris</answer> <answer>Rome</answer>", "rollout") == "answer|Paris|");
  for (const char* rest : {" and more</question>", ""})
    CHECK(read(std::string("<question>x <answer>Paris</answer>") + rest, "termination") == "answer|Paris|<question>x");
  CHECK(read("</search> <answer>Paris</search>", "rollout") == "none");
}

TEST_CASE("tags of other methods, missing, empty and unclosed tags are no reply") {
  for (const char* text :
       {"", "   ", "Paris", "<answer></answer>", "<answer>  </answer>", "<answer>Paris", "</answer>Paris<answer>",
        "Finish(Paris)", "<subanswer>Paris</subanswer>", "\\boxed{Paris}", "<search>x</search>"})
    CHECK(read(text, "termination") == "none");
  CHECK(read("<question>x</question>", "rollout") == "none");
}

TEST_CASE(
    "a reasoning model's think block is part of the thought and never searched, also where the prompt's template wrote "
    "its opening mark") {
  for (const std::string mark : {"<think>", ""}) {
    CHECK(read(mark + " maybe <answer>Rome</answer>? </think> so <answer>Paris</answer>", "rollout") ==
          "answer|Paris|maybe <answer>Rome</answer>?\nso");
    CHECK(read(mark + "a</think> <think>or <search>b</search></think><answer>Paris</answer>", "rollout") ==
          "answer|Paris|a\nor <search>b</search>");
  }
  CHECK(read("</think><search>b</search>", "rollout") == "search|b|");
  CHECK(read("hm </think> a query", "sub_query") == "|a query|hm");
  CHECK(read("I could <search>b</search></think>", "rollout") == "none");
  CHECK(read("<search>b</search> <think> and </think>", "rollout") == "search|b|");  // opened behind the action
  for (const char* thought : {"a</think>", "</think>", "a</think><think>b"}) CHECK(rag::detail::only_thinks(thought));
  CHECK_FALSE(rag::detail::only_thinks("a</think> b"));
}

TEST_CASE(
    "of a think block that is never closed the action behind its last opening mark is read, if a mark of its own "
    "closes it") {
  CHECK(read("<think> I must look it up. <search>Rome</search>", "rollout") == "search|Rome|I must look it up.");
  CHECK(read("<think>a</think><think> perhaps <answer>b</answer> <think> c <answer>Paris</answer>", "rollout") ==
        "answer|Paris|a\nperhaps <answer>b</answer>\nc");
  for (const char* thought : {"<think> never ends", "<think>a</think>\n", "<think>a</think><think>b"})
    CHECK(rag::detail::only_thinks(thought));
  for (const char* more : {"", "a", "<think>a</think> b", "a <think>"}) CHECK_FALSE(rag::detail::only_thinks(more));
  CHECK(read("<think> never ends", "rollout") == "none");
  CHECK(read("<think> never ends <answer>Ro", "rollout") == "none");
  CHECK(read("<think> a query", "sub_query") == "none");  // a bare reply has no mark
  const Protocol lines{
      "m", {{"p", {}, {"question", "answer"}}}, {{"question", "Follow up:", "\n"}, {"answer", "", ""}}};
  CHECK(read("<think> so I ask. Follow up: who", lines, "p") == "none");
  CHECK(read("<think> so I ask. Follow up: who\n and", lines, "p") == "none");
}

TEST_CASE("a bare reply is its first line; one with a tag in it is none") {
  CHECK(read("\n  capital of France \nsecond line", "sub_query") == "|capital of France|");
  CHECK(read("<search>capital</search>", "sub_query") == "none");
  CHECK(read(" \n ", "sub_query") == "none");
}

TEST_CASE("what a model copied from a neutralised prompt is restored") {
  CHECK(read("<answer>a &lt; b &amp;lt; c</answer>", "forced_answer") == "answer|a < b &lt; c|");
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
  const auto said = [&](const char* purpose, const char* text) { return read(text, protocol, purpose); };
  CHECK(said("act", "Let me see. Search(Titanic (1997 film) director) and more") ==
        "search|Titanic (1997 film) director|Let me see.");
  CHECK(said("act", "Finish(Paris (France))") == "answer|Paris (France)|");
  CHECK(said("act", "Finish(Paris (France)") == "none");
  CHECK(said("ask", "Hm.\nFollow up: who is it?\nIntermediate answer: me") == "question|who is it?|Hm.");
  CHECK(said("ask", "Follow up: who is it?") == "question|who is it?|");
  CHECK(said("ask", "One line.\nAnd another.") == "sub_answer|One line.\nAnd another.|");
  CHECK(said("ask", "  ") == "none");
  CHECK(said("boxed", "so \\boxed{\\text{a} b}.") == "final|\\text{a} b|so");
}

}  // namespace parse_test
