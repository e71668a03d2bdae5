#include <espalier/method/decex/prompts.hpp>
#include <espalier/rag/parse.hpp>
#include <espalier/rag/refusals.hpp>

#include <doctest/doctest.h>

namespace parse_test {

using namespace espalier;
using namespace espalier::rag;
using namespace espalier::rag::detail;

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

TEST_CASE("scores are numbers in the declared range, as many as declared, and nothing else") {
  const Protocol::ScoreForm percent{0, 100, 1}, pair{-1, 1, 2};
  CHECK(read_scores("85", percent) == std::vector<double>{85});
  CHECK(read_scores(" 7.5\n", percent) == std::vector<double>{7.5});
  CHECK(read_scores("+0", percent) == std::vector<double>{0});
  CHECK(read_scores("-0.25 , 1", pair) == std::vector<double>{-0.25, 1});
  for (const char* text :
       {"", "85/100", "about 7", "seven", "nan", "inf", "101", "-1", "8 5", "85%", "85,", ",85", "85, 3", "1e400"}) {
    CAPTURE(text);
    CHECK_FALSE(read_scores(text, percent));
  }
  CHECK_FALSE(read_scores("0.5", pair));
  CHECK_FALSE(read_scores("0.5, 1.01", pair));
}

TEST_CASE("a judge's reply without readable scores is no reply") {
  const Protocol protocol{"m", {{"judge", {}, {"score"}, {0, 1, 1}}}, {{"score", "<score>", "</score>"}}};
  const auto read = [&](const char* text) { return parse(ModelText(text), protocol, *protocol.purpose("judge")); };
  CHECK(read("Good. <score> 0.75 </score>")->content == "0.75");
  CHECK_FALSE(read("<score>7.5</score>"));
  CHECK_FALSE(read("<score>3/4</score>"));
}

TEST_CASE("a preference is two different positions, or none") {
  const auto is = [](std::string_view text, std::size_t better, std::size_t worse) {
    CAPTURE(text);
    const auto read = read_preference(text);
    REQUIRE(read);
    CHECK(read->better == better);
    CHECK(read->worse == worse);
  };
  is("2 over 1", 2, 1);
  is("  10   over 3\n", 10, 3);
  is("2over1", 2, 1);
  is("none", 0, 0);
  is(" None ", 0, 0);
  for (const char* text : {"", "over", "2", "2 over", "over 1", "2 over 2", "0 over 1", "1 over 0", "-1 over 2",
                           "1.5 over 2", "1 over 2.5", "1 over 2 over 3", "first over second", "85/100", "nan over 1",
                           "none at all", "nonexistent", "99999999999999999999999 over 1", "1 > 2"}) {
    CAPTURE(text);
    CHECK_FALSE(read_preference(text));
  }
}

TEST_CASE("verdicts and choices are told by their first word") {
  CHECK(read_verdict("Yes, it is.") == true);
  CHECK(read_verdict(" (no)") == false);
  CHECK_FALSE(read_verdict("perhaps"));
  CHECK(read_choice("(b) two") == 'B');
  CHECK_FALSE(read_choice("both"));
}

TEST_CASE("an answer that says it does not know is told from a name that holds the same words") {
  const rag::Refusals refuses;
  for (const char* text : {"I don't know", "I don\xE2\x80\x99t know.", "I do not know who that was.",
                           "Sorry, I DON'T KNOW", "unknown", "Unknown.", "The year is unknown", "N/A", "I'm not sure",
                           "I cannot answer this", "There is not enough information"}) {
    CAPTURE(text);
    CHECK(refuses(text));
  }
  for (const char* text : {"Paris", "", "The Unknown Soldier", "Unknown Pleasures", "Nadia Comaneci", "no",
                           "I know it: Paris", "Knowles"}) {
    CAPTURE(text);
    CHECK_FALSE(refuses(text));
  }
}

TEST_CASE("the phrases are an option: own ones replace them, none switches them off") {
  const rag::Refusals own("weiss nicht; keine Ahnung ;");
  CHECK(own("Ich weiss nicht."));
  CHECK(own("Keine Ahnung"));
  CHECK_FALSE(own("I don't know"));
  for (const char* none : {"", " ; ;"}) CHECK_FALSE(rag::Refusals(none)("I don't know"));
}

TEST_CASE("only the proposals of the kind are closed, and none that is closed already") {
  std::vector<Proposal<rag::Action>> proposals;
  const auto add = [&](rag::SegmentKind kind, const char* text, Reason closed = Reason::none) {
    proposals.emplace_back(rag::Action(kind, text, "", text), static_cast<Kind>(kind), 1.0F, closed);
  };
  add(rag::SegmentKind::own_answer, "I don't know");
  add(rag::SegmentKind::own_answer, "Paris");
  add(rag::SegmentKind::query, "unknown");
  add(rag::SegmentKind::own_answer, "unknown", Reason::malformed);
  rag::Refusals().close(proposals, rag::SegmentKind::own_answer);
  CHECK(proposals[0].closed == Reason::refused);
  CHECK(proposals[1].closed == Reason::none);
  CHECK(proposals[2].closed == Reason::none);
  CHECK(proposals[3].closed == Reason::malformed);
}

}  // namespace parse_test
