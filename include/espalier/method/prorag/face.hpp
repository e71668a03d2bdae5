#pragma once

#include <espalier/method/method.hpp>
#include <espalier/method/prorag/cold_start.hpp>
#include <espalier/method/prorag/detail/guide.hpp>
#include <espalier/method/prorag/detail/judge.hpp>
#include <espalier/method/prorag/group_rollouts.hpp>
#include <espalier/method/prorag/step_rows.hpp>
#include <espalier/method/registry.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// ProRAG as a run sees it. `expand` runs its search or samples groups of trajectories, and annotates what its products
/// need. `answer` follows the policy, with guidance by process rewards if chosen.
class ProRagFace final : public Method {
 public:
  ProRagFace() : Method(prorag_prompts(), prorag_examples()) {
    sampling_.temperature = 0.9;
    sampling_.top_p = 0.95;
    reward_ = Reward::em;
    for (const char* judging : {"judge", "process_reward"}) own_[judging].temperature = 0;
    options_.describe(table_);
    table_.add("profile", profile_, "scoring profile of the outcome", rag::detail::profile_names())
        .add("annotate", annotate_, "what `expand` adds to a finished tree",
             {"none", "judge", "prm", "both", "cold_start"});
    judge_.describe(table_);
    refinement_.describe(table_);
    table_.add("chain", sft_.choice, "which correct path becomes sft.jsonl", {"best", "most", "least", "random"})
        .add("mark_weight", lambda_,
             "weight of control marks in rows of steps (lambda of Eq. 1), 0 = 5, 3, 2 and 1 as in the published code",
             Range::above(1).or_zero());
    advantage_.describe(table_);
    guide_.describe(table_);
  }

  void preset(const std::string& name) override {
    using O = ProRagOptions;
    const bool paper = of_paper(name);
    options_.prior.source = paper ? PriorSource::sum_logprob : PriorSource::uniform;
    options_.visits = paper ? O::Visits::children : O::Visits::parent;
    options_.discount = paper ? O::Discount::from_end : O::Discount::per_edge;
    options_.simulate = paper ? O::Simulate::first : O::Simulate::random;
    options_.distinct = O::Distinct::step;
    options_.answer_depth = paper ? 10 : 13;
    options_.force_answer = options_.solve = false;
    reward_ = paper ? Reward::em : Reward::f1;
    profile_ = paper ? rag::Profile::common : rag::Profile::prorag;
    dedup_ = rag::Environment::Dedup::exact;
    judge_.sees_stats = !paper;
    judge_.compare = paper ? ProJudgeOptions::Compare::pairs : ProJudgeOptions::Compare::all;
    lambda_ = paper ? 2 : 0;
    advantage_.normalise = paper ? AdvantageOptions::Normalise::step : AdvantageOptions::Normalise::token;
    advantage_.rewards = paper ? AdvantageOptions::Rewards::paper : AdvantageOptions::Rewards::code;
    advantage_.bonus = paper ? AdvantageOptions::Bonus::retrieved : AdvantageOptions::Bonus::always;
    refinement_.threshold = paper ? 0 : -1e-9;  // the code uses 0 as well
    if (!paper) own_["rollout"].temperature = 0;
  }

  void check() const override {
    Method::check();
    if (reward_ == Reward::agreement && (options_.rollouts == 1 || options_.grow == ProRagOptions::Grow::group))
      bad_option("reward", "agreement", "another one where a node has one end: that agrees with itself");
  }

