#pragma once

#include <espalier/core/ballot.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/seed.hpp>
#include <espalier/rag/metrics.hpp>
#include <espalier/rag/state.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace espalier::output {

/// A finished tree with the fields for its provenance.
struct TreeRecord {
  const rag::Tree& tree;
  std::string method;
  std::uint64_t seed = 0;      ///< the run's seed
  std::string options = "{}";  ///< the search options as a JSON object
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

/// How one of a question's correct chains is chosen as training data, by its number of retrievals (DecEx-RAG, Fig. 2a).
enum class ChainChoice : std::uint8_t { best, most, least, random };

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
inline const char* name(ChainChoice choice) {
  static constexpr const char* names[] = {"best", "most", "least", "random"};
  return names[static_cast<std::size_t>(choice)];
}

/// Orders nodes by one value each (index = node, nothing counts as 0). Higher values first. Ties: higher prior, older.
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

/// True if the search had gold answers, which may have steered the tree, even for rewards that ignore gold.
inline bool oracle(const rag::Tree& tree) { return tree.state(tree.root()).has_gold(); }

/// Own rewards by node: the mean over its rollouts, or a terminal node's reward. Nothing if it was never evaluated.
inline std::vector<std::optional<double>> rewards(const rag::Tree& tree) {
  std::vector<double> counts(tree.size());
  for (const auto& rollout : tree.rollouts) ++counts[rollout.node];
  std::vector<std::optional<double>> means(tree.size());
  for (const auto& rollout : tree.rollouts) means[rollout.node] = means[rollout.node].value_or(0) + rollout.value;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (means[id]) *means[id] /= counts[id];
  return means;
}

/// The answer that a tree gives to its question.
struct BestAnswer {
  NodeId node = no_node;  ///< the terminal node, or the node whose rollouts answered
  std::string text;
  double value = 0;       ///< the node's reward, 0 if it was never evaluated
  bool complete = false;  ///< false: taken from rollouts, because no chain reached an answer
};

/// The ends of complete chains, in order of creation. Open nodes with an answer are among them.
inline std::vector<NodeId> complete_chains(const rag::Tree& tree) {
  std::vector<NodeId> ends;
  for (NodeId id = 1; id < tree.size(); ++id)
    if ((tree[id].status == Status::terminal || tree[id].status == Status::open) && tree.state(id).answer())
      ends.push_back(id);
  return ends;
}

/// The answer of a tree. If the search annotated a node with "selected" = 1, it is that node's answer. Otherwise it is
/// the answer with the highest reward among complete chains (ties: higher prior, then older). Without complete chains
/// it is the most frequent answer, in normal form, among the rollouts of the best node. Nothing if there is none.
inline std::optional<BestAnswer> best_answer(const rag::Tree& tree) {
  const auto own = rewards(tree);
  const detail::Better better{tree, own};
  const std::vector<NodeId> ends = complete_chains(tree);
  for (const NodeId end : ends)
    if (tree.annotation("selected", end) == 1)
      return BestAnswer{end, *tree.state(end).answer(), own[end].value_or(0), true};
  if (!ends.empty()) {
    const NodeId best = *std::min_element(ends.begin(), ends.end(), better);
    return BestAnswer{best, *tree.state(best).answer(), own[best].value_or(0), true};
  }
  NodeId best = no_node;
  for (const auto& rollout : tree.rollouts)
    if (rollout.state.answer() && (best == no_node || better(rollout.node, best))) best = rollout.node;
  if (best == no_node) return std::nullopt;

  espalier::detail::Ballot<std::size_t> ballot;
  for (std::size_t i = 0; i < tree.rollouts.size(); ++i)
    if (const auto answer = tree.rollouts[i].state.answer(); answer && tree.rollouts[i].node == best)
      ballot.vote(rag::detail::form_or_text(*answer), i);
  return BestAnswer{best, *tree.rollouts[ballot.winner(0)].state.answer(), own[best].value_or(0), false};
}

/// The ends of complete chains with a correct answer, that is, an exact match under the profile. None without gold.
inline std::vector<NodeId> correct_chains(const rag::Tree& tree, rag::Profile profile) {
  std::vector<NodeId> correct = complete_chains(tree);
  std::erase_if(correct, [&](NodeId id) {
    const rag::State& end = tree.state(id);
    return !end.has_gold() || rag::score(profile, end.answer(), end.gold()).em < 1;
  });
  return correct;
}

/// The end of the chosen chain with a correct answer, if any. `random`: by the tree's seed. Ties: as in best_answer.
inline std::optional<NodeId> correct_chain(const rag::Tree& tree, ChainChoice choice,
                                           rag::Profile profile = rag::Profile::common) {
  const std::vector<NodeId> correct = correct_chains(tree, profile);
  if (correct.empty()) return std::nullopt;
  if (choice == ChainChoice::random)
    return correct[Random(tree.seed.purpose("chain")).below(static_cast<std::uint32_t>(correct.size()))];
  const auto own = rewards(tree);
  return *std::min_element(correct.begin(), correct.end(), [&, better = detail::Better{tree, own}](NodeId a, NodeId b) {
    const auto ra = tree.state(a).retrievals(), rb = tree.state(b).retrievals();
    if (choice != ChainChoice::best && ra != rb) return choice == ChainChoice::most ? ra > rb : ra < rb;
    return better(a, b);
  });
}

}  // namespace espalier::output
