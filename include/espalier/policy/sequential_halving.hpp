#pragma once

#include <espalier/policy/select.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace espalier {

namespace detail {

/// Sequential halving (Karnin et al. 2013, as in Danihelka et al. 2022). Returns the number of visits that an action
/// must have to be a candidate for the simulation of this index. All `actions` are candidates at first. Each phase
/// gives its candidates equal numbers of simulations and keeps half of them, at least two.
inline std::uint32_t considered_visits(std::uint32_t actions, std::uint32_t simulations, std::uint32_t index) {
  if (actions <= 1) return index;
  const auto phases = static_cast<std::uint32_t>(std::bit_width(actions - 1));  // ceil(log2(actions))
  std::uint32_t visits = 0;
  for (std::uint32_t left = actions;; left = std::max(2u, left / 2)) {
    const std::uint32_t each = std::max(1u, simulations / (phases * left));
    if (left == 2 || index < each * left) return visits + index / left;
    visits += each;
    index -= each * left;
  }
}

}  // namespace detail

/// Gumbel selection at the root (Danihelka et al. 2022, section 3) and another policy below it. At the root the actions
/// with the highest g + ln P are tried. Sequential halving then decides by g + ln P + sigma(q), with sigma(q) =
/// (c_visit + max N) c_scale q. P is a child's share of the priors of the siblings that are not pruned. g is Gumbel
/// noise drawn from the tree's seed. Use it with trees that grow all children of a node at once. The first child is
/// always tried, because its value comes with the growth.
template <class Inside = Puct>
class GumbelRoot {
 public:
  struct Options {
    std::uint32_t considered = 16;  ///< number of actions that are tried at all (m), > 0
    double c_visit = 50;            ///< >= 0
    double c_scale = 1;             ///< >= 0
    Normalise normalise = Normalise::tree;
  };
  GumbelRoot() = default;
  explicit GumbelRoot(Options options, Inside inside = Inside()) : options_(options), inside_(std::move(inside)) {
    if (options_.considered == 0) bad_option("considered", options_.considered, "1 or more");
    if (!(options_.c_visit >= 0)) bad_option("c_visit", options_.c_visit, "0 or more");
    if (!(options_.c_scale >= 0)) bad_option("c_scale", options_.c_scale, "0 or more");
  }
  /// Sets the number of simulations that halving plans with. The search calls it.
  void plan(std::uint32_t simulations) { simulations_ = simulations; }

  template <class Tree>
  [[nodiscard]] auto at(const Tree& tree, NodeId parent) const {
    const bool root = parent == Tree::root();
    return [&tree, root, gumbel = Scores(options_, tree, root ? simulations_ : 0), inside = inside_.at(tree, parent)](
               NodeId child) { return root ? gumbel.in_the_running(tree, child) : inside(child); };
  }

  /// The root's child to act by: most visits, then the highest score. no_node if there is none.
  template <class Tree>
  [[nodiscard]] NodeId best(const Tree& tree) const {
    const Scores scores(options_, tree, 1);
    NodeId best = no_node;
    for (NodeId id = tree[Tree::root()].first_child; id != no_node; id = tree[id].next_sibling) {
      if (tree[id].status == Status::pruned) continue;
      if (best == no_node ||
          std::pair(tree[id].visits, scores(tree, id)) > std::pair(tree[best].visits, scores(tree, best)))
        best = id;
    }
    return best;
  }

 private:
  /// The scores of the root's children at one moment.
  class Scores {
   public:
    template <class Tree>
    Scores(const Options& options, const Tree& tree, std::uint32_t simulations)
        : exploit_(FirstPlay::constant, 0, simulations ? options.normalise : Normalise::none, tree, Tree::root()) {
      if (simulations == 0) return;
      std::uint32_t made = 0, most = 0, living = 0;
      for (NodeId id = tree[Tree::root()].first_child; id != no_node; id = tree[id].next_sibling) {
        const std::uint32_t n = tree[id].visits + tree[id].pending;
        made += n;
        most = std::max(most, n);
        living += tree[id].status != Status::pruned;
      }
      noise_ = tree.seed.purpose("gumbel");
      priors_ = static_cast<double>(detail::Exploit::priors(tree, Tree::root()).all);
      sigma_ = (options.c_visit + most) * options.c_scale;
      wanted_ = detail::considered_visits(std::min(options.considered, living), simulations, made);
    }
    /// g + ln P + sigma(q).
    template <class Tree>
    double operator()(const Tree& tree, NodeId id) const {
      const auto& child = tree[id];
      const double n = child.visits + child.pending;
      const double u = Random(noise_.child(id)).uniform();
      const double g = -std::log(-std::log(u > 0 ? u : 0x1p-54));
      const double share = priors_ > 0 ? static_cast<double>(child.prior) / priors_ : 1;
      return g + std::log(std::max(share, 1e-30)) + (n > 0 ? sigma_ * exploit_.total(child) / n : 0);
    }
    /// The same score for children with the wanted visits. Other children score far lower, in proportion to the
    /// difference of visits.
    template <class Tree>
    double in_the_running(const Tree& tree, NodeId id) const {
      const double off = static_cast<double>(tree[id].visits + tree[id].pending) - wanted_;
      return (*this)(tree, id) - 1e12 * std::abs(off);
    }

   private:
    detail::Exploit exploit_;
    Seed noise_{};
    double priors_ = 0, sigma_ = 0;
    std::uint32_t wanted_ = 0;
  };
  Options options_;
  Inside inside_;
  std::uint32_t simulations_ = 0;
};

}  // namespace espalier
