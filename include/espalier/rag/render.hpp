#pragma once

#include <espalier/llm/prompt.hpp>
#include <espalier/rag/transcript.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::rag {

namespace detail {

struct Reference {
  char character;
  std::string_view text;
};
inline constexpr std::array<Reference, 4> references{{{'<', "&lt;"}, {'[', "&#91;"}, {'#', "&#35;"}, {'&', "&amp;"}}};

/// If a '[' before this text begins a control token.
inline bool names_control(std::string_view rest) {
  if (rest.starts_with('/')) rest.remove_prefix(1);
  int capitals = 0;
  for (const char c : rest) {
    if (c == ']') return capitals >= 3;
    const bool capital = c >= 'A' && c <= 'Z', other = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (!capital && !other) return false;
    capitals += capital;
  }
  return false;
}

/// If this character begins a mark, given what stands behind it.
inline bool begins_mark(char c, std::string_view rest) {
  if (c == '<') return true;
  if (c == '[') return names_control(rest);
  if (c == '#') return rest.starts_with("##");
  const auto refers = [&](const Reference& reference) { return rest.starts_with(reference.text.substr(1)); };
  return c == '&' && std::any_of(references.begin(), references.end(), refers);
}

/// Neutralises text of documents and models for a prompt. A character that begins a mark becomes a reference to it, so
/// no mark can come from inside it (docs page "concepts"). Ordinary text is unchanged. restore() undoes it.
inline std::string neutralise(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!begins_mark(text[i], text.substr(i + 1))) out += text[i];
    else
      for (const Reference& reference : references)
        if (reference.character == text[i]) out += reference.text;
  }
  return out;
}

/// The inverse, for display and for what a model copied from a prompt.
inline std::string restore(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t taken = 1;
    char character = text[0];
    if (character == '&')
      for (const Reference& reference : references)
        if (text.starts_with(reference.text)) {
          taken = reference.text.size();
          character = reference.character;
        }
    out += character;
    text.remove_prefix(taken);
  }
  return out;
}

/// Appends a template. put(name) writes what {name} stands for, or returns false for plain text. No name holds a brace.
void fill(std::string& out, std::string_view form, const auto& put) {
  for (std::size_t i = 0; i < form.size();) {
    const std::size_t next = std::min(form.find_first_of("{}", i + 1), form.size());
    const bool named = form[i] == '{' && next < form.size() && form[next] == '}';
    if (named && put(form.substr(i + 1, next - i - 1))) i = next + 1;
    else out.append(form, i, next - i), i = next;
  }
}

/// The role of a kind of segment in histories.
inline const char* role(SegmentKind kind) {
  if (kind == SegmentKind::query) return "search";
  return kind == SegmentKind::documents ? "information" : name(kind);
}

}  // namespace detail

/// Text for a prompt, with the positions of its parts.
struct Rendering {
  std::string text;
  std::vector<PromptBody::Span> spans;

  /// Appends neutralised text under a span name.
  void add(std::string_view span, std::string_view content) {
    const std::string safe = detail::neutralise(content);
    spans.push_back({std::string(span), static_cast<std::uint32_t>(text.size()),
                     static_cast<std::uint32_t>(text.size() + safe.size())});
    text += safe;
  }
  void add(const Rendering& other) {
    const auto offset = static_cast<std::uint32_t>(text.size());
    for (const auto& span : other.spans) spans.push_back({span.name, span.begin + offset, span.end + offset});
    text += other.text;
  }
};

/// A plain text as a slot's value.
inline Rendering render_text(std::string_view text) {
  Rendering out;
  out.text = detail::neutralise(text);
  return out;
}

/// Alternative texts, such as gold answers, as a slot's value.
inline Rendering render_text(const std::vector<std::string>& texts) {
  Rendering out;
  for (const std::string& text : texts) out.text += (out.text.empty() ? "" : " / ") + detail::neutralise(text);
  return out;
}

/// Documents in the order of their rank, each by the protocol's template. Its span "document" begins at the title.
inline Rendering render_documents(const Passages& documents, const Protocol& protocol) {
  Rendering out;
  std::size_t rank = 0;
  for (const Passage& passage : documents) {
    ++rank;
    PromptBody::Span whole{"document", 0, 0};
    bool titled = false;
    detail::fill(out.text, protocol.document, [&](std::string_view slot) {
      if (slot == "title" && !std::exchange(titled, true)) whole.begin = static_cast<std::uint32_t>(out.text.size());
      if (slot == "rank") out.text += std::to_string(rank);
      else if (slot == "title") out.text += detail::neutralise(passage.title());
      else if (slot == "text") out.text += detail::neutralise(passage.text());
      else return false;
      if (slot == "text") whole.end = static_cast<std::uint32_t>(out.text.size());
      return true;
    });
    out.spans.push_back(std::move(whole));
  }
  if (documents.empty()) out.text += "No documents were found.\n";
  return out;
}

/// The transcript as a history, one block per segment. The marks are those of the tag "history." + role, else of the
/// tag for the role, else plain words. Hidden roles are left out. Each text is a span named after its kind.
inline Rendering render_history(const Transcript& transcript, const Protocol& protocol) {
  Rendering out;
  std::size_t sub_questions = 0;
  for (const Segment* segment : transcript.segments()) {
    const SegmentKind kind = segment->kind();
    if (std::ranges::find(protocol.hidden, detail::role(kind)) != protocol.hidden.end()) continue;
    const Protocol::Tag* own = protocol.tag(std::string("history.") + detail::role(kind));
    const Protocol::Tag* marks = own ? own : protocol.tag(detail::role(kind));
    const Protocol::Tag tag = marks ? *marks : Protocol::Tag{detail::role(kind), "", ""};
    if (kind == SegmentKind::documents) {
      if (!tag.open.empty()) out.text += tag.open + "\n";
      out.add(render_documents(*segment->documents(), protocol));
      if (!tag.close.empty()) out.text += tag.close + (tag.close == "\n" ? "" : "\n");
      continue;
    }
    std::string before = tag.open, after = tag.close;
    if (!before.empty() && before.find_last_of("([{") != before.size() - 1) {
      before += ' ';
      if (after != "\n") after.insert(0, " ");
    }
    if (!after.ends_with('\n')) after += '\n';
    if (!marks && kind == SegmentKind::sub_question) before = "Sub-question " + std::to_string(++sub_questions) + ": ";
    if (!marks && kind == SegmentKind::own_answer) before = "Answer from own knowledge: ";
    if (!marks && kind == SegmentKind::sub_answer) before = "Answer: ";
    out.text += before;
    out.add(name(kind), segment->words());
    out.text += after;
  }
  if (out.text.empty()) out.text = "(nothing yet)\n";
  return out;
}

}  // namespace espalier::rag
