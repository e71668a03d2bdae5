#pragma once

#include <espalier/core/tree.hpp>
#include <espalier/fmt/one_line.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/rag/state.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::detail {

inline constexpr int deepest_indent = 40;              ///< levels
inline constexpr std::size_t longest_node_text = 120;  ///< bytes

/// The numbers of a node after the name of its kind.
template <class Value>
std::string node_text(std::string_view kind, const Node<Value>& node) {
  std::string text = fmt::format("{}, visits {}", kind, node.visits);
  const auto out = std::back_inserter(text);
  if (node.visits > 0) fmt::format_to(out, ", value {:.4g}", double(utility(node.mean())));
  fmt::format_to(out, ", prior {:.4g}, {}", node.prior, output::detail::name(node.status));
  if (node.reason != Reason::none) fmt::format_to(out, " ({})", output::detail::name(node.reason));
  return text;
}
template <class Value>
std::string lone_node_text(const Node<Value>& node) {
  return node_text(fmt::format("kind {}", node.kind), node);
}

/// What a state or an action says: its question, its text, or what fmt makes of it. Nothing for other types.
template <class T>
std::optional<std::string> words_of(const T& part) {
  if constexpr (requires { std::string(part.question().text); }) return part.question().text;
  else if constexpr (requires { std::string(part.text); }) return part.text;
  else if constexpr (fmt::is_formattable<T>::value) return fmt::format("{}", part);
  else return std::nullopt;
}

/// The name of the kind of the action that led to a node. Only the kinds of RAG have names.
std::string kind_text(const auto& tree, NodeId id) {
  if (id == tree.root()) return "root";
  if constexpr (requires { rag::name(tree.action(id).kind); }) return rag::name(tree.action(id).kind);
  else return fmt::format("kind {}", tree[id].kind);
}

/// The tree in lines, one for each node. Children follow their parent, indented by two blanks.
std::string outline(const auto& tree) {
  std::string text;
  int depth = 0;
  for (NodeId id = tree.size() > 0 ? tree.root() : no_node; id != no_node;) {
    fmt::format_to(std::back_inserter(text), "{}{:{}}{} {}", text.empty() ? "" : "\n", "",
                   2 * std::min(depth, deepest_indent), id, node_text(kind_text(tree, id), tree[id]));
    std::optional<std::string> words;
    if (id != tree.root()) words = words_of(tree.action(id));
    if (!words) words = words_of(tree.state(id));
    if (const auto line = first_line(words.value_or(""), longest_node_text); !line.empty()) (text += ": ") += line;

    if (tree[id].first_child != no_node) {
      id = tree[id].first_child;
      ++depth;
      continue;
    }
    for (; id != tree.root() && tree[id].next_sibling == no_node; --depth) id = tree[id].parent;
    id = id == tree.root() ? no_node : tree[id].next_sibling;
  }
  return text.empty() ? "an empty tree" : text;
}

}  // namespace espalier::detail

/// The numbers of a node on one line.
template <class Value>
struct fmt::formatter<espalier::Node<Value>> : espalier::detail::Described<&espalier::detail::lone_node_text<Value>> {};

/// A tree as an outline with one line per node. No text of a model or an action can end a line or change the terminal.
template <class State, class Action, class Value>
struct fmt::formatter<espalier::Tree<State, Action, Value>>
    : espalier::detail::Described<&espalier::detail::outline<espalier::Tree<State, Action, Value>>> {};
