#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/policy/moments.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::detail {

/// How errors name a policy: by its name where it has one, else by its type.
template <class Policy>
std::string name_of(const Policy& policy) {
  if constexpr (requires { std::string(policy.name()); }) return std::string(policy.name());
  else if constexpr (requires { std::string(policy.name); }) return policy.name;
  const std::string_view text = __PRETTY_FUNCTION__;
  const auto begin = text.find("Policy = ") + 9;
  return std::string(text.substr(begin, text.find_first_of(";]", begin) - begin));
}

/// A policy of erased type, which knows its moments only as it runs.
template <class Policy>
concept ErasedPruning = requires(const Policy& policy) { policy.refuse("", true, true); };

/// True if a policy never cuts anything.
template <class Policy>
constexpr bool keeps_all(const Policy& policy) {
  if constexpr (ErasedPruning<Policy>) return policy.empty();
  return std::is_same_v<Policy, KeepAll>;
}

/// Throws PolicyError if a policy of erased type has `before` or `keep` where an engine lacks it.
template <class Policy>
void refuse(const Policy& policy, std::string_view engine, bool without_before, bool without_keep) {
  if constexpr (ErasedPruning<Policy>) policy.refuse(engine, without_before, without_keep);
}

/// What a policy did: whether it cut anything, and whether enough is known.
struct Pruned {
  bool cut = false, enough = false;
};

/// The children of a node that are not pruned.
template <class Tree>
std::vector<NodeId> unpruned(const Tree& tree, NodeId parent) {
  std::vector<NodeId> siblings;
  for (NodeId id = tree[parent].first_child; id != no_node; id = tree[id].next_sibling)
    if (tree[id].status != Status::pruned) siblings.push_back(id);
  return siblings;
}
/// Cuts what a verdict names, as not the best where it says no reason. Returns one that is no child, and cuts nothing.
template <class Tree>
std::optional<NodeId> cut(Tree& tree, NodeId parent, const Verdict& verdict) {
  for (const auto& [id, reason] : verdict.cut)
    if (id >= tree.size() || tree[id].parent != parent) return id;
  for (const auto& [id, reason] : verdict.cut)
    if (tree[id].status != Status::pruned) tree.prune(id, reason == Reason::none ? Reason::not_best : reason);
  return {};
}
[[noreturn]] inline void refuse_cut(std::string_view engine, const std::string& policy, NodeId id, NodeId parent) {
  throw PolicyError(std::string(engine) + ": the pruning policy " + policy + " cuts node " + std::to_string(id) +
                    ", which is no child of node " + std::to_string(parent));
}

/// Asks a policy at one of its moments about the children of a node that are not pruned, if there are any, and cuts
/// what it names. A wrong id leaves the tree as it was.
template <class Moment, class Policy, class Tree>
Pruned prune(Moment moment, const Policy& policy, Tree& tree, NodeId parent, std::string_view engine) {
  if constexpr (std::is_same_v<Policy, KeepAll>) return {};
  if (keeps_all(policy)) return {};
  const std::vector<NodeId> siblings = unpruned(tree, parent);
  if (siblings.empty()) return {};
  Verdict verdict;
  try {
    verdict = moment(policy, std::as_const(tree), std::span<const NodeId>(siblings));
  } catch (const PolicyError& error) {
    std::throw_with_nested(PolicyError(std::string(engine) + ": " + error.what()));
  }
  if (const auto wrong = cut(tree, parent, verdict)) refuse_cut(engine, name_of(policy), *wrong, parent);
  return {!verdict.cut.empty(), verdict.enough};
}

/// The same about the children of each of these nodes, in their order.
void prune_all(auto moment, const auto& policy, auto& tree, const auto& places, std::string_view engine) {
  for (const auto& place : places) prune(moment, policy, tree, place.node, engine);
}

}  // namespace espalier::detail
