#pragma once

#include <espalier/llm/grammar.hpp>
#include <espalier/method/detail/agreement.hpp>
#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/method/option_table.hpp>
#include <espalier/method/ports.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/rag/metrics.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search/budget.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

/// A method over questions as a run sees it: sampling, rewards and budgets. To write your own method, derive from it,
/// add your options to `table_`, build your search in `build`, run it in `grow` and `answer`, and register it.
class Method {
 public:
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  virtual ~Method() = default;

  OptionTable& options() { return table_; }
  /// Sets the options as in the paper ("paper") or in its published code ("code").
  virtual void preset(const std::string& name) { bad_option("preset", name, "a method that has presets"); }
  /// The prompts under the options. Texts of the folder, if there is one, replace built-in ones.
  [[nodiscard]] rag::PromptSet prompts(const std::filesystem::path& folder = {}) const {
    rag::PromptSet texts = folder.empty() ? built_in_ : built_in_.replaced_from(folder);
    return shots_ > 0 ? detail::demonstrated(texts, examples_, shots_) : texts;
  }

  /// Checks the options. Throws std::invalid_argument.
  virtual void check() const {
    table_.check();
    budget().check();
    if (match_budget_ && budget_.calls == 0 && budget_.tokens == 0 && budget_.usd == 0 && budget_.input_tokens == 0)
      bad_option("match_budget", 1, "false without max_calls, max_tokens_total, max_usd or l_max");
    if (shots_ > 0 && protocol_ == ReplyForm::tools)
      bad_option("shots", shots_, "0 beside protocol=tools: worked examples show marks");
    check_free("constrain", constrain_);
    for (const auto& [purpose, own] : own_) {
      if (own.constrain && built_in_.protocol()->marked(purpose))
        check_free("sampling." + purpose + ".constrain", *own.constrain);
    }
  }

  /// Whether a task can ask a purpose under the options: `answer`, or `expand` with what it adds to its trees.
  [[nodiscard]] virtual bool asks(const std::string& /*purpose*/, bool /*answering*/) const { return true; }
  /// What asks the method's prompts: each purpose asks its model, sampled as the options say.
  [[nodiscard]] rag::Sampler sampler(const Ports& ports, const rag::PromptSet& prompts) const {
    rag::Sampler::Options samples{sampling_, {}, resample_, repair_, protocol_ == ReplyForm::tools};
    for (const auto& [purpose, own] : own_) {
      Sampling common = sampling(purpose);
      common.keep_tokens = ports.keep_tokens;
      if (match_budget_ && common.temperature == 0) common.temperature = 0.7;  // greedy answers are all the same
      samples.by_purpose.emplace(purpose, own.over(common));
      samples.constrain.emplace(purpose, own.constrain.value_or(constrain_));
    }
    samples.constrain_others = constrain_;
    samples.grammar = Grammar::gbnf_of;
    rag::Sampler asks(ports.model, prompts, std::move(samples));
    for (const auto& [purpose, model] : ports.models) asks.model_for(purpose, model);
    return asks;
  }
  /// Sets the models and services. Called once, before the first tree.
  void prepare(const Ports& ports, const rag::PromptSet& prompts) {
    prompts_ = prompts;
    ports_ = ports;
    budget_.timeout = ports.timeout;
    build(rag::Environment(sampler(ports, prompts), ports.retriever,
                           rag::Environment::Options{documents_, max_rounds(), dedup_, force_once_}));
  }

