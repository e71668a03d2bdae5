#pragma once

#include <espalier/method/method.hpp>
#include <espalier/method/reasonrag/process_rewards.hpp>
#include <espalier/method/reasonrag/search.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/search/layered.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// ReasonRAG as a run sees it. `expand` searches and makes preference pairs, `answer` follows the policy.
class ReasonRagFace final : public Method {
 public:
  ReasonRagFace() : Method(reasonrag_prompts(), reasonrag_examples()) {
    sampling_.temperature = 1;
    own_["judge"].temperature = 0;
    options_.describe(table_);
    pairs_.describe(table_);
  }

  void preset(const std::string& name) override {
    const bool paper = of_paper(name);
    options_.value = paper ? ReasonRagOptions::Value::rollouts : ReasonRagOptions::Value::judge;
    options_.decay = paper ? 0.9 : 0.95;
    pairs_.alpha = 0.9;
    pairs_.leaves = paper ? ProcessRewardOptions::Leaves::all : ProcessRewardOptions::Leaves::free;
    if (paper) return;
    options_.c = 1.414;
    options_.max_rounds = 3;  // of 7 nodes: query and evidence three times, then reasoning
    options_.last_word = true;
    options_.answer_rounds = 4;
    pairs_.profile = rag::Profile::reasonrag;
  }

  void check() const override {
    Method::check();
    if (pairs_.leaves == ProcessRewardOptions::Leaves::all && options_.value == ReasonRagOptions::Value::judge)
      bad_option("leaves", "all", "answers, free where a judge gives the values");
  }

  [[nodiscard]] bool asks(const std::string& purpose, bool answering) const override {
    return purpose != "judge" || (!answering && options_.value == ReasonRagOptions::Value::judge);
  }
  [[nodiscard]] bool needs_gold() const override {
    return reward_ != Reward::agreement || options_.value == ReasonRagOptions::Value::judge;
  }
  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return (*search_)(std::move(root), seed); }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override {
    return policy_(*steps_, root, Seed(seed, root.question().id));
  }
  [[nodiscard]] std::vector<Product> products() const override {
    return {Product("dpo.jsonl", [this](const output::TreeRecord& record, std::string& rows) {
      append_sibling_pairs(record, prompts_in_use(), pairs_, rows);
    })};
  }

 private:
  void build(rag::Environment loop) override {
    options_.budget = budget();
    search_ = std::make_unique<ReasonRag>(options_, loop, reward());
    steps_.emplace(std::move(loop), options_.answer_rounds);
    policy_ = PolicyLoop(budget());
  }
  ReasonRagOptions options_;
  ProcessRewardOptions pairs_;
  std::optional<ReasonRagEnvironment> steps_;
  std::unique_ptr<ReasonRag> search_;
  PolicyLoop policy_;
};

inline const Registered<ReasonRagFace> reasonrag("reasonrag");

}  // namespace espalier::method::detail
