#pragma once

#include <espalier/method/prorag/cold_start.hpp>
#include <espalier/method/prorag/detail/examples.hpp>
#include <espalier/method/prorag/detail/guide.hpp>
#include <espalier/method/prorag/detail/judge.hpp>
#include <espalier/method/prorag/group_rollouts.hpp>
#include <espalier/method/prorag/step_rows.hpp>
#include <espalier/method/rag_method.hpp>
#include <espalier/method/registry.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// ProRAG as a run sees it. `expand` runs its search or samples groups of trajectories, and annotates what its products
/// need. `answer` follows the policy, with guidance by process rewards if chosen.
class ProRagFace final : public RagMethod {
 public:
  ProRagFace() : RagMethod(prorag_prompts(), prorag_examples()) {
    sampling_.temperature = 0.9;
    sampling_.top_p = 0.95;
    reward_ = Reward::em;
    for (const char* judging : {"judge", "process_reward"}) own_[judging].temperature = 0;
    table_
        .add("grow", options_.grow,
             "trees of the search, groups of independent trajectories, or nothing but the question",
             {"search", "group", "none"})
        .add("simulations", options_.simulations, "simulations per tree", "1 or more")
        .add("samples", options_.samples, "samples of a node's next step (K)", "1 to 255")
        .add("c", options_.c, "exploration weight of PUCT", "0 or more")
        .add("puct_visits", options_.visits,
             "what stands under the square root of PUCT: a parent's visits, or the sum of its children's (Eq. 2)",
             {"parent", "children"})
        .add("gamma", options_.gamma, "discount per step", "above 0, up to 1")
        .add("discount", options_.discount,
             "by the steps to the trajectory's end, or by the edges above the simulated node", {"from_end", "per_edge"})
        .add("max_depth", options_.max_depth, "steps on a path of a search", "1 or more")
        .add("answer_depth", options_.answer_depth, "steps on a path of `answer` or of a group", "1 or more")
        .add("force_answer", options_.force_answer, "the last step of `answer` must answer", "true, false")
        .add("expand", options_.expand, "all children of a node at once, or one per simulation", {"all", "one"})
        .add("prior", options_.prior.source, "where the priors of siblings come from",
             {"given", "uniform", "counts", "mean_logprob", "sum_logprob"})
        .add("tau", options_.prior.tau, "temperature of a prior from log-probabilities", "above 0")
        .add("simulate", options_.simulate, "which new child is simulated", {"first", "random"})
        .add("distinct", options_.distinct, "samples differ by thought and action, or by action", {"step", "action"})
        .add("rollouts", options_.rollouts, "simulated ends per node", "1 or more")
        .add("window", options_.window, "simulations under way in one tree", "1 to 65535")
        .add("solve", options_.solve, "do not select solved nodes again", "true, false")
        .add("group", options_.group, "trajectories per question (G)", "1 or more")
        .add("profile", profile_, "scoring profile of the outcome", rag::detail::profile_names())
        .add("annotate", annotate_, "what `expand` adds to a finished tree",
             {"none", "judge", "prm", "both", "cold_start"})
        .add("compare", judge_.compare, "siblings judged all in one call, or every two in a call of their own",
             {"all", "pairs"})
        .add("judge_visits", judge_.min_visits, "visits that a node needs before its children are compared",
             "1 or more")
        .add("judge_sees_stats", judge_.sees_stats, "the judge sees values and visits (reveals outcomes)",
             "true, false")
        .add("rft_threshold", refinement_.threshold, "process reward above which a step becomes refinement data",
             "a number")
        .add("chain", sft_.choice, "which correct path becomes sft.jsonl", {"best", "most", "least", "random"})
        .add("mark_weight", lambda_,
             "weight of control marks in rows of steps (lambda of Eq. 1), 0 = 5, 3, 2 and 1 as in the published code",
             "0, or above 1")
        .add("rewards", advantage_.rewards,
             "what steps and outcomes are worth in a group: by Eq. 5 and 6, or by the published code",
             {"paper", "code"})
        .add("nu_step", advantage_.nu_step, "bonus of a step that keeps the schema", "a number")
        .add("nu_outcome", advantage_.nu_outcome, "bonus of a trajectory that keeps the schema", "a number")
        .add("beta", advantage_.beta, "weight of the process advantage", "0 or more")
        .add("normalise", advantage_.normalise, "process rewards over a group's steps, or over their tokens",
             {"step", "token"})
        .add("guide", guide_.guide, "who chooses the steps of `answer`: the policy, or process rewards",
             {"none", "best_of_n", "beam"})
        .add("best_of", guide_.n, "paths of best_of_n", "1 or more")
        .add("beam", guide_.beam, "states kept at each depth", "1 or more");
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
    refinement_.threshold = paper ? 0 : -1e-9;  // the code uses 0 as well
    if (!paper) own_["rollout"].temperature = 0;
  }