  /// Whether trees are grown only for questions with gold answers.
  [[nodiscard]] virtual bool needs_gold() const { return true; }
  /// Whether its searches retrieve. If so, they need something to search.
  [[nodiscard]] virtual bool retrieves() const { return true; }
  /// Whether the trees that it grows have answers. If not, a question is judged by the rows that it gives.
  [[nodiscard]] virtual bool answers() const { return true; }
  /// Grows a question's tree. The state carries gold, if there is any.
  virtual Task<rag::Tree> grow(rag::State root, std::uint64_t seed) = 0;
  /// The method's inference form: answers without gold.
  virtual Task<rag::Tree> answer(rag::State root, std::uint64_t seed) = 0;
  /// Adds annotations that need a model, by name, in place of earlier ones of that name. Their costs also stand in the
  /// tree's annotation_costs. Throws std::invalid_argument for an unknown name.
  Task<rag::Tree> annotate(rag::Tree tree, std::vector<std::string> with) {
    for (const std::string& name : with) {
      if (name == "embedding" && (!ports_ || !ports_->encoder))
        bad_option("with", name, "another annotation where there is no encoder");
      tree.ledger -= tree.annotation_costs[name];
      Ledger others = std::exchange(tree.ledger, Ledger());
      if (name == "embedding") co_await detail::annotate_agreement(*ports_->encoder, &tree);
      else co_await annotate_with(name, &tree);
      others += tree.ledger;
      tree.annotation_costs[name] = std::exchange(tree.ledger, std::move(others));
    }
    co_return tree;
  }
  /// What a reader of the products must know, by file. Called after the last tree.
  [[nodiscard]] virtual std::map<std::string, std::string> notes() const { return {}; }
  [[nodiscard]] virtual std::vector<Product> products() const { return {}; }
  /// The budget that `answer` spends completely by answering several times. Nothing if it answers once.
  [[nodiscard]] virtual std::optional<Budget> budget_to_match() const {
    return match_budget_ ? std::optional(budget()) : std::nullopt;
  }

 protected:
  /// A method with worked examples of its prompts has the option `shots`.
  explicit Method(rag::PromptSet prompts, detail::Examples examples = detail::Examples())
      : built_in_(std::move(prompts)), examples_(std::move(examples)) {
    const Range share = Range::above(0).up_to(1), from_zero = Range::at_least(0), from_one = Range::at_least(1);
    table_.add("documents", documents_, "passages per search", from_one)
        .add("dedup", dedup_, "what makes two samples equal", {"exact", "normalised"})
        .add("reward", reward_, "what an answer is worth where trees are grown", {"f1", "em", "acc", "agreement"})
        .add("force_once", force_once_, "draw the answer that the greatest depth forces once if its temperature is 0")
        .shown_if_changed()
        .add("resample", resample_, "new samples for a reply that cannot be read", from_zero)
        .add("repair", repair_, "ask the model once to fix a reply that cannot be read, before it is drawn again")
        .shown_if_changed()
        .add("protocol", protocol_, "how replies name their action: tags in the text, or tools of the chat API",
             {"tags", "tools"})
        .shown_if_changed()
        .add("constrain", constrain_, "whether replies of every purpose follow their grammar", constrain_names())
        .shown_if_changed()
        .add("temperature", sampling_.temperature, "sampling temperature, 0 = greedy", from_zero)
        .add("top_p", sampling_.top_p, "sample from the likeliest tokens that have this share of the probability",
             share)
        .add("top_k", sampling_.top_k, "sample from so many of the likeliest tokens, 0 = all", from_zero)
        .add("max_tokens", sampling_.max_tokens, "most tokens of a reply", from_one)
        .add("max_calls", budget_.calls, "budget per question in completions, 0 = none", from_zero)
        .add("max_tokens_total", budget_.tokens, "budget per question in input + output tokens, 0 = none", from_zero)
        .add("l_max", budget_.input_tokens,
             "budget per question in input tokens, 0 = none. AirRAG fills it with passages", from_zero)
        .shown_if_changed()
        .add("max_seconds", budget_.seconds, "budget per question in seconds, 0 = none", from_zero)
        .add("max_usd", budget_.usd, "budget per question in money at the prices below, 0 = none", from_zero)
        .add("match_budget", match_budget_, "answer again until the budget is spent, and let the majority decide")
        .add("price_in", budget_.price_in, "price per million input tokens", from_zero)
        .add("price_out", budget_.price_out, "price per million output tokens", from_zero);
    if (!examples_.empty()) {
      std::size_t most = 0;
      for (const auto& [purpose, own] : examples_) most = std::max(most, own.size());
      table_.add("shots", shots_, "worked examples before the question", Range::between(0, static_cast<double>(most)));
    }
    for (const Protocol::Purpose& purpose : built_in_.protocol()->purposes) {
      Own& own = own_[purpose.name];
      const std::string prefix = "sampling." + purpose.name + ".";
      const std::string alone = " for the purpose " + purpose.name + " alone";
      table_.add(prefix + "temperature", own.temperature, "`temperature`" + alone, from_zero)
          .add(prefix + "top_p", own.top_p, "`top_p`" + alone, share)
          .add(prefix + "top_k", own.top_k, "`top_k`" + alone, from_zero)
          .add(prefix + "max_tokens", own.max_tokens, "`max_tokens`" + alone, from_one)
          .add(prefix + "constrain", own.constrain, "`constrain`" + alone, constrain_names());
    }
  }

