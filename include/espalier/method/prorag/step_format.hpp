#pragma once

#include <espalier/llm/protocol.hpp>
#include <espalier/rag/parse.hpp>
#include <espalier/rag/render.hpp>
#include <espalier/rag/state.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The step schema (ProRAG, section 3.1): (thought and query, documents, thought and conclusion)* thought and answer.
namespace espalier::method::detail {

/// A step in the protocol's marks, as histories show it, without the final line end.
inline std::string step_text(const rag::Action& action, const Protocol& protocol) {
  std::string text = rag::render_history(rag::State().with(action).transcript(), protocol).text;
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

/// A step in a text.
struct ToldStep {
  std::string_view role;  ///< of its action
  std::string thought, text;
};
/// The steps, each a thought and an action, of which a text in a protocol's marks consists. Empty if it holds more.
inline std::vector<ToldStep> told_steps(std::string_view text, const Protocol& protocol) {
  const auto marked = [&](std::string_view piece) {
    return std::any_of(protocol.tags.begin(), protocol.tags.end(), [&](const Protocol::Tag& tag) {
      return (!tag.open.empty() && piece.find(tag.open) != piece.npos) ||
             (!tag.close.empty() && piece.find(tag.close) != piece.npos);
    });
  };
  std::vector<ToldStep> steps;
  std::string thought;
  for (text = rag::detail::trim(text); !text.empty(); text = rag::detail::trim(text)) {
    const auto tag = std::find_if(protocol.tags.begin(), protocol.tags.end(),
                                  [&](const Protocol::Tag& t) { return !t.open.empty() && text.starts_with(t.open); });
    const std::size_t end = tag == protocol.tags.end() ? text.npos : text.find(tag->close);
    if (end == text.npos) return {};
    const std::string_view piece = rag::detail::trim(text.substr(tag->open.size(), end - tag->open.size()));
    const bool thinks = tag->name == "thought";
    if (piece.empty() || marked(piece) || thinks != thought.empty()) return {};
    if (thinks) thought = piece;
    else steps.push_back({tag->name, std::exchange(thought, {}), std::string(piece)});
    text.remove_prefix(end + tag->close.size());
  }
  return thought.empty() ? steps : std::vector<ToldStep>();
}

}  // namespace espalier::method::detail
