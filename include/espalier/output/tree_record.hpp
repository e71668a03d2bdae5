#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/rag/state.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace espalier::output {

/// A finished tree with the fields for its provenance.
struct TreeRecord {
  const rag::Tree& tree;
  std::string method;
  std::uint64_t seed = 0;  ///< the run's seed
  std::string options;     ///< the search options as a JSON object
  /// Begins the provenance of a row.
  JsonWriter& begin_provenance(JsonWriter& json) const {
    return json.key("provenance").begin_object().field("tree", tree.state(tree.root()).question().id);
  }
  /// Writes the last fields of a row's provenance, and ends the row and its line.
  void end_row(JsonWriter& json, std::string& out) const {
    json.field("method", method).field("seed", seed).key("options").raw(options).end_object().end_object();
    out += '\n';
  }
};

namespace detail {

inline const char* name(Status status) {
  static constexpr const char* names[] = {"open", "growing", "expanded", "terminal", "pruned"};
  return names[static_cast<std::size_t>(status)];
}
inline const char* name(Reason reason) {
  static constexpr const char* names[] = {"none",    "outvoted",  "below_threshold", "not_best",
                                          "skipped", "malformed", "budget",          "refused"};
  return names[static_cast<std::size_t>(reason)];
}
inline const char* name(SearchFacts::Ending ending) { return ending == SearchFacts::Ending::done ? "done" : "budget"; }

}  // namespace detail

/// True if the search had gold answers, which may have steered the tree. This holds even for rewards that ignore gold,
/// such as agreement.
inline bool oracle(const rag::Tree& tree) { return tree.state(tree.root()).has_gold(); }

/// A node's own reward: the mean over its rollouts, or a terminal node's reward. Index = node. Nothing if it was never
/// evaluated.
inline std::vector<std::optional<double>> rewards(const rag::Tree& tree) {
  std::vector<double> counts(tree.size());
  for (const auto& rollout : tree.rollouts) ++counts[rollout.node];
  std::vector<std::optional<double>> means(tree.size());
  for (const auto& rollout : tree.rollouts) means[rollout.node] = means[rollout.node].value_or(0) + rollout.value;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (means[id]) *means[id] /= counts[id];
  return means;
}

namespace detail {

/// Orders nodes by one value each (index = node, nothing counts as 0). True if `a` has the higher value. Ties: higher
/// prior, then older.
struct Better {
  const rag::Tree& tree;
  const std::vector<std::optional<double>>& values;
  bool operator()(NodeId a, NodeId b) const {
    const double va = values[a].value_or(0), vb = values[b].value_or(0);
    if (va != vb) return va > vb;
    return tree[a].prior != tree[b].prior ? tree[a].prior > tree[b].prior : a < b;
  }
};

}  // namespace detail

}  // namespace espalier::output
