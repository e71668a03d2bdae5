#pragma once

#include <espalier/method/reason_rag.hpp>
#include <espalier/output/process_rewards.hpp>
#include <espalier/run/rag_method.hpp>
#include <espalier/search/policy_loop.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// ReasonRAG as a run knows it: `expand` searches and harvests preference pairs, `answer` follows the policy.
class ReasonRagMethod final : public RagMethod {
 public:
  ReasonRagMethod() : RagMethod(method::reason_prompts()) {
    sampling_.temperature = 1;
    own_["judge"].temperature = 0;
    table_.add("simulations", options_.simulations, "of a tree", "1 or more")
        .add("children", options_.children, "samples a node", "1 to 255")
        .add("c", options_.c, "exploration weight of UCT", "0 or more")
        .add("max_rounds", options_.max_rounds, "retrievals on a path; then the answer is forced", "1 or more")
        .add("window", options_.window, "simulations under way in one tree", "1 to 65535")
        .add("value", options_.value, "what a state is worth: a judge's score given the gold answer, or rollouts", {"judge", "rollouts"})
        .add("n", options_.n, "rollouts a state", "1 or more")
        .add("decay", options_.decay, "what each step leaves of a terminal reward during the search", "above 0, up to 1")
        .add("alpha", pairs_.alpha, "what each step leaves of an answer's F1 in preference pairs", "above 0, up to 1")
        .add("margin", pairs_.margin, "least difference of two rewards that make a preference pair", "0 or more");
  }

  void preset(const std::string& name) override {
    if (name == "paper") {
      options_.value = method::ReasonRagOptions::Value::rollouts;
      options_.decay = pairs_.alpha = 0.9;
    } else if (name == "code") {
      options_.value = method::ReasonRagOptions::Value::judge;
      options_.decay = 0.95;
      pairs_.alpha = 0.9;
    } else {
      bad_option("preset", name, "paper, code");
    }
  }

  void check() const override {
    RagMethod::check();
    checked(options_);
    if (!(pairs_.alpha > 0 && pairs_.alpha <= 1)) bad_option("alpha", pairs_.alpha, "above 0, up to 1");
    if (!(pairs_.margin >= 0)) bad_option("margin", pairs_.margin, "0 or more");
  }

  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return (*search_)(std::move(root), seed); }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override {
    const Seed start(seed, root.question().id);
    return policy_(*steps_, std::move(root), start);
  }
  [[nodiscard]] std::vector<Product> products() const override {
    return {Product("dpo.jsonl", [this](const output::TreeRecord& record, std::string& rows) { output::append_sibling_pairs(record, prompts_in_use(), pairs_, rows); })};
  }

 private:
  void build(rag::Environment loop) override {
    options_.budget = budget();
    search_ = std::make_unique<method::ReasonRag>(options_, loop, reward());
    steps_.emplace(std::move(loop), options_.max_rounds);
    policy_ = PolicyLoop(budget());
  }
  method::ReasonRagOptions options_;
  output::ProcessRewardOptions pairs_;
  std::optional<method::ReasonRagEnvironment> steps_;
  std::unique_ptr<method::ReasonRag> search_;
  PolicyLoop policy_;
};

}  // namespace espalier::run
