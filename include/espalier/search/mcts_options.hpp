#pragma once

#include <espalier/policy/prior.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/rollout.hpp>

#include <cstdint>
#include <limits>

namespace espalier {

/// Numbers of a Monte-Carlo tree search.
struct MctsOptions {
  enum class Expand : std::uint8_t {
    all,  ///< a node gets its `width` children of every kind at once
    one   ///< one child a simulation; a node with less than `width` children of a kind grows before it is passed
  };
  /// What a simulation does that reaches a node which an earlier one is growing.
  enum class Collision : std::uint8_t {
    wait,     ///< for the children
    evaluate  ///< values the node once more, under a seed of its own
  };
  std::uint32_t simulations = 32;  ///< > 0
  std::uint32_t width = 4;         ///< samples a node and kind, 1 to 255
  std::uint32_t max_depth = std::numeric_limits<std::uint32_t>::max();  ///< nodes this deep get no children
  std::uint32_t window = 1;        ///< simulations under way in one tree, 1 to 65535
  Expand expand = Expand::all;
  Collision collision = Collision::wait;
  bool solve = false;              ///< what has nothing new below is not selected again; ends with the root
  double widen_k = 0;              ///< progressive widening: a node passed N times draws k N^alpha samples, at least one, its kinds
  double widen_alpha = 0.5;        ///< in turn, up to `width` each; 0 = all before it is passed; needs `expand` = one
  Prior prior{};                   ///< how siblings share the policy
  ValueRange range{};              ///< of the values; one outside ends the search with an error
  Budget budget{};

  void check() const {
    if (simulations == 0) bad_option("simulations", simulations, "1 or more");
    if (width == 0 || width > 255) bad_option("width", width, "1 to 255");
    if (window == 0 || window > 65535) bad_option("window", window, "1 to 65535");
    if (!(widen_k >= 0)) bad_option("widen_k", widen_k, "0 or more");
    if (widen_k > 0 && expand == Expand::all) bad_option("widen_k", widen_k, "0 unless one child is grown a simulation");
    if (!(widen_alpha > 0 && widen_alpha <= 1)) bad_option("widen_alpha", widen_alpha, "(0, 1]");
    prior.check();
    range.check();
    budget.check();
  }
};

}  // namespace espalier
