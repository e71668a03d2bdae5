#include <espalier/rag/render.hpp>

#include <doctest/doctest.h>

namespace render_test {

using namespace espalier;
using namespace espalier::rag;

namespace {

Transcript every_kind() {
  const auto said = [](SegmentKind kind, const char* text) { return Segment(kind, ModelText(text)); };
  return Transcript()
      .append(said(SegmentKind::queries, "a?\nb?"))
      .append(said(SegmentKind::sub_question, "who"))
      .append(said(SegmentKind::query, "who (early)"))
      .append(Segment(Passages{Passage("1", "T<", "x"), Passage("2", "U", "y")}))
      .append(said(SegmentKind::sub_answer, "her"))
      .append(Segment(Segment::Notice("be brief")))
      .append(said(SegmentKind::answer, "she"));
}

}  // namespace

TEST_CASE("a history without tags is plain lines") {
  const Protocol plain{"m", {}, {}};
  CHECK(
      render_history(every_kind(), plain).text ==
      "a?\nb?\nSub-question 1: who\nwho (early)\nDocs 1: \"T&lt;\"\nx\nDocs 2: \"U\"\ny\nAnswer: her\nbe brief\nshe\n");
}

TEST_CASE(
    "a history stands in the marks of the protocol, its documents in the protocol's form, without what it hides") {
  Protocol protocol{"m",
                    {},
                    {{"sub_question", "Follow up:", "\n"},
                     {"search", "Search[", "]"},
                     {"information", "<docs>", "</docs>"},
                     {"sub_answer", "<sub>", "</sub>"},
                     {"answer", "Finish(", ")"}}};
  protocol.document = "Doc {rank}(Title: {title}) {text}\n";
  protocol.hidden = {"notice", "queries"};
  const Rendering out = render_history(every_kind(), protocol);
  CHECK(out.text ==
        "Follow up: who\nSearch[who (early)]\n<docs>\nDoc 1(Title: T&lt;) x\nDoc 2(Title: U) y\n</docs>\n<sub> her "
        "</sub>\nFinish(she)\n");
  std::vector<std::string> spans;
  for (const PromptBody::Span& span : out.spans)
    spans.push_back(span.name + "=" + out.text.substr(span.begin, span.end - span.begin));
  CHECK(spans == std::vector<std::string>{"sub_question=who", "query=who (early)", "document=T&lt;) x", "document=U) y",
                                          "sub_answer=her", "answer=she"});
}

TEST_CASE("a slot is filled wherever it stands, other braces are plain text, and each byte is offered once") {
  std::size_t offered = 0;
  const auto filled = [&](std::string_view form) {
    std::string out;
    rag::detail::fill(out, form, [&](std::string_view name) {
      offered += name.size();
      if (name == "a") out += "1";
      return name == "a";
    });
    return out;
  };
  CHECK(filled("{a}, {{a}} and {b} {a {a}}{") == "1, {1} and {b} {a 1}{");
  CHECK(filled("") == "");
  const std::string hostile = std::string(50'000, '{') + "x}";
  offered = 0;
  CHECK(filled(hostile) == hostile);
  CHECK(offered <= hostile.size());
}

TEST_CASE("a retriever that found nothing says so") {
  const Protocol plain{"m", {}, {}};
  CHECK(render_documents(Passages(), plain).text == "No documents were found.\n");
}

}  // namespace render_test
