#pragma once

#include <espalier/policy/moments.hpp>
#include <espalier/policy/prune.hpp>

#include <algorithm>
#include <any>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace espalier {

/// What a policy of erased type sees: copies of a node's children and its path. States are ids, values are utilities.
using SiblingTree = Tree<NodeId, std::any>;

/// A pruning policy of erased type: `AnyPruning{.name = "mine", .at = TopK(2)}`. An unset moment costs nothing.
struct AnyPruning {
  class Moment {
   public:
    static constexpr bool sees_all = true;
    Moment() = default;
    template <class F>
      requires(!std::same_as<F, Moment> && detail::PrunesAtValues<F, SiblingTree>)
    Moment(F f) : f_(std::move(f)) {}
    explicit operator bool() const { return static_cast<bool>(f_); }
    template <class = void>
    [[nodiscard]] Moment then(const Moment& next) const {
      return f_ && next ? Moment(AllOf(*this, next)) : f_ ? *this : next;
    }
    template <class Tree>
    Verdict operator()(const Tree& tree, std::span<const NodeId> siblings) const {
      if (!f_ || siblings.empty()) return {};
      if constexpr (std::same_as<Tree, SiblingTree>) return f_(tree, siblings);
      SiblingTree seen(tree.root(), tree.seed);
      static_cast<SearchFacts&>(seen) = SearchFacts(tree);
      NodeId above = seen.root();
      const auto copy = [&](NodeId id) {
        const NodeId to = id == tree.root() ? id : seen.add(above, tree.action(id), id, tree[id].kind, tree[id].prior);
        detail::take_findings(seen[to], tree[id]);
        seen[to].total = utility(tree[id].total);
        return to;
      };
      const NodeId parent = tree[siblings.front()].parent;
      for (const NodeId id : tree.path(parent)) above = copy(id);
      std::vector<NodeId> ids;
      for (const NodeId id : tree.children(parent))
        if (const NodeId to = copy(id); std::ranges::count(siblings, id) > 0) ids.push_back(to);
      Verdict verdict = f_(seen, ids);
      for (auto& [id, reason] : verdict.cut) id = id < seen.size() ? seen.state(id) : id < tree.size() ? no_node : id;
      return verdict;
    }

   private:
    std::function<Verdict(const SiblingTree&, std::span<const NodeId>)> f_;
  };

  /// What `pruning_of` reads, each perhaps behind "before:" or "keep:", with commas between several.
  static constexpr const char* texts = "top_k:K, threshold:V[:best|:parent], budgeted:CALLS:K, best_of_each_kind";

  std::string name;  ///< what errors and records call it
  Moment before{};   ///< ahead of values
  Moment at{};       ///< when values are there
  Moment keep{};     ///< when a node is done

  [[nodiscard]] bool empty() const { return !before && !at && !keep; }
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const { return at(tree, siblings); }
  /// Throws PolicyError if it has a moment that an engine lacks.
  void refuse(std::string_view engine, bool without_before, bool without_keep) const {
    const char* lacking = without_before && before ? "before" : without_keep && keep ? "keep" : nullptr;
    if (lacking)
      throw PolicyError(std::string(engine) + " has no moment `" + lacking + "` for the pruning policy " + name);
  }
  /// Both in this order, as AllOf.
  template <class = void>
  [[nodiscard]] AnyPruning then(const AnyPruning& next) const {
    if (empty() || next.empty()) return empty() ? next : *this;
    return {name + "," + next.name, before.then(next.before), at.then(next.at), keep.then(next.keep)};
  }
};

/// The ready-made policies that a text names, as "top_k:2" or "before:top_k:2,threshold:0.3". An empty one names none.
template <class = void>
AnyPruning pruning_of(const std::string& text) {
  if (text.empty()) return {};
  if (const auto comma = text.find(','); comma != std::string::npos) {
    if (comma == 0 || comma + 1 == text.size()) bad_option("prune", text, AnyPruning::texts);
    return pruning_of(text.substr(0, comma)).then(pruning_of(text.substr(comma + 1)));
  }
  const auto colon = std::min(text.find(':'), text.size() - 1);
  const std::string name = text.substr(0, text.find(':'));
  if (name == "before" || name == "keep") {
    const AnyPruning inner = pruning_of(text.substr(colon + 1));
    inner.refuse("prune=" + text, true, true);
    if (inner.empty()) bad_option("prune", text, AnyPruning::texts);
    return name == "keep" ? AnyPruning{text, {}, {}, inner.at} : AnyPruning{text, inner.at};
  }
  const char *left = text.data() + colon + 1, *const end = text.data() + text.size();
  const auto number = [&]<class T>(T value) {
    const auto [next, error] = std::from_chars(left, end, value);
    if (error != std::errc() || (next != end && (*next != ':' || next + 1 == end)))
      bad_option("prune", text, AnyPruning::texts);
    left = next == end ? end : next + 1;
    return value;
  };
  AnyPruning made{text};
  if (name == "top_k") made.at = TopK(number(std::uint32_t()));
  if (name == "budgeted") made.at = Budgeted{number(std::uint64_t()), number(std::uint32_t())};
  if (text == "best_of_each_kind") made.at = BestOfEachKind();
  if (name == "threshold") {
    const double least = number(0.0);
    const std::string_view of(left, end);
    if (of.empty()) made.at = Threshold(least);
    if (of == "best") made.at = Threshold(least, Threshold::Of::best);
    if (of == "parent") made.at = Threshold(least, Threshold::Of::parent);
    left = end;
  }
  if (made.empty() || left != end) bad_option("prune", text, AnyPruning::texts);
  return made;
}

}  // namespace espalier
