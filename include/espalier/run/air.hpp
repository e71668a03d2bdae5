#pragma once

#include <espalier/method/air_rag.hpp>
#include <espalier/method/baselines/direct.hpp>
#include <espalier/method/baselines/iterdrag.hpp>
#include <espalier/method/baselines/standard_rag.hpp>
#include <espalier/output/state_scores.hpp>
#include <espalier/run/rag_method.hpp>
#include <espalier/search/join.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// AirRAG as a run knows it, with its variants Lite and Blender. `expand` rewards answers against gold, `answer` their
/// agreement.
class AirMethod final : public RagMethod {
 public:
  enum class Variant : std::uint8_t { full, lite, blender };
  explicit AirMethod(Variant variant) : RagMethod(method::air_prompts()) {
    options_.lite = variant == Variant::lite;
    options_.blend = variant == Variant::blender;
    if (options_.blend) options_.select = method::AirOptions::Select::refine;
    sampling_.top_p = 0.8;
    sampling_.top_k = 50;
    own_["process_reward"].temperature = 0;
    table_.add("rollouts", options_.rollouts, "simulations of a tree", "1 or more")
        .add("w", options_.w, "exploration weight of UCT", "0 or more")
        .add("n_say", options_.n_say, "samples of the system analysis", "1 to 255")
        .add("n_da", options_.n_da, "samples of the direct answer", "1 to 255")
        .add("n_ra", options_.n_ra, "samples of an answer from documents", "1 to 255")
        .add("n_qt", options_.n_qt, "samples of a query transformation", "1 to 255")
        .add("n_sa", options_.n_sa, "samples of the summary", "1 to 255")
        .add("q_div", q_div_, "analysis and transformation are sampled with temperature 1 and top_p 1", "true, false")
        .add("max_pairs", options_.max_pairs, "retrievals and transformations on a path, each", "1 or more")
        .add("max_depth", options_.max_depth, "actions on a path", "2 or more")
        .add("da_terminal", options_.da_terminal, "a direct answer is final; else it feeds the summary", "true, false")
        .add("l_max", options_.budget.input_tokens, "budget a question in input tokens over all rollouts, 0 = none", "0 or more")
        .add("window", options_.window, "simulations under way in one tree", "1 to 65535")
        .add("simulation", options_.simulation, "how a simulation goes on: the first legal action and nodes later, or one by lot and nodes at once",
             {"straight", "descent"})
        .add("terminal_reward", options_.terminal_reward, "what an answer is worth in `answer`, where no gold is seen",
             {"jaccard", "self_consistency", "embedding", "reward_model", "zero"})
        .add("select", options_.select, "which candidate is the answer", {"jaccard", "embedding", "refine", "reward_model"})
        .add("good", good_, "least F1 of a completion that counts as good in prm.jsonl", "0 to 1");
  }

  void preset(const std::string& name) override {
    using Reward = method::AirOptions::TerminalReward;
    using Simulation = method::AirOptions::Simulation;
    if (name != "paper" && name != "code") bad_option("preset", name, "paper, code");
    const bool paper = name == "paper";
    options_.w = paper ? 1.4142135623730951 : 2;
    options_.terminal_reward = paper ? Reward::jaccard : Reward::self_consistency;
    options_.simulation = paper ? Simulation::straight : Simulation::descent;
    options_.da_terminal = !paper;
  }

  void check() const override {
    RagMethod::check();
    checked(options_);
    if (!(good_ >= 0 && good_ <= 1)) bad_option("good", good_, "0 to 1");
  }

  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return search(this, gold_.get(), std::move(root), seed); }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override { return search(this, label_free_.get(), std::move(root), seed); }
  [[nodiscard]] std::vector<Product> products() const override {
    return {Product("prm.jsonl", [this](const output::TreeRecord& record, std::string& rows) { output::append_state_scores(record, good_, rows); })};
  }

 private:
  [[nodiscard]] Sampling sampling(const std::string& purpose) const override {
    Sampling chosen = sampling_;
    if (q_div_ && (purpose == "say" || purpose == "qt")) chosen.temperature = chosen.top_p = 1;
    return chosen;
  }
  [[nodiscard]] Budget all_budget() const {
    Budget all = budget();
    all.input_tokens = options_.budget.input_tokens;
    return all;
  }
  void build(rag::Environment loop) override {
    method::AirOptions options = options_;
    options.budget = all_budget();
    label_free_ = std::make_unique<method::AirRag>(options, loop, rag::AnyReward(rag::Agreement()), encoder_);
    options.terminal_reward = method::AirOptions::TerminalReward::gold;
    gold_ = std::make_unique<method::AirRag>(options, loop, reward(), encoder_);
    if (!options_.blend) return;
    blend_.push_back({method::baselines::standard_rag(), loop.speaking(method::baselines::standard_rag_prompts())});
    blend_.push_back({method::baselines::iterdrag(), loop.speaking(method::baselines::self_ask_prompts())});
    blend_.push_back({method::baselines::direct(), loop.speaking(method::baselines::direct_prompts())});
  }

  Task<void> annotate_with(const std::string& name, rag::Tree* tree) override {
    if (name == "prm") return gold_->judge().annotate(tree);
    bad_option("with", name, "prm, embedding");
  }

  /// One budget holds for the search, what joins it and the choice.
  static Task<rag::Tree> search(AirMethod* self, method::AirRag* engine, rag::State root, std::uint64_t seed) {
    const Budget budget = self->all_budget();
    const double began = budget.now();
    rag::Tree tree = co_await (*engine)(root, seed);
    for (std::size_t i = 0; i < self->blend_.size() && !budget.spent(tree, tree.steps, began); ++i) {
      const auto& [other, loop] = self->blend_[i];
      const std::uint64_t own_seed = Seed(seed).child(i).value();
      method::Path path(loop, root, own_seed, budget.after(tree.ledger.total(), budget.now() - began));
      co_await other.run(&path, other.defaults);
      join(tree, std::move(path).tree());
    }
    const bool may_ask = !budget.spent(tree, tree.steps, began);
    if (!may_ask && (engine->choice().asks() || !self->blend_.empty())) tree.ending = Ending::budget;
    co_await engine->choice()(&tree, may_ask);
    co_return tree;
  }

  method::AirOptions options_;
  bool q_div_ = false;
  double good_ = 0.5;
  std::unique_ptr<method::AirRag> gold_, label_free_;
  std::vector<std::pair<method::Baseline, rag::Environment>> blend_;
};

}  // namespace espalier::run
