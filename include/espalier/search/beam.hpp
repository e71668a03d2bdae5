#pragma once

#include <espalier/policy/prune.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/detail/children.hpp>
#include <espalier/search/detail/pruning.hpp>
#include <espalier/search/detail/tree_search.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace espalier {

/// Beam search. At each depth every state of the beam gets up to `width` children of each legal kind. All new children
/// are evaluated, and the `beam` best of the depth go on (ties: higher prior, then older). Terminal children are ranked
/// too and stay in the tree as answers. A depth whose draws and values the budget cannot pay for is not begun. The
/// pruning policy is asked about each parent's children, in node order: ahead of values, and before the ranking.
template <class Evaluate, class Prune = KeepAll>
class Beam : public detail::TreeSearch<Beam<Evaluate, Prune>, Evaluate, Prune> {
 public:
  struct Options {
    std::uint32_t beam = 4;         ///< states kept at each depth, > 0
    std::uint32_t width = 4;        ///< samples per state and kind, > 0
    std::uint32_t max_depth = 8;    ///< > 0
    Budget budget{};                ///< checked before each depth
    std::uint32_t value_calls = 0;  ///< completions that the value of a child asks for
  };
  Beam(Options options, Evaluate evaluate, Prune prune = Prune())
      : options_(std::move(options)), evaluate_(std::move(evaluate)), prune_(std::move(prune)) {
    if (options_.beam == 0) bad_option("beam", options_.beam, "1 or more");
    if (options_.width == 0) bad_option("width", options_.width, "1 or more");
    if (options_.max_depth == 0) bad_option("max_depth", options_.max_depth, "1 or more");
    detail::refuse(prune_, "Beam", false, true);
    options_.budget.check();
  }

 private:
  friend detail::TreeSearch<Beam, Evaluate, Prune>;

  template <class Env>
  Task<detail::TreeBy<Evaluate, Env>> grow(Env* env, typename Env::State root, Seed seed) {
    detail::TreeBy<Evaluate, Env> tree(std::move(root), seed);
    std::vector<detail::Seeded> beam(1, detail::Seeded{tree.root(), seed});
    const double began = options_.budget.start(tree);
    for (std::uint32_t depth = 0; depth < options_.max_depth && !beam.empty(); ++depth) {
      const std::uint64_t calls = detail::calls_of(*env, tree, beam, options_.width, options_.value_calls);
      if (!options_.budget.begin_step(tree, began, calls)) break;
      beam = co_await detail::grow_valued(&evaluate_, &prune_, env, &tree, std::move(beam), &options_, calls, "Beam");
      std::vector<NodeId> depth_ids;
      for (const detail::Seeded& child : beam) depth_ids.push_back(child.node);
      for (const auto& [id, reason] : TopK(options_.beam)(tree, std::span<const NodeId>(depth_ids)).cut)
        tree.prune(id, reason);
      std::erase_if(beam, [&](const detail::Seeded& child) { return tree[child.node].status != Status::open; });
    }
    detail::finish(tree);
    co_return tree;
  }

  Options options_;
  Evaluate evaluate_;
  Prune prune_;
};

}  // namespace espalier
