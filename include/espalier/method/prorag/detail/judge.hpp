#pragma once

#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/method/option_check.hpp>
#include <espalier/method/prorag/prompts.hpp>
#include <espalier/method/prorag/step_format.hpp>
#include <espalier/rag/sampler.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::method::detail {

struct ProJudgeOptions {
  enum class Compare : std::uint8_t { all, pairs };  ///< one call per parent names at most one pair (code), or paper
  Compare compare = Compare::all;
  std::uint32_t min_visits = 3;  ///< of a node below the root
  bool sees_stats = false;       ///< each candidate's mean and visits, as in the published code

  void describe(auto& table) {
    table
        .add("compare", compare, "siblings judged all in one call, or every two in a call of their own",
             {"all", "pairs"})
        .add("judge_visits", min_visits, "visits that a node needs before its children are compared",
             Range::at_least(1))
        .add("judge_sees_stats", sees_stats, "the judge sees values and visits (reveals outcomes)");
  }
};

/// A judge of siblings (ProRAG, section 3.2). The candidates are a parent's visited children that keep the schema. They
/// are compared all at once or in pairs. The judge never sees gold. It sees outcomes only with `sees_stats`.
///
/// Its annotations and remarks stand on the docs page "prorag". An unreadable reply is ignored.
class ProRagJudge {
 public:
  static constexpr std::string_view annotation = "preferred_over";

  ProRagJudge(const ProJudgeOptions& options, rag::Sampler sampler) : options_(options), sampler_(std::move(sampler)) {}

  /// This object must outlive the task.
  template <class = void>
  Task<void> operator()(rag::Tree* tree) {
    const std::vector<Comparison> asked = comparisons(*tree);
    std::vector<Task<std::vector<rag::Sampler::Sample>>> draws;
    for (const Comparison& one : asked) {
      const Context context(one.seed, 0, &tree->ledger);
      draws.push_back(sampler_.draw("judge", slots(*tree, one), 1, context));
    }
    const auto verdicts = co_await gather(std::move(draws));
    forget(*tree);
    for (std::size_t i = 0; i < asked.size(); ++i) record(*tree, asked[i], verdicts[i].front());
  }

 private:
  struct Comparison {
    NodeId parent = no_node;
    Seed seed{};
    std::vector<NodeId> candidates{};
  };

  /// Removes what an earlier judge said.
  static void forget(rag::Tree& tree) {
    std::erase_if(tree.annotations,
                  [](const auto& named) { return named.first.starts_with(annotation) || named.first == "judged"; });
    std::erase_if(tree.remarks, [](const SearchFacts::Remark& remark) { return remark.name.starts_with(annotation); });
  }
  static void record(rag::Tree& tree, const Comparison& asked, const rag::Sampler::Sample& sample) {
    if (!sample.reply) return;
    const rag::detail::Preference said = *rag::detail::read_preference(sample.reply->content);
    if (said.better > asked.candidates.size() || said.worse > asked.candidates.size()) return;
    const double before = tree.annotation("judged", asked.parent);
    tree.annotate("judged", asked.parent, (std::isnan(before) ? 0 : before) + (said.better > 0));
    if (said.better == 0) return;
    const NodeId chosen = asked.candidates[said.better - 1];
    std::string name(annotation);
    for (int nth = 2; !std::isnan(tree.annotation(name, chosen)); ++nth)
      name = std::string(annotation) + '.' + std::to_string(nth);
    tree.annotate(name, chosen, asked.candidates[said.worse - 1]);
    tree.remarks.push_back({name, chosen, sample.reply->thought});
  }

  /// What to ask, from the root down through children with enough visits.
  [[nodiscard]] std::vector<Comparison> comparisons(const rag::Tree& tree) const {
    std::vector<Comparison> asked, open{{tree.root(), tree.seed, {}}};
    while (!open.empty()) {
      Comparison one = std::move(open.back());
      open.pop_back();
      std::uint64_t ordinal = 0;
      for (const NodeId child : tree.children(one.parent)) {
        if (tree[child].visits > 0 && well_formed(tree, child)) one.candidates.push_back(child);
        if (tree[child].visits >= options_.min_visits) open.push_back({child, one.seed.child(ordinal), {}});
        ++ordinal;
      }
      if (options_.compare == ProJudgeOptions::Compare::pairs) {
        for (std::size_t i = 0; i < one.candidates.size(); ++i)
          for (std::size_t j = i + 1; j < one.candidates.size(); ++j)
            asked.push_back({one.parent, one.seed, {one.candidates[i], one.candidates[j]}});
      } else if (one.candidates.size() >= 2) {
        asked.push_back(std::move(one));
      }
    }
    return asked;
  }
  [[nodiscard]] Slots slots(const rag::Tree& tree, const Comparison& one) const {
    const Protocol& protocol = *sampler_.prompts().protocol();
    const rag::State& from = tree.state(one.parent);
    rag::Rendering candidates;
    for (std::size_t i = 0; i < one.candidates.size(); ++i) {
      const auto& node = tree[one.candidates[i]];
      candidates.text += "Candidate " + std::to_string(i + 1) + ":\n";
      if (options_.sees_stats)
        candidates.text += "(mean value " + shown(node.mean()) + ", visits " + std::to_string(node.visits) + ")\n";
      const auto begin = static_cast<std::uint32_t>(candidates.text.size());
      candidates.text += step_text(tree.action(one.candidates[i]), protocol);
      candidates.spans.push_back({"candidate", begin, static_cast<std::uint32_t>(candidates.text.size())});
      candidates.text += '\n';
    }
    Slots slots = history_slots(from.question(), from.transcript(), protocol);
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

}  // namespace espalier::method::detail
