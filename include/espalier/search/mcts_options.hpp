#pragma once

#include <espalier/core/error.hpp>
#include <espalier/policy/prior.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/detail/evaluation.hpp>

#include <cstdint>
#include <limits>

namespace espalier {

/// Options of Monte-Carlo tree search.
struct MctsOptions {
  enum class Expand : std::uint8_t {
    all,  ///< a node gets its `width` children of every kind at once
    one   ///< one child per simulation. A node with fewer than `width` children of a kind grows before it is passed
  };
  /// What a simulation does when it reaches a node that an earlier one is growing.
  enum class Collision : std::uint8_t {
    wait,     ///< it waits for the children
    evaluate  ///< it values the node once more, under another seed
  };
  /// Which nodes get values of their own.
  enum class Values : std::uint8_t {
    first,  ///< the first new child of what grows. A sibling that is selected later grows without a value
    each,   ///< every node except the root: it is valued when it is first selected, and grows when it is again
    leaf,   ///< as `each`, and the root too, by the first simulation. This is the convention of OpenSpiel
    alike,  ///< the new children of the same kind as the first one, in the simulation in which their parent grows
    all     ///< all new children, in that simulation
  };
  std::uint32_t simulations = 32;                                       ///< > 0
  std::uint32_t width = 4;                                              ///< samples asked per node and kind, 1 to 255
  std::uint32_t max_depth = std::numeric_limits<std::uint32_t>::max();  ///< nodes at this depth get no children
  std::uint32_t window = 1;  ///< simulations under way in one tree, 1 to 65535
  Expand expand = Expand::all;
  Collision collision = Collision::wait;
  Values values = Values::first;
  bool solve = false;          ///< do not select again what is visited whole, and end when the root is (no proof)
  double widen_k = 0;          ///< progressive widening: draw max(1, floor(k N^alpha)) samples by N visits. 0 = off
  double widen_alpha = 0.5;    ///< (0, 1]. The kinds are drawn in turn, up to `width` each. Needs `expand` = one
  Prior prior{};               ///< how siblings share the policy
  detail::ValueRange range{};  ///< of values. The tree's `outside` names the first one beyond it
  Budget budget{};

  void check() const {
    if (simulations == 0) bad_option("simulations", simulations, "1 or more");
    if (width == 0 || width > 255) bad_option("width", width, "1 to 255");
    if (window == 0 || window > 65535) bad_option("window", window, "1 to 65535");
    if (!(widen_k >= 0)) bad_option("widen_k", widen_k, "0 or more");
    if (widen_k > 0 && expand == Expand::all) bad_option("widen_k", widen_k, "0 unless expand is one");
    if (!(widen_alpha > 0 && widen_alpha <= 1)) bad_option("widen_alpha", widen_alpha, "(0, 1]");
    prior.check();
    range.check();
    budget.check();
  }
};

}  // namespace espalier
