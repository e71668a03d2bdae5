#include <espalier/rag/state.hpp>

#include <doctest/doctest.h>

namespace transcript_test {

using namespace espalier;
using namespace espalier::rag;

TEST_CASE("appending changes no other transcript and shares what came before") {
  const Transcript root;
  const Transcript a = root.append(Segment(SegmentKind::thought, ModelText("a")));
  const Transcript b = a.append(Segment(SegmentKind::query, ModelText("b"))),
                   c = a.append(Segment(SegmentKind::answer, ModelText("c")));
  CHECK(root.segments().empty());
  REQUIRE(b.segments().size() == 2);
  REQUIRE(c.segments().size() == 2);
  CHECK(b.segments()[0] == c.segments()[0]);
  CHECK(c.last()->model_text()->str() == "c");
  CHECK(b.since(a).size() == 1);
  CHECK(b.since(root).size() == 2);
  CHECK(b.since(b).empty());
}

TEST_CASE("a transcript of 100,000 segments is read and destroyed without recursion") {
  Transcript transcript;
  Transcript middle;
  for (int i = 0; i < 100000; ++i) {
    transcript = transcript.append(Segment(SegmentKind::thought, ModelText(std::to_string(i))));
    if (i == 60000 - 1) middle = transcript;
  }
  CHECK(transcript.segments().size() == 100000);
  CHECK(transcript.since(middle).size() == 40000);
  CHECK(transcript.since(middle).front()->model_text()->str() == "60000");
}

TEST_CASE("a state counts rounds and retrievals and knows its open sub-question and its answer") {
  State state(Question{"q", "Who?"});
  CHECK(state.open_sub_question() == nullptr);
  state = state.with(Segment(SegmentKind::sub_question, ModelText("Which?")));
  REQUIRE(state.open_sub_question());
  CHECK(*state.open_sub_question() == "Which?");
  const State known = state.with(Segment(SegmentKind::own_answer, ModelText("this")));
  const State found = state.with(Segment(SegmentKind::query, ModelText("which"))).with(Segment(Passages()));
  CHECK(known.iterations() == 1);
  CHECK(known.retrievals() == 0);
  CHECK(found.iterations() == 1);
  CHECK(found.retrievals() == 1);
  CHECK_FALSE(found.answer());
  CHECK(found.with(Segment(SegmentKind::answer, ModelText("it"))).answer() == "it");
}

TEST_CASE("a search without gold cannot be rewarded by it") {
  const State state(Question{"q7", "Who?"});
  CHECK_FALSE(state.has_gold());
  CHECK_THROWS_WITH_AS((void)state.gold(), "question 'q7' has no gold answer: choose a reward that needs none",
                       std::invalid_argument);
}

}  // namespace transcript_test
