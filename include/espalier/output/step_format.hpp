#pragma once

#include <espalier/core/protocol.hpp>
#include <espalier/rag/render.hpp>
#include <espalier/rag/state.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

/// The step schema (ProRAG, section 3.1): (thought and query, documents, thought and conclusion)* thought and answer.
namespace espalier::output {

/// A step in the marks of the protocol, as histories show it, without a line end behind it.
inline std::string step_text(const rag::Action& action, const Protocol& protocol) {
  rag::Transcript step;
  if (!action.thought.empty()) step = step.append(rag::Segment(rag::SegmentKind::thought, rag::ModelText(action.thought)));
  std::string text = rag::render_history(step.append(rag::Segment(action.kind, rag::ModelText(action.text))), protocol).text;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// Whether a step keeps the schema after a segment (null = at the start): it has a thought and words, concludes after
/// documents and only there, and nothing comes after an answer.
inline bool well_formed(const rag::Action& action, const rag::Segment* before) {
  using enum rag::SegmentKind;
  if (action.thought.empty() || action.text.empty() || (before && before->kind() == answer)) return false;
  const bool concludes = before && before->kind() == documents;
  return concludes ? action.kind == sub_answer : action.kind == query || action.kind == answer;
}
/// Whether a node's step keeps the schema where it stands.
inline bool well_formed(const rag::Tree& tree, NodeId id) {
  return tree[id].reason != Reason::malformed && well_formed(tree.action(id), tree.state(tree[id].parent).transcript().last());
}
/// Whether a whole path keeps the schema, to its answer.
inline bool well_formed_path(const rag::Tree& tree, NodeId end) {
  const auto path = tree.path(end);
  return tree.state(end).answer() && std::all_of(path.begin() + 1, path.end(), [&](NodeId id) { return well_formed(tree, id); });
}

/// Reads texts in a protocol's marks, for trajectories that no tree holds. What stands in an information block is skipped
/// unread: no mark in it counts.
class StepFormat {
 public:
  explicit StepFormat(const Protocol& protocol) : protocol_(&protocol) {}

  /// Whether a text is exactly a thought and one query, conclusion or answer, each with words and no mark inside.
  [[nodiscard]] bool step(std::string_view text) const { return !take_step(text).empty() && blank(text); }

  /// Whether a text keeps the schema from the first step to an answer at its end.
  [[nodiscard]] bool trajectory(std::string_view text) const {
    bool concludes = false;
    for (;;) {
      const std::string_view role = take_step(text);
      if (role.empty() || concludes != (role == "sub_answer")) return false;
      if (role == "answer") return blank(text);
      concludes = role == "search";
      if (concludes && !take_information(text)) return false;
    }
  }

 private:
  static constexpr std::array<std::string_view, 3> actions{"search", "sub_answer", "answer"};
  static bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }
  static void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size())); }

  /// Takes a marked piece from the front; false if it is not there, is empty or holds a mark.
  [[nodiscard]] bool take(std::string_view role, std::string_view& text) const {
    const Tag* tag = protocol_->tag(role);
    skip_blanks(text);
    if (!tag || tag->open.empty() || !text.starts_with(tag->open)) return false;
    const std::string_view rest = text.substr(tag->open.size());
    const std::size_t end = rest.find(tag->close);
    if (end == std::string_view::npos || blank(rest.substr(0, end)) || marked(rest.substr(0, end))) return false;
    text = rest.substr(end + tag->close.size());
    return true;
  }
  [[nodiscard]] bool marked(std::string_view text) const {
    return std::any_of(protocol_->tags.begin(), protocol_->tags.end(), [&](const Tag& tag) {
      return (tag.open.size() > 1 && text.find(tag.open) != std::string_view::npos) || (tag.close.size() > 1 && text.find(tag.close) != std::string_view::npos);
    });
  }
  /// Takes a thought and an action; the action's role, empty if there is none.
  [[nodiscard]] std::string_view take_step(std::string_view& text) const {
    if (!take("thought", text)) return {};
    for (const std::string_view role : actions)
      if (take(role, text)) return role;
    return {};
  }
  [[nodiscard]] bool take_information(std::string_view& text) const {
    const Tag* tag = protocol_->tag("information");
    skip_blanks(text);
    if (!tag || !text.starts_with(tag->open)) return false;
    const std::size_t end = text.find(tag->close, tag->open.size());
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + tag->close.size());
    return true;
  }

  const Protocol* protocol_;
};

}  // namespace espalier::output
