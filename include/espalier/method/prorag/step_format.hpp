#pragma once

#include <espalier/core/protocol.hpp>
#include <espalier/rag/parse.hpp>
#include <espalier/rag/render.hpp>
#include <espalier/rag/state.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The step schema (ProRAG, section 3.1): (thought and query, documents, thought and conclusion)* thought and answer.
namespace espalier::method {

namespace detail {

/// A step in the protocol's marks, as histories show it, without the final line end.
inline std::string step_text(const rag::Action& action, const Protocol& protocol) {
  rag::Transcript step;
  if (!action.thought.empty())
    step = step.append(rag::Segment(rag::SegmentKind::thought, rag::ModelText(action.thought)));
  std::string text =
      rag::render_history(step.append(rag::Segment(action.kind, rag::ModelText(action.text))), protocol).text;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// True if a step keeps the schema after a segment (null = at the start). It must have a thought and a text. It must be
/// a conclusion after documents and only there. Nothing may follow an answer.
inline bool well_formed(const rag::Action& action, const rag::Segment* before) {
  using enum rag::SegmentKind;
  if (action.thought.empty() || action.text.empty() || (before && before->kind() == answer)) return false;
  const bool concludes = before && before->kind() == documents;
  return concludes ? action.kind == sub_answer : action.kind == query || action.kind == answer;
}
/// True if a node's step keeps the schema at its place.
inline bool well_formed(const rag::Tree& tree, NodeId id) {
  return tree[id].reason != Reason::malformed &&
         well_formed(tree.action(id), tree.state(tree[id].parent).transcript().last());
}
/// True if a whole path keeps the schema up to its answer.
inline bool well_formed_path(const rag::Tree& tree, NodeId end) {
  const auto path = tree.path(end);
  return tree.state(end).answer() &&
         std::all_of(path.begin() + 1, path.end(), [&](NodeId id) { return well_formed(tree, id); });
}

/// Reads texts in a protocol's marks, for trajectories that no tree holds.
class StepFormat {
 public:
  explicit StepFormat(const Protocol& protocol) : protocol_(&protocol) {}

  /// A step found in a text.
  struct Step {
    std::string_view role;  ///< search, sub_answer or answer, "" = none
    std::string thought, text;
  };
  /// The steps that a text consists of, without documents between them. Empty if it holds anything else.
  [[nodiscard]] std::vector<Step> steps(std::string_view text) const {
    std::vector<Step> all;
    for (Step next = take_step(text); !next.role.empty(); next = take_step(text)) all.push_back(std::move(next));
    return blank(text) ? all : std::vector<Step>();
  }

 private:
  static constexpr std::array<std::string_view, 3> actions{"search", "sub_answer", "answer"};
  static bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }
  static void skip_blanks(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  }

  /// Removes a marked piece from the front and returns it. Empty if it is missing, blank or contains a mark.
  [[nodiscard]] std::string take(std::string_view role, std::string_view& text) const {
    const Protocol::Tag* tag = protocol_->tag(role);
    std::string_view rest = text;
    skip_blanks(rest);
    if (!tag || tag->open.empty() || !rest.starts_with(tag->open)) return {};
    rest.remove_prefix(tag->open.size());
    const std::size_t end = rest.find(tag->close);
    if (end == std::string_view::npos || blank(rest.substr(0, end)) || marked(rest.substr(0, end))) return {};
    text = rest.substr(end + tag->close.size());
    return std::string(rag::detail::trim(rest.substr(0, end)));
  }
  [[nodiscard]] bool marked(std::string_view text) const {
    return std::any_of(protocol_->tags.begin(), protocol_->tags.end(), [&](const Protocol::Tag& tag) {
      return (tag.open.size() > 1 && text.find(tag.open) != std::string_view::npos) ||
             (tag.close.size() > 1 && text.find(tag.close) != std::string_view::npos);
    });
  }
  /// Removes a thought and an action from the front. Nothing is removed if they are not there.
  [[nodiscard]] Step take_step(std::string_view& text) const {
    std::string_view rest = text;
    Step step{{}, take("thought", rest), {}};
    if (step.thought.empty()) return step;
    for (const std::string_view role : actions) {
      step.text = take(role, rest);
      if (step.text.empty()) continue;
      step.role = role;
      text = rest;
      break;
    }
    return step;
  }

  const Protocol* protocol_;
};

}  // namespace detail

}  // namespace espalier::method
