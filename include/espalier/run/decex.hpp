#pragma once

#include <espalier/method/decex_rag.hpp>
#include <espalier/output/dpo.hpp>
#include <espalier/output/sft.hpp>
#include <espalier/run/rag_method.hpp>
#include <espalier/search/policy_loop.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// DecEx-RAG as a run knows it: `expand` grows its trees, `answer` runs its policy loop, or its expansion under a reward
/// that needs no gold.
class DecExMethod final : public RagMethod {
 public:
  DecExMethod() : RagMethod(method::decex_prompts()) {
    table_.add("k", options_.k, "samples a decision", "1 or more")
        .add("n", options_.n, "rollouts an execution", "1 or more")
        .add("T_max", options_.T_max, "rounds; then the answer is forced", "1 or more")
        .add("threshold", options_.threshold, "a value strictly above it is enough", "0 to 1")
        .add("search", options_.search, "the modes of the paper's Table 2", {"pruned", "no_pruning", "full_node"})
        .add("termination", options_.termination, "what ends a search: the vote of the samples, the mean reward of their answers, or both",
             {"vote", "mean_f1", "vote_and_f1"})
        .add("always_expand_both", options_.always_expand_both, "expand retrieval also where own knowledge passes", "true, false")
        .add("compare_across", options_.compare_across, "own knowledge below the threshold still competes with the queries", "true, false")
        .add("rollout_rounds", options_.rollout_rounds, "rounds on a rollout's path; then its answer is forced", "1 or more")
        .add("inference", inference_, "what `answer` runs: the policy loop, or the expansion under the agreement of rollouts", {"policy", "expansion"})
        .add("chain", sft_.choice, "which correct chain becomes training data, by its number of retrievals", {"best", "most", "least", "random"})
        .add("decision_value", dpo_.decision_value, "what a decision is worth in preference pairs: its best execution or their mean", {"best", "mean"})
        .add("margin", dpo_.margin, "least difference of two rewards that make a preference pair", "0 or more");
  }

  /// Both are the defaults: no code was published.
  void preset(const std::string& name) override {
    if (name != "paper" && name != "code") bad_option("preset", name, "paper, code");
  }

  void check() const override {
    RagMethod::check();
    checked(options_);
    if (!(dpo_.margin >= 0)) bad_option("margin", dpo_.margin, "0 or more");
  }

  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return (*search_)(std::move(root), seed); }

  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override {
    if (inference_ == Inference::expansion) return (*label_free_)(std::move(root), seed);
    const Seed start(seed, root.question().id);
    return policy_(*loop_, std::move(root), start);
  }

  [[nodiscard]] std::vector<Product> products() const override {
    return {Product("sft.jsonl", [this](const output::TreeRecord& record, std::string& rows) { output::append_sft_rows(record, prompts_in_use(), sft_, rows); }),
            Product("dpo.jsonl", [this](const output::TreeRecord& record, std::string& rows) { output::append_dpo_rows(record, prompts_in_use(), dpo_, rows); })};
  }

 private:
  enum class Inference : std::uint8_t { policy, expansion };

  [[nodiscard]] std::uint32_t max_rounds() const override { return options_.rollout_rounds; }
  void build(rag::Environment loop) override {
    options_.budget = budget();
    loop_.emplace(std::move(loop));
    search_ = std::make_unique<method::DecExRag<rag::AnyReward>>(options_, *loop_, reward());
    label_free_ = std::make_unique<method::DecExRag<rag::AnyReward>>(options_, *loop_, rag::AnyReward(rag::Agreement()));
    policy_ = PolicyLoop(budget());
  }

  method::DecExOptions options_;
  Inference inference_ = Inference::policy;
  output::SftOptions sft_;
  output::DpoOptions dpo_;
  std::optional<rag::Environment> loop_;
  std::unique_ptr<method::DecExRag<rag::AnyReward>> search_, label_free_;
  PolicyLoop policy_;
};

}  // namespace espalier::run
