#pragma once

#include <espalier/core/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace espalier {

/// Where the priors of siblings come from.
enum class PriorSource : std::uint8_t {
  given,         ///< as the environment proposes them, equal proposals added up
  uniform,       ///< equal
  counts,        ///< how many samples gave the action
  mean_logprob,  ///< softmax of the mean log-probability per token
  sum_logprob,   ///< softmax of the log-probability of the whole action, which penalises long ones
  scored         ///< as the environment proposes them, from a model that scores the actions
};

/// How siblings share their parent's policy. Before a node has all its children, priors are weights. After that, the
/// priors of the children that are not pruned add up to 1. If an action comes without a log-probability, its siblings
/// share by counts, and the tree's `prior_source` says so. The annotation "logprob" holds the numbers of the softmax,
/// which come from action.logprob (the sum over its tokens, NaN = unknown) and action.tokens (how many).
struct Prior {
  PriorSource source = PriorSource::given;
  double tau = 1;  ///< temperature of the softmax, > 0

  void check() const {
    if (!(tau > 0) || std::isinf(tau)) bad_option("tau", tau, "above 0");
  }
  [[nodiscard]] bool as_proposed() const { return source == PriorSource::given || source == PriorSource::scored; }
  [[nodiscard]] bool softmax() const {
    return source == PriorSource::mean_logprob || source == PriorSource::sum_logprob;
  }
  [[nodiscard]] const char* name() const {
    constexpr const char* names[] = {"given", "uniform", "counts", "mean_logprob", "sum_logprob", "scored"};
    return names[static_cast<std::size_t>(source)];
  }

  /// The weight of one sample among all samples that its parent may draw.
  [[nodiscard]] float weight(const auto& proposal, std::uint32_t samples) const {
    return as_proposed() ? detail::known_prior(proposal.prior) : 1 / static_cast<float>(samples);
  }
  /// Records what the softmax needs of a new child.
  void note(auto& tree, NodeId child) const {
    if constexpr (requires { tree.action(child).logprob; }) {
      const double logprob = double(tree.action(child).logprob), tokens = tree.action(child).tokens;
      if (!softmax() || std::isnan(logprob)) return;
      if (source == PriorSource::sum_logprob) tree.annotate("logprob", child, logprob);
      else if (tokens > 0) tree.annotate("logprob", child, logprob / tokens);
    }
  }
  /// Shares a node's policy among its children that are not pruned. Called after it gained or lost a child.
  void share(auto& tree, NodeId parent) const {
    if (source != PriorSource::given && tree.prior_source.empty()) tree.prior_source = name();
    if constexpr (requires { tree.action(parent).logprob; })
      if (softmax() && share_softmax(tree, parent)) return;
    if (softmax()) tree.prior_source = Prior{PriorSource::counts}.name();
    if (source == PriorSource::uniform) each(tree, parent, [&](NodeId id) { tree[id].prior = 1; });
    if (tree[parent].status == Status::expanded || source == PriorSource::uniform) share_weights(tree, parent);
  }

 private:
  static void each(const auto& tree, NodeId parent, auto f) {
    for (NodeId id = tree[parent].first_child; id != no_node; id = tree[id].next_sibling)
      if (tree[id].status != Status::pruned) f(id);
  }
  static void share_weights(auto& tree, NodeId parent) {
    float sum = 0;
    each(tree, parent, [&](NodeId id) { sum += tree[id].prior; });
    if (sum == 1 || !(sum > 0)) return;
    each(tree, parent, [&](NodeId id) { tree[id].prior /= sum; });
  }
  /// False if the log-probability of a child is not known.
  bool share_softmax(auto& tree, NodeId parent) const {
    double best = -std::numeric_limits<double>::infinity(), sum = 0;
    bool known = true;
    each(tree, parent, [&](NodeId id) {
      known = known && std::isfinite(tree.annotation("logprob", id));
      best = std::max(best, tree.annotation("logprob", id));
    });
    if (!known) return false;
    const auto grade = [&](NodeId id) { return std::exp((tree.annotation("logprob", id) - best) / tau); };
    each(tree, parent, [&](NodeId id) { sum += grade(id); });
    each(tree, parent, [&](NodeId id) { tree[id].prior = static_cast<float>(grade(id) / sum); });
    return true;
  }
};

}  // namespace espalier
