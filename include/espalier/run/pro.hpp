#pragma once

#include <espalier/method/pro_guide.hpp>
#include <espalier/method/pro_judge.hpp>
#include <espalier/output/group_rollouts.hpp>
#include <espalier/output/step_rows.hpp>
#include <espalier/run/rag_method.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// ProRAG as a run knows it: `expand` searches, or samples groups of trajectories, and annotates what its products need;
/// `answer` follows the policy, guided by process rewards if it shall.
class ProRagMethod final : public RagMethod {
 public:
  ProRagMethod() : RagMethod(method::pro_prompts()) {
    std::vector<std::string> profiles;
    for (const rag::MetricRules& rules : rag::metric_rules) profiles.emplace_back(rules.name);
    sampling_.temperature = 0.9;
    sampling_.top_p = 0.95;
    reward_ = Reward::em;
    for (const char* judging : {"judge", "process_reward"}) own_[judging].temperature = 0;
    table_.add("grow", options_.grow, "trees of the search, or groups of independent trajectories", {"search", "group"})
        .add("simulations", options_.simulations, "of a tree", "1 or more")
        .add("samples", options_.samples, "of a node's next step (K)", "1 to 255")
        .add("c", options_.c, "exploration weight of PUCT", "0 or more")
        .add("gamma", options_.gamma, "what each step leaves of a value", "above 0, up to 1")
        .add("discount", options_.discount, "by the steps to the trajectory's end, or by the edges above the simulated node", {"from_end", "per_edge"})
        .add("max_depth", options_.max_depth, "steps on a path of a search", "1 or more")
        .add("answer_depth", options_.answer_depth, "steps on a path of `answer` or of a group", "1 or more")
        .add("force_answer", options_.force_answer, "the last step of `answer` must answer", "true, false")
        .add("expand", options_.expand, "a node's children at once, or one a simulation", {"all", "one"})
        .add("prior", options_.prior.source, "what siblings' shares of the policy are made of", {"given", "uniform", "counts", "mean_logprob", "sum_logprob"})
        .add("tau", options_.prior.tau, "temperature of a prior from log-probabilities", "above 0")
        .add("simulate", options_.simulate, "which new child is simulated", {"first", "random"})
        .add("distinct", options_.distinct, "samples differ by thought and action, or by the action alone", {"step", "action"})
        .add("rollouts", options_.rollouts, "simulated ends a node", "1 or more")
        .add("window", options_.window, "simulations under way in one tree", "1 to 65535")
        .add("solve", options_.solve, "what has nothing new below is not selected again", "true, false")
        .add("group", options_.group, "trajectories a question (G)", "1 or more")
        .add("profile", profile_, "whose way of scoring an outcome", profiles)
        .add("annotate", annotate_, "what `expand` adds to a finished tree", {"none", "judge", "prm", "both"})
        .add("judge_visits", judge_.min_visits, "visits of a child below which siblings are compared", "1 or more")
        .add("judge_sees_stats", judge_.sees_stats, "the judge is shown values and visits, which leak the outcome", "true, false")
        .add("rft_threshold", refinement_.threshold, "process reward above which a step becomes refinement data", "a number")
        .add("chain", sft_.choice, "which correct path becomes sft.jsonl", {"best", "most", "least", "random"})
        .add("rewards", advantage_.rewards, "what steps and outcomes are worth in a group: by Eq. 5 and 6, or by the published code", {"paper", "code"})
        .add("nu_step", advantage_.nu_step, "bonus of a step that keeps the schema", "a number")
        .add("nu_outcome", advantage_.nu_outcome, "bonus of a trajectory that keeps the schema", "a number")
        .add("beta", advantage_.beta, "weight of the process advantage", "0 or more")
        .add("normalise", advantage_.normalise, "process rewards over a group's steps, or over their tokens", {"step", "token"})
        .add("guide", guide_.guide, "who chooses the steps of `answer`: the policy, or process rewards", {"none", "best_of_n", "beam"})
        .add("best_of", guide_.n, "paths of best_of_n", "1 or more")
        .add("beam", guide_.beam, "states kept a depth", "1 or more");
  }

