#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/tree.hpp>

#include <cmath>
#include <limits>

/// Selection policies. N is a node's visits plus the simulations under way through it; those count as visits of value
/// `Value{}` (virtual loss). Unvisited children score +infinity, so each child is tried once, in order of creation.
namespace espalier {

/// UCT (Kocsis and Szepesvari 2006): mean + w sqrt(ln N_parent / N).
class Uct {
 public:
  struct Options {
    double w = 1.4142135623730951;  ///< exploration weight, >= 0
  };
  Uct() = default;
  explicit Uct(Options options) : options_(options) {
    if (!(options_.w >= 0)) bad_option("w", options_.w, "0 or more");
  }
  /// The score of a child as a function of the child alone, so that the logarithm is taken once a parent.
  template <class Value>
  [[nodiscard]] auto at(const Node<Value>& parent) const {
    const double scaled = options_.w * std::sqrt(std::log(static_cast<double>(parent.visits + parent.pending)));
    return [scaled](const Node<Value>& child) {
      const double n = child.visits + child.pending;
      if (n == 0) return std::numeric_limits<double>::infinity();
      const double inverse = 1 / n;
      return utility(child.total) * inverse + scaled * std::sqrt(inverse);
    };
  }
  template <class Value>
  double operator()(const Node<Value>& parent, const Node<Value>& child) const {
    return at(parent)(child);
  }

 private:
  Options options_;
};

/// PUCT: mean + c P sqrt(N_parent) / (1 + N) (ProRAG, Eq. 2). An unvisited child's mean is `unvisited`.
class Puct {
 public:
  struct Options {
    double c = 2.5;          ///< exploration weight, >= 0
    double unvisited = 0;    ///< value assumed for a child without visits
  };
  Puct() = default;
  explicit Puct(Options options) : options_(options) {
    if (!(options_.c >= 0)) bad_option("c", options_.c, "0 or more");
  }
  template <class Value>
  [[nodiscard]] auto at(const Node<Value>& parent) const {
    const double scaled = options_.c * std::sqrt(static_cast<double>(parent.visits + parent.pending));
    return [scaled, unvisited = options_.unvisited](const Node<Value>& child) {
      const double n = child.visits + child.pending;
      const double mean = n > 0 ? utility(child.total) / n : unvisited;
      return mean + scaled * static_cast<double>(child.prior) / (1 + n);
    };
  }
  template <class Value>
  double operator()(const Node<Value>& parent, const Node<Value>& child) const {
    return at(parent)(child);
  }

 private:
  Options options_;
};

}  // namespace espalier