  [[nodiscard]] bool asks(const std::string& purpose, bool answering) const override {
    using Grow = ProRagOptions::Grow;
    const bool guided = guide_.guide != ProGuideOptions::Guide::none;
    if (purpose == "step") return answering ? guided : options_.grow != Grow::none;
    if (purpose == "rollout") return answering ? !guided : options_.grow == Grow::search;
    if (purpose == "forced_answer") return answering && (options_.force_answer || budget().limited());
    if (answering) return guided && purpose == "process_reward";
    if (purpose == "judge") return adds(Annotate::judge);
    return adds(purpose == "process_reward" ? Annotate::prm : Annotate::cold_start);
  }
  [[nodiscard]] bool needs_gold() const override {
    return reward_ != Reward::agreement || annotate_ == Annotate::cold_start;
  }
  [[nodiscard]] bool retrieves() const override { return options_.grow != ProRagOptions::Grow::none; }
  [[nodiscard]] bool answers() const override { return options_.grow != ProRagOptions::Grow::none; }
  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return grown(this, std::move(root), seed); }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override { return (*policy_)(std::move(root), seed); }

  [[nodiscard]] std::vector<Product> products() const override {
    std::vector<Product> all;
    const auto add = [&all](const char* file, auto rows) { all.push_back({file, rows}); };
    add("prm.jsonl", [this](const auto& tree, auto& out) { append_prm_pairs(tree, prompts_in_use(), out); });
    add("rft.jsonl", [this](const auto& tree, auto& out) {
      unscored_ += append_rft_rows(tree, prompts_in_use(), refinement_, out);
    });
    add("sft.jsonl",
        [this](const auto& tree, auto& out) { append_step_sft_rows(tree, prompts_in_use(), sft_, lambda_, out); });
    add("cold_start.jsonl", [this](const auto& tree, auto& out) {
      unlike_ += !append_cold_start_rows(tree, prompts_in_use(), lambda_, out);
    });
    add("rollouts.jsonl", [this](const auto& tree, auto& out) {
      if (options_.grow == ProRagOptions::Grow::group)
        append_group_rollouts(tree, prompts_in_use(), advantage_, profile_, out);
    });
    return all;
  }
  [[nodiscard]] std::map<std::string, std::string> notes() const override {
    std::map<std::string, std::string> notes;
    const auto note = [&notes](const char* file, std::size_t count, const char* what) {
      if (count > 0) notes[file] += (notes[file].empty() ? "" : ". ") + std::to_string(count) + what;
    };
    note("rft.jsonl", unscored_,
         " steps of right paths were left out: they have no process reward (annotate with prm)");
    note("cold_start.jsonl", cold_start_ ? cold_start_->without_chain : 0,
         " questions were left out: they have no gold chain with the text of each passage");
    note("cold_start.jsonl", unlike_, " gold chains of h steps were left out: they were not told in 2 h + 1 thoughts");
    return notes;
  }

 private:
  enum class Annotate : std::uint8_t { none, judge, prm, both, cold_start };

  [[nodiscard]] bool adds(Annotate one) const {
    return annotate_ == one || (annotate_ == Annotate::both && one != Annotate::cold_start);
  }
  [[nodiscard]] Sampling sampling(const std::string& purpose) const override {
    Sampling chosen = sampling_;
    chosen.logprobs = purpose == "step" && options_.prior.softmax();
    return chosen;
  }
  void build(rag::Environment loop) override {
    options_.budget = budget();
    sft_.profile = refinement_.profile = profile_;
    search_ = std::make_unique<ProRag>(options_, loop, reward(profile_));
    policy_ = std::make_unique<ProRagGuide>(guide_, options_, loop);
    preference_ = std::make_unique<ProRagJudge>(judge_, loop.sampler());
    process_ = std::make_unique<ProcessReward>(loop.sampler());
    cold_start_ = std::make_unique<ColdStart>(loop.sampler());
  }
  static Task<rag::Tree> grown(ProRagFace* self, rag::State root, std::uint64_t seed) {
    std::vector<std::string> with;
    if (self->adds(Annotate::judge)) with.emplace_back("judge");
    if (self->adds(Annotate::prm)) with.emplace_back("prm");
    if (self->adds(Annotate::cold_start)) with.emplace_back("cold_start");
    rag::Tree tree = co_await (*self->search_)(std::move(root), seed);
    co_return co_await self->annotate(std::move(tree), std::move(with));
  }
  Task<void> annotate_with(const std::string& name, rag::Tree* tree) override {
    if (name == "judge") return (*preference_)(tree);
    if (name == "prm") return process_->annotate(tree);
    if (name == "cold_start") return (*cold_start_)(tree);
    bad_option("with", name, "judge, prm, cold_start, embedding");
  }

  ProRagOptions options_;
  ProJudgeOptions judge_;
  ProGuideOptions guide_;
  rag::Profile profile_ = rag::Profile::common;
  Annotate annotate_ = Annotate::judge;
  output::SftOptions sft_{.choice = output::ChainChoice::best};
  RefinementOptions refinement_;
  double lambda_ = 0;
  AdvantageOptions advantage_;
  mutable std::size_t unscored_ = 0;  ///< steps of right paths without a score, left out of rft.jsonl
  mutable std::size_t unlike_ = 0;    ///< gold chains told in another number of thoughts
  std::unique_ptr<ProRag> search_;
  std::unique_ptr<ProRagGuide> policy_;
  std::unique_ptr<ProRagJudge> preference_;
  std::unique_ptr<ProcessReward> process_;
  std::unique_ptr<ColdStart> cold_start_;
};

inline const Registered<ProRagFace> prorag("prorag");

}  // namespace espalier::method::detail
