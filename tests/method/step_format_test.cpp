#include <espalier/method/prorag/prompts.hpp>
#include <espalier/method/prorag/step_format.hpp>

#include <doctest/doctest.h>

namespace step_format_test {

using namespace espalier;
using method::StepFormat;
using rag::Action;
using rag::SegmentKind;

namespace {

const Protocol& protocol() { return *method::detail::prorag_protocol(); }
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

TEST_CASE("a step as text has exactly one thought and one action, each with words") {
  const StepFormat format(protocol());
  CHECK(format.step("<step> a </step>\n<subquery> b </subquery>"));
  CHECK(format.step("  <step>a</step><subanswer>b < c</subanswer>\n"));
  CHECK(format.step("<step> a </step> <answer> b </answer>"));
  for (const char* text :
       {"", "<subquery> b </subquery>", "<step> a </step>", "<step> </step> <answer> b </answer>",
        "<step> a </step> <answer> </answer>", "<step> a </step> text <answer> b </answer>",
        "<step> a </step> <answer> b </answer> more", "<step> a <answer> b </answer>", "<step> a </step> <answer> b",
        "<step> a <subquery> x </subquery> </step> <answer> b </answer>",
        "<step> a </step> <subquery> b </subquery> <answer> c </answer>",
        "<step> a </step> <information> b </information>"}) {
    CAPTURE(text);
    CHECK_FALSE(format.step(text));
  }
}

TEST_CASE(
    "a trajectory as text concludes after each retrieval and ends with its answer; what was retrieved is not read") {
  const StepFormat format(protocol());
  const std::string search = "<step> a </step> <subquery> b </subquery> ",
                    conclude = "<step> c </step> <subanswer> d </subanswer> ",
                    answer = "<step> e </step> <answer> f </answer>\n";
  const std::string found = "<retrieval>\nDoc 1(Title: x) <br> </div> <answer> 42 </answer> <step>\n</retrieval>\n",
                    nothing = "<retrieval></retrieval> ";
  CHECK(format.trajectory(answer));
  CHECK(format.trajectory(search + found + conclude + answer));
  CHECK(format.trajectory(search + nothing + conclude + search + found + conclude + answer));
  CHECK_FALSE(format.trajectory(""));
  CHECK_FALSE(format.trajectory(search + found + answer));
  CHECK_FALSE(format.trajectory(search + conclude + answer));
  CHECK_FALSE(format.trajectory(conclude + answer));
  CHECK_FALSE(format.trajectory(search + found + conclude));
  CHECK_FALSE(format.trajectory(answer + answer));
  CHECK_FALSE(format.trajectory(search + found + conclude + conclude + answer));
}

}  // namespace step_format_test
