#pragma once

#include <espalier/method/airrag/prompts.hpp>
#include <espalier/method/airrag/search.hpp>
#include <espalier/method/airrag/state_scores.hpp>
#include <espalier/method/baselines/self_ask.hpp>
#include <espalier/method/baselines/standard_rag.hpp>
#include <espalier/method/match_budget.hpp>
#include <espalier/method/method.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/output/chain.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// AirRAG as a run sees it, with its variants Lite and Blender. `expand` has rewards against gold, `answer` agreement.
class AirRagFace final : public Method {
 public:
  enum class Variant : std::uint8_t { full, lite, blender };
  explicit AirRagFace(Variant variant) : Method(airrag_prompts(), airrag_examples()) {
    options_.lite = variant == Variant::lite;
    options_.blend = variant == Variant::blender;
    if (options_.blend) options_.choice = AirRagOptions::Choice::refine;
    sampling_.top_p = 0.8;
    sampling_.top_k = 50;
    own_["process_reward"].temperature = 0;
    options_.describe(table_);
    table_.add("good", good_, "least F1 of a completion that counts as good in prm.jsonl", Range::between(0, 1));
  }

  void preset(const std::string& name) override {
    using Reward = AirRagOptions::TerminalReward;
    using Simulation = AirRagOptions::Simulation;
    const bool paper = of_paper(name);
    options_.w = paper ? 1.4142135623730951 : 2;
    options_.terminal_reward = paper ? Reward::jaccard : Reward::self_consistency;
    options_.simulation = paper ? Simulation::straight : Simulation::descent;
    options_.da_terminal = !paper;
  }

  void check() const override {
    Method::check();
    if (reward_ == Reward::agreement)
      bad_option("reward", "agreement", "f1, em, acc: a simulation has one end, which agrees with itself");
    const AirRagOptions& o = options_;
    const std::uint32_t later = o.lite ? std::max({o.n_say, o.n_da, o.n_sa}) : std::max({o.n_ra, o.n_qt, o.n_sa});
    if (o.rollouts == 1 && later > 1 && !Method::budget_to_match())
      bad_option("rollouts", 1, "2 or more with n_* above 1: one simulation takes one sample of each later action");
  }

  [[nodiscard]] bool asks(const std::string& purpose, bool answering) const override {
    using enum AirRagOptions::Choice;
    if (purpose == "say" || purpose == "da") return !options_.lite;
    if (purpose == "refine") return options_.choice == refine;
    if (purpose != "process_reward") return true;
    const bool rewards = options_.terminal_reward == AirRagOptions::TerminalReward::reward_model;
    return (answering && rewards) || options_.choice == reward_model;
  }
  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override {
    return search(this, gold_.get(), std::move(root), seed);
  }
  /// A search alone spends its whole budget by more rollouts.
  [[nodiscard]] std::optional<Budget> budget_to_match() const override {
    return options_.blend ? Method::budget_to_match() : std::nullopt;
  }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override {
    return search(this, label_free_.get(), std::move(root), seed);
  }
  [[nodiscard]] std::vector<Product> products() const override {
    return {Product("prm.jsonl", [this](const output::TreeRecord& record, std::string& rows) {
      append_state_scores(record, good_, rows);
    })};
  }

 private:
  [[nodiscard]] Sampling sampling(const std::string& purpose) const override {
    Sampling chosen = sampling_;
    if (options_.q_div && (purpose == "say" || purpose == "qt")) chosen.temperature = chosen.top_p = 1;
    return chosen;
  }
  void build(rag::Environment loop) override {
    options_.budget = budget();
    AirRagOptions options = options_;
    options.until_spent = Method::budget_to_match() && !options_.blend;
    if (options.until_spent) options.rollouts = std::numeric_limits<std::uint32_t>::max();
    label_free_ = std::make_unique<AirRag>(options, loop, rag::Agreement(), ports().encoder);
    options.terminal_reward = AirRagOptions::TerminalReward::gold;
    gold_ = std::make_unique<AirRag>(options, loop, reward(), ports().encoder);
    if (!options_.blend) return;
    namespace others = baselines::detail;
    for (const auto& other : {others::standard_rag(), others::iterdrag(), others::direct()})
      blend_.push_back({other, loop.with_prompts(other.prompts)});
  }

  Task<void> annotate_with(const std::string& name, rag::Tree* tree) override {
    if (name == "prm") return gold_->judge().annotate(tree);
    bad_option("with", name, "prm, embedding");
  }

  /// One budget holds for the search, for the methods that join it, and for the choice.
  static Task<rag::Tree> search(AirRagFace* self, AirRag* engine, rag::State root, std::uint64_t seed) {
    const Budget& budget = self->options_.budget;
    const double began = budget.now();
    rag::Tree tree = co_await (*engine)(root, seed);
    for (std::size_t i = 0; i < self->blend_.size() && !budget.spent(tree, tree.steps, began); ++i) {
      const auto& [other, loop] = self->blend_[i];
      const std::uint64_t own_seed = Seed(seed).child(i).value();
      Ledger::Spending spent = root.spent_before();
      spent.costs += tree.ledger.total();
      spent.seconds += budget.now() - began;
      spent.densest = tree.ledger.densest;
      Path path(loop, root.after(std::move(spent)), own_seed, budget);
      co_await other.run(&path, other.defaults);
      espalier::detail::join(tree, std::move(path).tree());
    }
    const bool may_ask = !budget.spent(tree, tree.steps, began) && engine->choice().affordable(tree, budget);
    if (!may_ask && (engine->choice().asks() || !self->blend_.empty())) tree.ending = SearchFacts::Ending::budget;
    else if (engine->options().until_spent && !output::complete_chains(tree).empty())
      tree.ending = SearchFacts::Ending::done;
    co_await engine->choice()(&tree, may_ask);
    co_return tree;
  }

  AirRagOptions options_;
  double good_ = 0.5;
  std::unique_ptr<AirRag> gold_, label_free_;
  std::vector<std::pair<baselines::Baseline, rag::Environment>> blend_;
};

inline const Registered<AirRagFace> airrag("airrag", AirRagFace::Variant::full);
inline const Registered<AirRagFace> airrag_lite("airrag-lite", AirRagFace::Variant::lite);
inline const Registered<AirRagFace> airrag_blender("airrag-blender", AirRagFace::Variant::blender);

}  // namespace espalier::method::detail
