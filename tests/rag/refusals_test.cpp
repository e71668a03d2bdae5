#include <espalier/rag/refusals.hpp>

#include <doctest/doctest.h>

namespace refusals_test {

using namespace espalier;

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

}  // namespace refusals_test
