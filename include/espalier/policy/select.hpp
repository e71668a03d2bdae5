#pragma once

#include <espalier/core/error.hpp>
#include <espalier/policy/exploit.hpp>

#include <cmath>
#include <cstdint>

/// Selection policies. N is a node's visits plus the simulations under way through it. Those count as visits of value 0
/// (virtual loss). A parent's N also holds its own evaluations.
///
/// A policy is p(parent, child) -> score. Two optional forms exist:
/// - p.at(parent) -> f(child) is called once per parent.
/// - p.at(tree, parent id) -> f(child id) sees the siblings and the whole tree. Such a policy may also have
///   p.alone(parent), which says where p.at(parent) gives the same scores.
namespace espalier {

/// UCT (Kocsis and Szepesvari 2006): mean + w sqrt(ln N_parent / N). A child without visits counts as visited once,
/// with the mean that `first_play` gives it.
class Uct {
 public:
  struct Options {
    double w = 1.4142135623730951;  ///< exploration weight, >= 0
    double unvisited = 0;           ///< the number that `first_play` uses
    FirstPlay first_play = FirstPlay::infinite;
    Normalise normalise = Normalise::none;
  };
  Uct() = default;
  explicit Uct(Options options) : options_(options) {
    if (!(options_.w >= 0)) bad_option("w", options_.w, "0 or more");
    if (std::isnan(options_.unvisited)) bad_option("unvisited", options_.unvisited, "a number");
  }
  /// True if siblings do not matter below this parent, so that at(parent) is enough.
  template <class Value>
  [[nodiscard]] bool alone(const Node<Value>&) const {
    return options_.first_play == FirstPlay::infinite && options_.normalise == Normalise::none;
  }
  /// The score as a function of the child alone, so that the logarithm is taken once per parent.
  template <class Value>
  [[nodiscard]] auto at(const Node<Value>& parent) const {
    return [scaled = scale(parent)](const Node<Value>& child) {
      const double n = child.visits + child.pending;
      if (n == 0) return std::numeric_limits<double>::infinity();
      const double inverse = 1 / n;
      return utility(child.total) * inverse + scaled * std::sqrt(inverse);
    };
  }
  template <class Tree>
  [[nodiscard]] auto at(const Tree& tree, NodeId parent) const {
    const detail::Exploit exploit(options_.first_play, options_.unvisited, options_.normalise, tree, parent);
    return [&tree, exploit, scaled = scale(tree[parent])](NodeId child) { return score(exploit, scaled, tree[child]); };
  }
  /// The formula for one child, without the terms that need siblings.
  template <class Value>
  double operator()(const Node<Value>& parent, const Node<Value>& child) const {
    return score(detail::Exploit(options_.first_play, options_.unvisited, parent), scale(parent), child);
  }

 private:
  template <class Value>
  [[nodiscard]] double scale(const Node<Value>& parent) const {
    const double n = parent.visits + parent.pending;
    return n > 1 ? options_.w * std::sqrt(std::log(n)) : 0;
  }
  template <class Value>
  static double score(const detail::Exploit& exploit, double scaled, const Node<Value>& child) {
    const double n = child.visits + child.pending;
    if (n == 0) return exploit.unvisited(child) + scaled;
    const double inverse = 1 / n;
    return exploit.total(child) * inverse + scaled * std::sqrt(inverse);
  }
  Options options_;
};

/// PUCT: mean + c P sqrt(N_parent) / (1 + N) (ProRAG, Eq. 2). P is the child's share of the priors of the siblings that
/// are not pruned. N_parent also holds the parent's own evaluations. The paper's sum of N over the children is
/// Visits::children.
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
    Normalise normalise = Normalise::none;
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
    return options_.first_play == FirstPlay::constant && options_.normalise == Normalise::none &&
           options_.visits == Visits::parent && parent.status == Status::expanded;
  }
  /// The score as a function of the child alone, so that the square root is taken once per parent.
  template <class Value>
  [[nodiscard]] auto at(const Node<Value>& parent) const {
    return [scaled = scale(visits(parent)), unvisited = options_.unvisited](const Node<Value>& child) {
      const double n = visits(child);
      const double mean = n > 0 ? utility(child.total) / n : unvisited;
      return mean + scaled * static_cast<double>(child.prior) / (1 + n);
    };
  }
  template <class Tree>
  [[nodiscard]] auto at(const Tree& tree, NodeId parent) const {
    const detail::Exploit exploit(options_.first_play, options_.unvisited, options_.normalise, tree, parent);
    const float priors = detail::Exploit::priors(tree, parent).all;
    double n = visits(tree[parent]);
    if (options_.visits == Visits::children) {
      n = 0;
      for (const NodeId child : tree.children(parent)) n += visits(tree[child]);
    }
    const double scaled = priors > 0 ? scale(n) / static_cast<double>(priors) : 0;
    return [&tree, exploit, scaled](NodeId child) { return score(exploit, scaled, tree[child]); };
  }
  /// The formula for one child whose prior is its share, without the terms that need siblings.
  template <class Value>
  double operator()(const Node<Value>& parent, const Node<Value>& child) const {
    return score(detail::Exploit(options_.first_play, options_.unvisited, parent), scale(visits(parent)), child);
  }

 private:
  template <class Value>
  static double visits(const Node<Value>& node) {
    return node.visits + node.pending;
  }
  [[nodiscard]] double scale(double n) const { return options_.c * std::sqrt(n); }
  template <class Value>
  static double score(const detail::Exploit& exploit, double scaled, const Node<Value>& child) {
    const double n = visits(child);
    const double mean = n > 0 ? exploit.total(child) / n : exploit.unvisited(child);
    return mean + scaled * static_cast<double>(child.prior) / (1 + n);
  }
  Options options_;
};

}  // namespace espalier
