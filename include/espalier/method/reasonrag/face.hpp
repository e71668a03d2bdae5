#pragma once

#include <espalier/method/rag_method.hpp>
#include <espalier/method/reasonrag/detail/examples.hpp>
#include <espalier/method/reasonrag/process_rewards.hpp>
#include <espalier/method/reasonrag/search.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/search/policy_loop.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// ReasonRAG as a run sees it. `expand` searches and makes preference pairs, `answer` follows the policy.
class ReasonRagFace final : public RagMethod {
 public:
  ReasonRagFace() : RagMethod(reasonrag_prompts(), reasonrag_examples()) {
    sampling_.temperature = 1;
    own_["judge"].temperature = 0;
    table_.add("simulations", options_.simulations, "simulations per tree", "1 or more")
        .add("children", options_.children, "samples per node", "1 to 255")
        .add("c", options_.c, "exploration weight of UCT", "0 or more")
        .add("max_rounds", options_.max_rounds, "retrievals on one path, then the answer is forced", "1 or more")
        .add("last_word", options_.last_word,
             "after the last retrieval of a search a reasoning is free, and only below its query the answer is forced",
             "true, false")
        .shown_if_changed()
        .add("answer_rounds", options_.answer_rounds, "retrievals of `answer`, then the answer is forced", "1 or more")
        .add("window", options_.window, "simulations under way in one tree", "1 to 65535")
        .add("value", options_.value, "what a state is worth: a judge's score given the gold answer, or rollouts",
             {"judge", "rollouts"})
        .add("n", options_.n, "rollouts per state", "1 or more")
        .add("decay", options_.decay, "what each step leaves of a terminal reward during the search",
             "above 0, up to 1")
        .add("alpha", pairs_.alpha, "what each step leaves of an answer's F1 in preference pairs", "above 0, up to 1")
        .add("leaves", pairs_.leaves,
             "leaves with a reward in preference pairs: with an answer, with an answer that was not forced, or all by "
             "their own value",
             {"answers", "free", "all"})
        .add("profile", pairs_.profile, "scoring profile of F1 in preference pairs", rag::detail::profile_names())
        .add("margin", pairs_.margin, "least difference of two rewards that make a preference pair", "0 or more");
  }

  void preset(const std::string& name) override {
    if (of_paper(name)) {
      options_.value = ReasonRagOptions::Value::rollouts;
      options_.decay = pairs_.alpha = 0.9;
      pairs_.leaves = ProcessRewardOptions::Leaves::all;
    } else {
      options_.value = ReasonRagOptions::Value::judge;
      options_.decay = 0.95;
      options_.c = 1.414;
      options_.max_rounds = 3;  // of 7 nodes: query and evidence three times, then reasoning
      options_.last_word = true;
      options_.answer_rounds = 4;
      pairs_.alpha = 0.9;
      pairs_.leaves = ProcessRewardOptions::Leaves::free;
      pairs_.profile = rag::Profile::reasonrag;
    }
  }

  void check() const override {
    RagMethod::check();
    checked(options_);
    if (!(pairs_.alpha > 0 && pairs_.alpha <= 1)) bad_option("alpha", pairs_.alpha, "above 0, up to 1");
    if (pairs_.leaves == ProcessRewardOptions::Leaves::all && options_.value == ReasonRagOptions::Value::judge)
      bad_option("leaves", "all", "answers, free where a judge gives the values");
    if (!(pairs_.margin >= 0)) bad_option("margin", pairs_.margin, "0 or more");
  }

  [[nodiscard]] bool asks(const std::string& purpose, bool answering) const override {
    return purpose != "judge" || (!answering && options_.value == ReasonRagOptions::Value::judge);
  }
  [[nodiscard]] bool needs_gold() const override {
    return reward_ != Reward::agreement || options_.value == ReasonRagOptions::Value::judge;
  }
  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return (*search_)(std::move(root), seed); }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override {
    const Seed start(seed, root.question().id);
    return policy_(*steps_, std::move(root), start);
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
