#pragma once

#include <espalier/method/decex_rag.hpp>
#include <espalier/output/dpo.hpp>
#include <espalier/output/sft.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/run/method.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// A search that values nothing: with one sample a step it is the plain policy loop.
struct NoValue {
  template <class Env>
  bool wants(Env&, const typename Env::State&) const {
    return false;
  }
  template <class Env>
  double operator()(Env&, const typename Env::State&) const {
    return 0;
  }
};

/// DecEx-RAG as a run knows it: `expand` grows its trees, `answer` runs its policy loop, or its expansion under a reward
/// that needs no gold.
class DecExMethod final : public Method {
 public:
  DecExMethod() {
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
        .add("max_calls", options_.max_calls, "budget a question in completions, 0 = none", "0 or more")
        .add("max_tokens_total", options_.max_tokens, "budget a question in input + output tokens, 0 = none", "0 or more")
        .add("documents", documents_, "passages a search", "1 or more")
        .add("dedup", dedup_, "what makes two samples equal", {"exact", "normalised"})
        .add("reward", reward_, "what a rollout's answer is worth", {"f1", "em", "acc", "agreement"})
        .add("resample", resample_, "new samples for a reply that cannot be read", "0 or more")
        .add("temperature", sampling_.temperature, "of every purpose", "0 or more")
        .add("top_p", sampling_.top_p, "of every purpose", "above 0, up to 1")
        .add("max_tokens", sampling_.max_tokens, "of one completion", "1 or more")
        .add("inference", inference_, "what `answer` runs: the policy loop, or the expansion under the agreement of rollouts", {"policy", "expansion"})
        .add("chain", sft_.choice, "which correct chain becomes training data, by its number of retrievals", {"best", "most", "least", "random"})
        .add("decision_value", dpo_.decision_value, "what a decision is worth in preference pairs: its best execution or their mean", {"best", "mean"})
        .add("margin", dpo_.margin, "least difference of two rewards that make a preference pair", "0 or more");
    for (const Purpose& purpose : method::decex_protocol()->purposes) {
      auto& own = own_temperatures_.emplace(purpose.name, -1.0).first->second;
      table_.add("sampling." + purpose.name + ".temperature", own, "of this purpose; below 0 = as the others", "a number");
    }
  }

  OptionTable& options() override { return table_; }
  [[nodiscard]] rag::PromptSet prompts() const override { return method::decex_prompts(); }

  void check() const override {
    checked(options_);
    if (documents_ == 0) bad_option("documents", documents_, "1 or more");
    if (!(sampling_.temperature >= 0)) bad_option("temperature", sampling_.temperature, "0 or more");
    if (!(sampling_.top_p > 0 && sampling_.top_p <= 1)) bad_option("top_p", sampling_.top_p, "above 0, up to 1");
    if (sampling_.max_tokens < 1) bad_option("max_tokens", sampling_.max_tokens, "1 or more");
    if (!(dpo_.margin >= 0)) bad_option("margin", dpo_.margin, "0 or more");
  }

  void prepare(const Ports& ports, const rag::PromptSet& prompts) override {
    rag::Sampler::Options sampling{sampling_, {}, resample_};
    for (const auto& [purpose, temperature] : own_temperatures_) {
      if (temperature < 0) continue;
      sampling.by_purpose.emplace(purpose, sampling_).first->second.temperature = temperature;
    }
    prompts_ = prompts;
    rag::Sampler sampler(ports.model, prompts, std::move(sampling));
    for (const auto& [purpose, model] : ports.models) sampler.model_for(purpose, model);
    loop_.emplace(std::move(sampler), ports.retriever, rag::Environment::Options{documents_, options_.rollout_rounds, dedup_});
    search_ = std::make_unique<method::DecExRag<rag::AnyReward>>(options_, *loop_, reward());
    label_free_ = std::make_unique<method::DecExRag<rag::AnyReward>>(options_, *loop_, rag::AnyReward(rag::Agreement()));
  }

  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return (*search_)(std::move(root), seed); }

  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override {
    if (inference_ == Inference::expansion) return (*label_free_)(std::move(root), seed);
    const Seed start(seed, root.question().id);
    return policy_(*loop_, std::move(root), start);
  }

  [[nodiscard]] std::vector<Product> products() const override {
    return {Product("sft.jsonl", [this](const output::TreeRecord& record, std::string& rows) { output::append_sft_rows(record, *prompts_, sft_, rows); }),
            Product("dpo.jsonl", [this](const output::TreeRecord& record, std::string& rows) { output::append_dpo_rows(record, *prompts_, dpo_, rows); })};
  }

 private:
  enum class Reward : std::uint8_t { f1, em, acc, agreement };
  enum class Inference : std::uint8_t { policy, expansion };

  [[nodiscard]] rag::AnyReward reward() const {
    switch (reward_) {
      case Reward::em: return rag::AnyReward(rag::ExactMatch());
      case Reward::acc: return rag::AnyReward(rag::Accuracy());
      case Reward::agreement: return rag::AnyReward(rag::Agreement());
      case Reward::f1: break;
    }
    return rag::AnyReward(rag::F1());
  }

  method::DecExOptions options_;
  std::uint32_t documents_ = 3;
  rag::Dedup dedup_ = rag::Dedup::normalised;
  Reward reward_ = Reward::f1;
  std::uint32_t resample_ = 2;
  Sampling sampling_{.temperature = 0.7};
  std::map<std::string, double> own_temperatures_;
  Inference inference_ = Inference::policy;
  output::SftOptions sft_;
  output::DpoOptions dpo_;
  OptionTable table_;
  std::optional<rag::PromptSet> prompts_;
  std::optional<rag::Environment> loop_;
  std::unique_ptr<method::DecExRag<rag::AnyReward>> search_, label_free_;
  Layered<NoValue> policy_{{.width = 1}, NoValue(), KeepAll(), KeepAll(), TopK(1)};
};

/// The method of that name. Throws std::invalid_argument that names the nearest one.
inline std::unique_ptr<Method> make_method(const std::string& name) {
  if (name == "decex") return std::make_unique<DecExMethod>();
  throw std::invalid_argument("unknown method '" + name + "', did you mean 'decex'?");
}

}  // namespace espalier::run
