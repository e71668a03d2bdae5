#pragma once

#include <espalier/core/concepts.hpp>

#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// When a pruning policy is asked, and joins of several: `AllOf(Before(Dedup(key)), Keep(TopK(2)))`.
namespace espalier {

/// Keeps everything.
struct KeepAll {
  Verdict operator()(const auto&, std::span<const NodeId>) const { return {}; }
};

namespace detail {

/// The moments of a policy, each f(policy, tree, siblings) -> verdict. At values a policy is asked about the siblings
/// that have one. If it has `sees_all`, it is asked about all of them.
inline constexpr auto before_values = [](const auto& policy, const auto& tree, std::span<const NodeId> siblings) {
  if constexpr (requires { policy.before(tree, siblings); }) return Verdict(policy.before(tree, siblings));
  else return Verdict();
};
inline constexpr auto at_values = [](const auto& policy, const auto& tree, std::span<const NodeId> siblings) {
  if constexpr (requires { policy(tree, siblings); }) {
    std::vector<NodeId> ids(siblings.begin(), siblings.end());
    if constexpr (!requires { policy.sees_all; }) std::erase_if(ids, [&](NodeId id) { return tree[id].visits == 0; });
    return ids.empty() ? Verdict() : Verdict(policy(tree, std::span<const NodeId>(ids)));
  } else return Verdict();
};
inline constexpr auto when_done = [](const auto& policy, const auto& tree, std::span<const NodeId> siblings) {
  if constexpr (requires { policy.keep(tree, siblings); }) return Verdict(policy.keep(tree, siblings));
  else return Verdict();
};

/// Takes what a policy says into what was said before, and what it cuts out of the siblings that are left.
void combine(Verdict& all, std::vector<NodeId>& left, const auto& verdict) {
  all.enough = all.enough || verdict.enough;
  all.cut.insert(all.cut.end(), verdict.cut.begin(), verdict.cut.end());
  for (const auto& [id, reason] : verdict.cut) std::erase(left, id);
}

}  // namespace detail

/// Asks a policy ahead of values, in place of when they are there.
template <class Policy>
struct Before {
  explicit Before(Policy policy) : policy(std::move(policy)) {}
  Policy policy;
  Verdict before(const detail::SeenBy<Policy> auto& tree, std::span<const NodeId> siblings) const {
    return policy(tree, siblings);
  }
};

/// Asks a policy when a node is done: all kinds of children are there and valued.
template <class Policy>
struct Keep {
  explicit Keep(Policy policy) : policy(std::move(policy)) {}
  Policy policy;
  Verdict keep(const detail::SeenBy<Policy> auto& tree, std::span<const NodeId> siblings) const {
    return policy(tree, siblings);
  }
};

/// Asks several policies, in order. Each sees the siblings that those before it left. Enough is known if one says so.
template <class... Policies>
class AllOf {
 public:
  static constexpr bool sees_all = true;  ///< each of them is shown what it may see
  explicit AllOf(Policies... policies) : policies_(std::move(policies)...) {}
  template <class Tree>
    requires(PruningPolicy<Policies, Tree> && ...) && (detail::PrunesBefore<Policies, Tree> || ...)
  Verdict before(const Tree& tree, std::span<const NodeId> siblings) const {
    return ask(detail::before_values, tree, siblings);
  }
  template <class Tree>
    requires(PruningPolicy<Policies, Tree> && ...) && (detail::PrunesAtValues<Policies, Tree> || ...)
  Verdict operator()(const Tree& tree, std::span<const NodeId> siblings) const {
    return ask(detail::at_values, tree, siblings);
  }
  template <class Tree>
    requires(PruningPolicy<Policies, Tree> && ...) && (detail::PrunesWhenDone<Policies, Tree> || ...)
  Verdict keep(const Tree& tree, std::span<const NodeId> siblings) const {
    return ask(detail::when_done, tree, siblings);
  }

 private:
  Verdict ask(auto moment, const auto& tree, std::span<const NodeId> siblings) const {
    Verdict all;
    std::vector<NodeId> left(siblings.begin(), siblings.end());
    const auto one = [&](const auto& policy) {
      if (!left.empty()) detail::combine(all, left, moment(policy, tree, std::span<const NodeId>(left)));
    };
    std::apply([&](const auto&... policy) { (one(policy), ...); }, policies_);
    return all;
  }
  std::tuple<Policies...> policies_;
};

}  // namespace espalier