  /// The options in which a purpose differs from the common sampling.
  struct Own {
    std::optional<double> temperature, top_p;
    std::optional<int> top_k, max_tokens;
    std::optional<rag::Sampler::Constrain> constrain;
    [[nodiscard]] Sampling over(Sampling all) const {
      all.temperature = temperature.value_or(all.temperature);
      all.top_p = top_p.value_or(all.top_p);
      all.top_k = top_k.value_or(all.top_k);
      all.max_tokens = max_tokens.value_or(all.max_tokens);
      return all;
    }
  };

  /// True for the preset "paper", false for "code". Throws std::invalid_argument for other names.
  static bool of_paper(const std::string& preset) {
    if (preset != "paper" && preset != "code") bad_option("preset", preset, "paper, code");
    return preset == "paper";
  }
  /// Builds the searches over a loop that uses the models and the retriever of this run.
  virtual void build(rag::Environment loop) = 0;
  /// Adds one annotation of the method itself. `embedding`, the agreement of answers, exists for all methods.
  virtual Task<void> annotate_with(const std::string& name, rag::Tree*) { bad_option("with", name, "embedding"); }
  /// The sampling of a purpose without its own options, with log-probabilities if they are needed.
  [[nodiscard]] virtual Sampling sampling(const std::string&) const { return sampling_; }
  /// Rounds of the plain loop before its answer is forced.
  [[nodiscard]] virtual std::uint32_t max_rounds() const { return 8; }

  /// The budget of one question, with the clock of this machine.
  [[nodiscard]] Budget budget() const {
    Budget chosen = budget_;
    chosen.clock = [] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    return chosen;
  }
  /// The user's own reward, or the one chosen by name.
  [[nodiscard]] rag::AnyReward reward(rag::Profile profile = rag::Profile::common) const {
    if (ports_ && ports_->reward) return *ports_->reward;
    if (reward_ == Reward::em) return rag::ExactMatch(profile);
    if (reward_ == Reward::acc) return rag::Accuracy(profile);
    if (reward_ == Reward::agreement) return rag::Agreement();
    return rag::F1(profile);
  }
  /// The models and services of this run.
  [[nodiscard]] const Ports& ports() const { return *ports_; }
  /// The prompts of this run, for outputs that render them.
  [[nodiscard]] const rag::PromptSet& prompts_in_use() const { return *prompts_; }

  enum class ReplyForm : std::uint8_t { tags, tools };
  /// The values of rag::Sampler::Constrain.
  static std::vector<std::string> constrain_names() { return {"off", "on", "draft"}; }

  enum class Reward : std::uint8_t { f1, em, acc, agreement };
  OptionTable table_;
  Sampling sampling_{.temperature = 0.7};
  std::map<std::string, Own> own_;
  std::uint32_t documents_ = 3;
  rag::Environment::Dedup dedup_ = rag::Environment::Dedup::normalised;
  Reward reward_ = Reward::f1;
  std::uint32_t resample_ = 2;
  bool repair_ = false, force_once_ = false;
  ReplyForm protocol_ = ReplyForm::tags;
  rag::Sampler::Constrain constrain_ = rag::Sampler::Constrain::off;

 private:
  /// No grammar holds a call of a tool.
  void check_free(const std::string& option, rag::Sampler::Constrain chosen) const {
    if (protocol_ == ReplyForm::tools && chosen != rag::Sampler::Constrain::off)
      bad_option(option, constrain_names()[static_cast<std::size_t>(chosen)], "off beside protocol=tools");
  }
  Budget budget_;
  bool match_budget_ = false;
  rag::PromptSet built_in_;
  detail::Examples examples_;
  std::uint32_t shots_ = 0;
  std::optional<rag::PromptSet> prompts_;
  std::optional<Ports> ports_;
};

}  // namespace espalier::method
