#pragma once

#include <espalier/core/prompt.hpp>
#include <espalier/rag/neutral.hpp>
#include <espalier/rag/transcript.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::rag {

/// Text for a prompt, with the places of its parts.
struct Rendering {
  std::string text;
  std::vector<Span> spans;

  /// Appends neutralised text under a span name.
  void add(std::string_view span, std::string_view content) {
    const std::string safe = neutralise(content);
    spans.push_back({std::string(span), static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(text.size() + safe.size())});
    text += safe;
  }
  /// Appends another rendering.
  void add(const Rendering& other) {
    const auto offset = static_cast<std::uint32_t>(text.size());
    for (const Span& span : other.spans) spans.push_back({span.name, span.begin + offset, span.end + offset});
    text += other.text;
  }
};

/// A plain text as a slot's value.
inline Rendering render_text(std::string_view text) {
  Rendering out;
  out.text = neutralise(text);
  return out;
}

/// Documents in the order of their rank: Docs i: "Title", then the text. One span "document" each.
inline void render_documents(Rendering& out, const Passages& documents) {
  std::size_t rank = 0;
  for (const Passage& passage : documents) {
    out.text += "Docs " + std::to_string(++rank) + ": ";
    out.add("document", '"' + passage.title() + "\"\n" + passage.text());
    out.text += '\n';
  }
  if (documents.empty()) out.text += "No documents were found.\n";
}

/// The transcript as a history: one block a segment; thoughts, queries, documents and answers in the protocol's tags
/// "thought", "search", "information" and "answer". What a model or a document wrote stands in a span named after its kind.
inline Rendering render_history(const Transcript& transcript, const Protocol& protocol) {
  const auto tag = [&](const char* role) { return protocol.tag(role) ? *protocol.tag(role) : Tag{role, "", ""}; };
  const Tag thought = tag("thought"), search = tag("search"), information = tag("information"), answer = tag("answer");
  Rendering out;
  std::size_t sub_questions = 0;
  for (const Segment* segment : transcript.segments()) {
    if (segment->kind() == SegmentKind::documents) {
      out.text += information.open + "\n";
      render_documents(out, *segment->documents());
      out.text += information.close + "\n";
      continue;
    }
    std::string before, after = "\n";
    switch (segment->kind()) {
      case SegmentKind::thought: before = thought.open + " ", after = " " + thought.close + "\n"; break;
      case SegmentKind::sub_question: before = "Sub-question " + std::to_string(++sub_questions) + ": "; break;
      case SegmentKind::own_answer: before = "Answer from own knowledge: "; break;
      case SegmentKind::query: before = search.open + " ", after = " " + search.close + "\n"; break;
      case SegmentKind::answer: before = answer.open + " ", after = " " + answer.close + "\n"; break;
      case SegmentKind::documents: break;
    }
    out.text += before;
    out.add(name(segment->kind()), segment->model_text()->str());
    out.text += after;
  }
  if (out.text.empty()) out.text = "(nothing yet)\n";
  return out;
}

}  // namespace espalier::rag
