#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/tree.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

/// Selection policies. N is a node's visits plus the simulations under way through it. Those count as visits whose
/// value is not known yet, so a mean is that of the known values. A parent's N also holds its own evaluations.
///
/// A policy is p(parent, child) -> score. Two optional forms exist:
/// - p.at(parent) -> f(child) is called once per parent.
/// - p.at(tree, parent id) -> f(child id) sees the siblings and the whole tree. Such a policy may also have
///   p.alone(parent), which says where p.at(parent) gives the same scores.
/// p.reads_mean() is false if p.at(parent) reads no mean of the parent where no simulations are under way. A policy
/// that derives from Uct and reads it must say so.
namespace espalier {

/// The value that stands for the mean of a child without visits.
enum class FirstPlay : std::uint8_t {
  infinite,  ///< it is tried before any visited child, the oldest first
  parent,    ///< the parent's mean
  constant   ///< `unvisited` (first-play urgency)
};

namespace detail {

/// 1 / n, and the square roots of n, of 1 / n and of ln n. Those of small n, which most nodes have, are looked up.
struct Roots {
  double inverse = 0, root = 0, of_inverse = 0, of_log = 0;
};
inline double root_of_log(std::uint32_t n) { return std::sqrt(std::log(double(n))); }
inline const std::array<Roots, 8192> small_roots = [] {
  std::array<Roots, 8192> all{};
  for (std::uint32_t n = 1; n < all.size(); ++n)
    all[n] = {1 / double(n), std::sqrt(double(n)), std::sqrt(1 / double(n)), root_of_log(n)};
  return all;
}();

/// The mean that a child without visits gets below this parent.
template <class Value>
double unvisited_mean(FirstPlay rule, double number, const Node<Value>& parent) {
  if (rule == FirstPlay::infinite) return std::numeric_limits<double>::infinity();
  return rule == FirstPlay::parent ? utility(parent.mean()) : number;
}
/// The mean of a child with simulations under way: its own, else the parent's, else as without visits (0 if infinite).
template <class Value>
double mean_under_way(FirstPlay rule, double number, const Node<Value>& parent, const Node<Value>& child) {
  const bool constant = rule == FirstPlay::constant && child.visits == 0 && parent.visits == 0;
  return constant ? number : utility((child.visits > 0 ? child : parent).mean());
}

}  // namespace detail

/// UCT (Kocsis and Szepesvari 2006): mean + w sqrt(ln N_parent / N). Unvisited: N = 1, mean of `first_play`.
class Uct {
 public:
  struct Options {
    double w = 1.4142135623730951;  ///< exploration weight, >= 0
    double unvisited = 0;           ///< the number that `first_play` uses
    FirstPlay first_play = FirstPlay::infinite;
  };
  Uct() = default;
  explicit Uct(Options options) : options_(options) {
    if (!(options_.w >= 0)) bad_option("w", options_.w, "0 or more");
    if (std::isnan(options_.unvisited)) bad_option("unvisited", options_.unvisited, "a number");
  }
  [[nodiscard]] bool reads_mean() const { return options_.first_play == FirstPlay::parent; }
  /// The score as a function of the child alone, so that the logarithm is taken once per parent.
  template <class Value>
  [[nodiscard]] auto at(const Node<Value>& parent) const {
    const std::uint32_t n = parent.visits + parent.pending;
    const double log = n < detail::small_roots.size() ? detail::small_roots[n].of_log : detail::root_of_log(n);
    return [first = options_.first_play, number = options_.unvisited, &parent,
            scaled = log > 0 ? options_.w * log : 0](const Node<Value>& child) {
      const std::uint32_t visits = child.visits + child.pending;
      if (visits == 0) return detail::unvisited_mean(first, number, parent) + scaled;
      const bool small = __builtin_expect(visits < detail::small_roots.size(), true);
      const double inverse = small ? detail::small_roots[visits].inverse : 1 / double(visits);
      const double root = small ? detail::small_roots[visits].of_inverse : std::sqrt(inverse);
      const double mean =
          child.pending == 0 ? utility(child.total) * inverse : detail::mean_under_way(first, number, parent, child);
      return mean + scaled * root;
    };
  }
  /// The formula for one child.
  template <class Value>
  double operator()(const Node<Value>& parent, const Node<Value>& child) const {
    return at(parent)(child);
  }

 private:
  Options options_;
};

/// PUCT: mean + c P sqrt(N_parent) / (1 + N) (ProRAG, Eq. 2). P is the child's share of the priors of the siblings that
/// are not pruned. N_parent also holds the parent's own evaluations. Visits::children is the paper's sum of N.
class Puct {
 public:
  enum class Visits : std::uint8_t {
    parent,   ///< N_parent
    children  ///< the sum of the children's N
  };
  struct Options {
    double c = 2.5;        ///< exploration weight, >= 0
    double unvisited = 0;  ///< the number that `first_play` uses
    FirstPlay first_play = FirstPlay::constant;
    Visits visits = Visits::parent;  ///< what stands under the square root
  };
  Puct() = default;
  explicit Puct(Options options) : options_(options) {
    if (!(options_.c >= 0)) bad_option("c", options_.c, "0 or more");
    if (std::isnan(options_.unvisited)) bad_option("unvisited", options_.unvisited, "a number");
  }
  /// True if siblings do not matter below this parent: it has all its children, so priors are shares.
  template <class Value>
  [[nodiscard]] bool alone(const Node<Value>& parent) const {
    return options_.visits == Visits::parent && parent.status == Status::expanded;
  }
  /// The score as a function of the child alone, so that the square root is taken once per parent.
  template <class Value>
  [[nodiscard]] auto at(const Node<Value>& parent) const {
    const std::uint32_t n = parent.visits + parent.pending;
    const double root = n < detail::small_roots.size() ? detail::small_roots[n].root : std::sqrt(double(n));
    return score(parent, options_.c * root);
  }
  [[nodiscard]] auto at(const auto& tree, NodeId parent) const {
    float priors = 0;
    double n = options_.visits == Visits::parent ? visits(tree[parent]) : 0;
    for (NodeId id = tree[parent].first_child; id != no_node; id = tree[id].next_sibling) {
      if (options_.visits == Visits::children) n += visits(tree[id]);
      if (tree[id].status != Status::pruned) priors += tree[id].prior;
    }
    const double scaled = priors > 0 ? options_.c * std::sqrt(n) / static_cast<double>(priors) : 0;
    return [&tree, of = score(tree[parent], scaled)](NodeId child) { return of(tree[child]); };
  }
  /// The formula for one child whose prior is its share, without the terms that need siblings.
  template <class Value>
  double operator()(const Node<Value>& parent, const Node<Value>& child) const {
    return at(parent)(child);
  }

 private:
  template <class Value>
  static double visits(const Node<Value>& node) {
    return node.visits + node.pending;
  }
  template <class Value>
  [[nodiscard]] auto score(const Node<Value>& parent, double scaled) const {
    return [first = options_.first_play, number = options_.unvisited, &parent, scaled](const Node<Value>& child) {
      const double n = visits(child);
      const double mean = child.pending > 0  ? detail::mean_under_way(first, number, parent, child)
                          : child.visits > 0 ? utility(child.total) / n
                                             : detail::unvisited_mean(first, number, parent);
      return mean + scaled * static_cast<double>(child.prior) / (1 + n);
    };
  }
  Options options_;
};

}  // namespace espalier
