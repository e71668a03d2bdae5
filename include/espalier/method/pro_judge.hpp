#pragma once

#include <espalier/method/pro_prompts.hpp>
#include <espalier/output/step_format.hpp>
#include <espalier/rag/sampler.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

struct ProJudgeOptions {
  std::uint32_t min_visits = 3;  ///< children with fewer are not looked into
  bool sees_stats = false;       ///< shows each candidate's mean value and visits, which leak the outcome (published code)
};

/// A logical judge of siblings (ProRAG, section 3.2): one call a parent lists all its visited children that keep the schema,
/// if there are two or more, and names at most one pair. It sees no outcome unless the options say so, and never gold.
///
/// Annotates the preferred child with "preferred_over" = the other's id, the parent with "judged" = 1, or 0 if no candidate
/// was better; the judge's words stand as the remark "preferred_over". A reply that cannot be read, or names a candidate
/// that is not there, is no verdict.
class ProJudge {
 public:
  ProJudge(const ProJudgeOptions& options, rag::Sampler sampler) : options_(options), sampler_(std::move(sampler)) {}

  /// This object must outlive the task.
  Task<void> operator()(rag::Tree* tree) { return judge(this, tree); }

 private:
  struct Asked {
    NodeId parent = no_node;
    Seed seed{};
    std::vector<NodeId> candidates{};
  };

  static Task<void> judge(ProJudge* self, rag::Tree* tree) {
    const std::vector<Asked> asked = self->parents(*tree);
    std::vector<Task<std::vector<rag::Sample>>> draws;
    for (const Asked& one : asked) {
      const Context context(one.seed, 0, &tree->ledger);
      draws.push_back(self->sampler_.draw("judge", self->slots(*tree, one), 1, context));
    }
    const auto verdicts = co_await gather(std::move(draws));
    forget(*tree);
    for (std::size_t i = 0; i < asked.size(); ++i) enter(*tree, asked[i], verdicts[i].front());
  }
  /// What an earlier judge said.
  static void forget(rag::Tree& tree) {
    tree.annotations.erase("preferred_over");
    tree.annotations.erase("judged");
    std::erase_if(tree.remarks, [](const Remark& remark) { return remark.name == "preferred_over"; });
  }
  static void enter(rag::Tree& tree, const Asked& asked, const rag::Sample& sample) {
    if (!sample.reply) return;
    const rag::Preference said = *rag::read_preference(sample.reply->content);
    if (said.better > asked.candidates.size() || said.worse > asked.candidates.size()) return;
    tree.annotate("judged", asked.parent, said.better > 0);
    if (said.better == 0) return;
    const NodeId chosen = asked.candidates[said.better - 1];
    tree.annotate("preferred_over", chosen, asked.candidates[said.worse - 1]);
    tree.remarks.push_back({"preferred_over", chosen, sample.reply->thought});
  }

  /// The parents to ask about, from the root down through children with enough visits.
  [[nodiscard]] std::vector<Asked> parents(const rag::Tree& tree) const {
    std::vector<Asked> asked, open{{tree.root(), tree.seed, {}}};
    while (!open.empty()) {
      Asked one = std::move(open.back());
      open.pop_back();
      std::uint64_t ordinal = 0;
      for (const NodeId child : tree.children(one.parent)) {
        if (tree[child].visits > 0 && output::well_formed(tree, child)) one.candidates.push_back(child);
        if (tree[child].visits >= options_.min_visits) open.push_back({child, one.seed.child(ordinal), {}});
        ++ordinal;
      }
      if (one.candidates.size() >= 2) asked.push_back(std::move(one));
    }
    return asked;
  }
  [[nodiscard]] std::vector<std::pair<std::string, rag::Rendering>> slots(const rag::Tree& tree, const Asked& one) const {
    const Protocol& protocol = *sampler_.prompts().protocol();
    const rag::State& from = tree.state(one.parent);
    rag::Rendering candidates;
    for (std::size_t i = 0; i < one.candidates.size(); ++i) {
      const auto& node = tree[one.candidates[i]];
      candidates.text += "Candidate " + std::to_string(i + 1) + ":\n";
      if (options_.sees_stats) candidates.text += "(mean value " + shown(node.mean()) + ", visits " + std::to_string(node.visits) + ")\n";
      const auto begin = static_cast<std::uint32_t>(candidates.text.size());
      candidates.text += output::step_text(tree.action(one.candidates[i]), protocol);
      candidates.spans.push_back({"candidate", begin, static_cast<std::uint32_t>(candidates.text.size())});
      candidates.text += '\n';
    }
    std::vector<std::pair<std::string, rag::Rendering>> slots;
    slots.emplace_back("question", rag::render_text(from.question().text));
    slots.emplace_back("history", rag::render_history(from.transcript(), protocol));
    slots.emplace_back("candidates", std::move(candidates));
    return slots;
  }
  static std::string shown(double value) {
    char buffer[64];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 2).ptr};
  }

  ProJudgeOptions options_;
  rag::Sampler sampler_;
};

}  // namespace espalier::method
