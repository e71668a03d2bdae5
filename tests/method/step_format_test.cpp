#include <espalier/method/prorag/prompts.hpp>
#include <espalier/method/prorag/step_format.hpp>

#include <doctest/doctest.h>

namespace step_format_test {

using namespace espalier;
using rag::Action;
using rag::SegmentKind;

namespace {

const Protocol& protocol() {
  static const rag::PromptSet prompts = method::prorag_prompts();
  return *prompts.protocol();
}
rag::Segment words(SegmentKind kind) { return {kind, rag::ModelText("w")}; }

}  // namespace

TEST_CASE("a step is text in its marks, a thought and an action") {
  CHECK(method::detail::step_text(Action(SegmentKind::query, "who < what", "So.", ""), protocol()) ==
        "<step> So. </step>\n<subquery> who &lt; what </subquery>");
  CHECK(method::detail::step_text(Action(SegmentKind::answer, "Rome", "", ""), protocol()) ==
        "<answer> Rome </answer>");
}

TEST_CASE("steps keep the schema by what they are and what stands before them") {
  using enum SegmentKind;
  const rag::Segment found(Passages{Passage("d", "T", "t", 1)}), concluded = words(sub_answer),
                                                                 answered = words(answer);
  const auto ok = [](SegmentKind kind, const rag::Segment* before) {
    return method::detail::well_formed(Action(kind, "w", "thought", ""), before);
  };
  CHECK(ok(query, nullptr));
  CHECK(ok(answer, nullptr));
  CHECK_FALSE(ok(sub_answer, nullptr));  // nothing was found yet
  CHECK(ok(sub_answer, &found));
  CHECK_FALSE(ok(query, &found));
  CHECK_FALSE(ok(answer, &found));
  CHECK(ok(query, &concluded));
  CHECK(ok(answer, &concluded));
  CHECK_FALSE(ok(sub_answer, &concluded));
  for (const auto kind : {query, sub_answer, answer}) CHECK_FALSE(ok(kind, &answered));
  CHECK_FALSE(method::detail::well_formed(Action(query, "w", "", ""), nullptr));
  CHECK_FALSE(method::detail::well_formed(Action(query, "", "thought", ""), nullptr));
}

TEST_CASE("steps as text have a thought and an action each, both with words, and nothing else") {
  const auto count = [](const char* text) { return method::detail::told_steps(text, protocol()).size(); };
  CHECK(count("<step> a </step>\n<subquery> b </subquery>") == 1);
  CHECK(count("  <step>a</step><subanswer>b < c</subanswer>\n") == 1);
  CHECK(count("<step> a </step> <subquery> b </subquery> <step> c </step> <answer> d </answer>") == 2);
  for (const char* text :
       {"", "<subquery> b </subquery>", "<step> a </step>", "<step> </step> <answer> b </answer>",
        "<step> a </step> <answer> </answer>", "<step> a </step> text <answer> b </answer>",
        "<step> a </step> <answer> b </answer> more", "<step> a <answer> b </answer>", "<step> a </step> <answer> b",
        "<step> a <subquery> x </subquery> </step> <answer> b </answer>",
        "<step> a </step> <subquery> b </subquery> <answer> c </answer>",
        "<step> a </step> <information> b </information>"}) {
    CAPTURE(text);
    CHECK(count(text) == 0);
  }
}

}  // namespace step_format_test