  void check() const override {
    RagMethod::check();
    checked(options_);
    guide_.check();
    advantage_.check();
    if (reward_ == Reward::agreement && (options_.rollouts == 1 || options_.grow == ProRagOptions::Grow::group))
      bad_option("reward", "agreement", "another one where a node has one end: that agrees with itself");
    if (lambda_ != 0 && !(lambda_ > 1 && std::isfinite(lambda_))) bad_option("mark_weight", lambda_, "0, or above 1");
    if (judge_.min_visits == 0) bad_option("judge_visits", judge_.min_visits, "1 or more");
    if (!std::isfinite(refinement_.threshold)) bad_option("rft_threshold", refinement_.threshold, "a number");
  }

  [[nodiscard]] bool asks(const std::string& purpose, bool answering) const override {
    using Grow = ProRagOptions::Grow;
    const bool guided = guide_.guide != ProGuideOptions::Guide::none;
    if (purpose == "step") return answering ? guided : options_.grow != Grow::none;
    if (purpose == "rollout") return answering ? !guided : options_.grow == Grow::search;
    if (purpose == "forced_answer") return answering && (options_.force_answer || budget().limited());
    if (answering) return guided && purpose == "process_reward";
    if (purpose == "judge") return annotate_ == Annotate::judge || annotate_ == Annotate::both;
    if (purpose == "process_reward") return annotate_ == Annotate::prm || annotate_ == Annotate::both;
    return annotate_ == Annotate::cold_start;
  }
  [[nodiscard]] bool needs_gold() const override {
    return reward_ != Reward::agreement || annotate_ == Annotate::cold_start;
  }
  [[nodiscard]] bool retrieves() const override { return options_.grow != ProRagOptions::Grow::none; }
  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return grown(this, std::move(root), seed); }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override { return (*policy_)(std::move(root), seed); }

  [[nodiscard]] std::vector<Product> products() const override {
    using output::TreeRecord;
    return {Product("prm.jsonl", [this](const TreeRecord& record,
                                        std::string& rows) { append_prm_pairs(record, prompts_in_use(), rows); }),
            Product("rft.jsonl",
                    [this](const TreeRecord& record, std::string& rows) {
                      unscored_ += append_rft_rows(record, prompts_in_use(), refinement_, rows);
                    }),
            Product("sft.jsonl",
                    [this](const TreeRecord& record, std::string& rows) {
                      append_step_sft_rows(record, prompts_in_use(), sft_, lambda_, rows);
                    }),
            Product("cold_start.jsonl",
                    [this](const TreeRecord& record, std::string& rows) {
                      unlike_ += !append_cold_start_rows(record, prompts_in_use(), lambda_, rows);
                    }),
            Product("rollouts.jsonl", [this](const TreeRecord& record, std::string& rows) {
              if (options_.grow == ProRagOptions::Grow::group)
                append_group_rollouts(record, prompts_in_use(), advantage_, profile_, rows);
            })};
  }
  [[nodiscard]] std::map<std::string, std::string> notes() const override {
    std::map<std::string, std::string> notes;
    if (unscored_ > 0)
      notes["rft.jsonl"] = std::to_string(unscored_) +
                           " steps of right paths were left out: they have no process reward (annotate with prm)";
    if (unlike_ > 0)
      notes["cold_start.jsonl"] =
          std::to_string(unlike_) + " gold chains of h steps were left out: they were not told in 2 h + 1 thoughts";
    return notes;
  }

 private:
  enum class Annotate : std::uint8_t { none, judge, prm, both, cold_start };

  [[nodiscard]] bool logprobs(const std::string& purpose) const override {
    return purpose == "step" && options_.prior.softmax();
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
  template <class = void>
  static Task<rag::Tree> grown(ProRagFace* self, rag::State root, std::uint64_t seed) {
    std::vector<std::string> with;
    if (self->annotate_ == Annotate::judge || self->annotate_ == Annotate::both) with.emplace_back("judge");
    if (self->annotate_ == Annotate::prm || self->annotate_ == Annotate::both) with.emplace_back("prm");
    if (self->annotate_ == Annotate::cold_start) with.emplace_back("cold_start");
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
