#pragma once

#include <espalier/method/decex/prompts.hpp>
#include <espalier/method/decex/search.hpp>
#include <espalier/method/method.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/output/dpo.hpp>
#include <espalier/output/sft.hpp>
#include <espalier/search/layered.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// DecEx-RAG as a run sees it. `expand` grows trees. `answer` runs the policy loop, or a search without gold.
class DecExRagFace final : public Method {
 public:
  DecExRagFace() : Method(decex_prompts(), decex_examples()) {
    options_.describe(table_);
    table_
        .add("inference", inference_,
             "what `answer` runs: the policy loop, or the expansion under the agreement of rollouts",
             {"policy", "expansion"})
        .add("chain", dpo_.choice,
             "which correct chain becomes SFT rows and preference pairs, by its number of retrievals",
             {"best", "most", "least", "random"})
        .add("decision_value", dpo_.decision_value,
             "what a decision is worth in preference pairs: its best execution or their mean", {"best", "mean"})
        .add("margin", dpo_.margin, "least difference of two rewards that make a preference pair", Range::at_least(0));
  }

  /// Both presets are the defaults: the published code could not be read, so `code` follows the paper alone.
  void preset(const std::string& name) override { of_paper(name); }

  void check() const override {
    Method::check();
    if (curtails() && reward_ == Reward::agreement)
      bad_option("reward", "agreement", "another one with curtail: it has no value for one rollout");
  }

  [[nodiscard]] bool asks(const std::string& purpose, bool answering) const override {
    const bool policy = options_.form == DecExRagOptions::Form::policy;
    if (!policy && !(answering && inference_ == Inference::policy)) return true;
    return purpose == "rollout" || purpose == "forced_answer";
  }
  [[nodiscard]] bool needs_gold() const override { return reward_ != Reward::agreement; }
  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return (*search_)(std::move(root), seed); }

  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override {
    if (inference_ == Inference::expansion) return (*label_free_)(std::move(root), seed);
    const Seed start(seed, root.question().id);
    return policy_(*loop_, std::move(root), start);
  }

  [[nodiscard]] std::vector<Product> products() const override {
    return {Product("sft.jsonl",
                    [this](const output::TreeRecord& record, std::string& rows) {
                      output::append_sft_rows(record, prompts_in_use(), {dpo_.choice, dpo_.profile}, rows);
                    }),
            Product("dpo.jsonl", [this](const output::TreeRecord& record, std::string& rows) {
              output::append_dpo_rows(record, prompts_in_use(), dpo_, rows);
            })};
  }

 private:
  enum class Inference : std::uint8_t { policy, expansion };

  [[nodiscard]] bool curtails() const { return options_.curtail != DecExRagOptions::Curtail::none; }
  [[nodiscard]] std::uint32_t max_rounds() const override { return options_.rollout_rounds; }
  void build(rag::Environment loop) override {
    options_.budget = budget();
    dpo_.rollouts = curtails() ? options_.n : 0;
    search_ = std::make_unique<DecExRag>(options_, loop, reward());
    DecExRagOptions agreeing = options_;
    agreeing.curtail = DecExRagOptions::Curtail::none;
    label_free_ = std::make_unique<DecExRag>(agreeing, loop, rag::Agreement());
    loop_.emplace(loop.limited_to(options_.T_max));
    policy_ = PolicyLoop(budget());
  }

  DecExRagOptions options_;
  Inference inference_ = Inference::policy;
  output::DpoOptions dpo_;
  std::optional<rag::Environment> loop_;
  std::unique_ptr<DecExRag> search_, label_free_;
  PolicyLoop policy_;
};

inline const Registered<DecExRagFace> decex("decex");

}  // namespace espalier::method::detail