  void preset(const std::string& name) override {
    using O = method::ProRagOptions;
    if (name != "paper" && name != "code") bad_option("preset", name, "paper, code");
    const bool paper = name == "paper";
    options_.prior.source = paper ? PriorSource::sum_logprob : PriorSource::uniform;
    options_.discount = paper ? O::Discount::from_end : O::Discount::per_edge;
    options_.simulate = paper ? O::Simulate::first : O::Simulate::random;
    options_.distinct = O::Distinct::step;
    options_.answer_depth = paper ? 10 : 13;
    options_.force_answer = options_.solve = false;
    reward_ = paper ? Reward::em : Reward::f1;
    profile_ = paper ? rag::Profile::common : rag::Profile::prorag;
    dedup_ = rag::Dedup::exact;
    judge_.sees_stats = !paper;
    advantage_.normalise = paper ? output::AdvantageOptions::Normalise::step : output::AdvantageOptions::Normalise::token;
    advantage_.rewards = paper ? output::AdvantageOptions::Rewards::paper : output::AdvantageOptions::Rewards::code;
    refinement_.threshold = paper ? 0 : -1e-9;  // the code takes 0 too
    if (!paper) own_["rollout"].temperature = 0;
  }

  void check() const override {
    RagMethod::check();
    checked(options_);
    guide_.check();
    advantage_.check();
    if (judge_.min_visits == 0) bad_option("judge_visits", judge_.min_visits, "1 or more");
    if (!std::isfinite(refinement_.threshold)) bad_option("rft_threshold", refinement_.threshold, "a number");
  }

  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return grown(this, std::move(root), seed); }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override { return (*policy_)(std::move(root), seed); }

  [[nodiscard]] std::vector<Product> products() const override {
    using output::TreeRecord;
    return {Product("prm.jsonl", [this](const TreeRecord& record, std::string& rows) { output::append_prm_pairs(record, prompts_in_use(), rows); }),
            Product("rft.jsonl", [this](const TreeRecord& record, std::string& rows) { unscored_ += output::append_rft_rows(record, prompts_in_use(), refinement_, rows); }),
            Product("sft.jsonl", [this](const TreeRecord& record, std::string& rows) { output::append_step_sft_rows(record, prompts_in_use(), sft_, rows); }),
            Product("rollouts.jsonl", [this](const TreeRecord& record, std::string& rows) {
              if (options_.grow == method::ProRagOptions::Grow::group) output::append_group_rollouts(record, prompts_in_use(), advantage_, rows);
            })};
  }
  [[nodiscard]] std::map<std::string, std::string> notes() const override {
    std::map<std::string, std::string> notes;
    if (unscored_ > 0) notes["rft.jsonl"] = std::to_string(unscored_) + " steps of right paths were left out: they have no process reward (annotate with prm)";
    return notes;
  }

 private:
  enum class Annotate : std::uint8_t { none, judge, prm, both };

  [[nodiscard]] bool logprobs(const std::string& purpose) const override { return purpose == "step" && options_.prior.softmax(); }
  void build(rag::Environment loop) override {
    options_.budget = budget();
    sft_.profile = refinement_.profile = profile_;
    search_ = std::make_unique<method::ProRag>(options_, loop, reward(profile_));
    policy_ = std::make_unique<method::ProGuide>(guide_, options_, loop);
    preference_ = std::make_unique<method::ProJudge>(judge_, loop.sampler());
    process_ = std::make_unique<method::ProcessReward>(loop.sampler());
  }
  static Task<rag::Tree> grown(ProRagMethod* self, rag::State root, std::uint64_t seed) {
    std::vector<std::string> with;
    if (self->annotate_ == Annotate::judge || self->annotate_ == Annotate::both) with.emplace_back("judge");
    if (self->annotate_ == Annotate::prm || self->annotate_ == Annotate::both) with.emplace_back("prm");
    rag::Tree tree = co_await (*self->search_)(std::move(root), seed);
    co_return co_await self->annotate(std::move(tree), std::move(with));
  }
  Task<void> annotate_with(const std::string& name, rag::Tree* tree) override {
    if (name == "judge") return (*preference_)(tree);
    if (name == "prm") return process_->annotate(tree);
    bad_option("with", name, "judge, prm, embedding");
  }

  method::ProRagOptions options_;
  method::ProJudgeOptions judge_;
  method::ProGuideOptions guide_;
  rag::Profile profile_ = rag::Profile::common;
  Annotate annotate_ = Annotate::judge;
  output::SftOptions sft_{.choice = output::ChainChoice::best};
  output::RefinementOptions refinement_;
  output::AdvantageOptions advantage_;
  mutable std::size_t unscored_ = 0;  ///< steps that rft.jsonl could not judge
  std::unique_ptr<method::ProRag> search_;
  std::unique_ptr<method::ProGuide> policy_;
  std::unique_ptr<method::ProJudge> preference_;
  std::unique_ptr<method::ProcessReward> process_;
};

}  // namespace espalier::run
