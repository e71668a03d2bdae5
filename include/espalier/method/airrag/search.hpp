#pragma once

#include <espalier/method/airrag/detail/choice.hpp>
#include <espalier/method/airrag/prompts.hpp>
#include <espalier/method/detail/agreement.hpp>
#include <espalier/policy/backup.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search/mcts_task.hpp>
#include <espalier/search/rollout.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// AirRAG (arXiv 2501.10053): Monte-Carlo tree search over five reasoning actions, then a choice among all answers.
namespace espalier::method {

namespace detail {

/// The answers that one search has found so far.
struct AirAnswers {
  std::vector<std::string> texts;               ///< one for each different sequence of steps
  std::set<std::string> paths;                  ///< these sequences
  std::map<std::string, Embedding> embeddings;  ///< by text, where answers are compared by embeddings
};

/// Simulates from a state to an answer and asks for what its reward needs from a model.
template <class Policy>
class AirRagEvaluation {
 public:
  using Result =
      std::conditional_t<std::is_same_v<Policy, Grafted>, espalier::detail::GraftedEvaluation<AirRagEnvironment>,
                         Evaluation<rag::State, double>>;
  AirRagEvaluation(const AirRagOptions& options, rag::AnyReward reward, AirRagJudge judge,
                   std::optional<EncoderPort> encoder, std::shared_ptr<AirAnswers> answers)
      : reward_(options.terminal_reward),
        in_turn_(options.budget.limited()),
        rollout_({.n = 1, .max_steps = options.max_depth}, std::move(reward)),
        judge_(std::move(judge)),
        encoder_(std::move(encoder)),
        answers_(std::move(answers)) {}

  Task<Result> operator()(AirRagEnvironment& env, rag::State state, Context context) {
    AirRagEnvironment inside = env.simulating();
    Result result = co_await rollout_(inside, state, context);
    if (result.terminals.empty() || !result.terminals.front().first.answer()) co_return result;
    const rag::State end = result.terminals.front().first;
    if (reward_ == AirRagOptions::TerminalReward::reward_model) {
      const Context after(context.seed, context.first, context.ledger);  // the costs of the path
      const std::optional<double> score = co_await judge_(end, after);
      result.known = score.has_value();
      result.value = result.terminals.front().second = score.value_or(0);
    } else if (reward_ == AirRagOptions::TerminalReward::embedding) {
      const std::string answer = *end.answer();
      EncodeRequest request(answer, EncodeRequest::Role::passage);
      Embedding embedding = co_await (*encoder_)(std::move(request));
      answers_->embeddings.insert_or_assign(answer, std::move(embedding));
    }
    co_return result;
  }
  /// Simulations of one growth read each other's costs, so that a budget holds inside them.
  [[nodiscard]] bool in_turn() const { return in_turn_; }

 private:
  AirRagOptions::TerminalReward reward_;
  bool in_turn_;
  Rollout<rag::AnyReward, Policy> rollout_;
  AirRagJudge judge_;
  std::optional<EncoderPort> encoder_;
  std::shared_ptr<AirAnswers> answers_;
};

/// Backs up means. Without gold and without a reward model, the value of an answer is its mean similarity to all
/// answers so far, itself included. Each sequence of steps counts once.
class AirBackup : public MeanBackup {
 public:
  AirBackup(AirRagOptions::TerminalReward reward, std::shared_ptr<AirAnswers> answers)
      : reward_(reward), answers_(std::move(answers)) {}

  void price(const rag::Tree&, NodeId, Evaluation<rag::State, double>& evaluation) const {
    using enum AirRagOptions::TerminalReward;
    if (reward_ == gold || reward_ == reward_model || evaluation.terminals.empty()) return;
    auto& [end, value] = evaluation.terminals.front();
    value = 0;
    if (const auto answer = end.answer(); answer && reward_ != zero) {
      if (answers_->paths.insert(steps(end)).second) answers_->texts.push_back(*answer);
      for (const std::string& other : answers_->texts)
        value += similar(*answer, other) / static_cast<double>(answers_->texts.size());
    }
    evaluation.value = value;
  }

 private:
  [[nodiscard]] double similar(const std::string& a, const std::string& b) const {
    if (reward_ == AirRagOptions::TerminalReward::jaccard) return jaccard(a, b);
    if (reward_ == AirRagOptions::TerminalReward::embedding)
      return cosine(answers_->embeddings.at(a), answers_->embeddings.at(b));
    return rag::detail::form_or_text(a) == rag::detail::form_or_text(b) ? 1 : 0;
  }
  static std::string steps(const rag::State& end) {
    std::string all;
    for (const rag::Segment* segment : end.transcript().segments())
      if (!segment->documents()) all += segment->words() + '\x1f';
    return all;
  }
  AirRagOptions::TerminalReward reward_;
  std::shared_ptr<AirAnswers> answers_;
};

}  // namespace detail

/// AirRAG's search and its choice of the answer.
class AirRag {
 public:
  AirRag(const AirRagOptions& options, const rag::Environment& loop, rag::AnyReward reward,
         std::optional<EncoderPort> encoder = std::nullopt)
      : options_(detail::checked(options)),
        environment_(loop, options),
        judge_(loop),
        choice_(options.choice, loop, encoder),
        reward_(std::move(reward)),
        encoder_(std::move(encoder)) {
    if (options.terminal_reward == AirRagOptions::TerminalReward::embedding && !encoder_)
      bad_option("terminal_reward", "embedding", "another reward where there is no encoder");
  }

  /// Grows the tree of one question with its candidates. This object must outlive the task.
  template <class = void>
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    if (options_.simulation == AirRagOptions::Simulation::descent) return grow<Grafted>(this, std::move(root), seed);
    return grow<espalier::detail::SameEnvironment>(this, std::move(root), seed);
  }
  /// Chooses among the candidates of a tree.
  [[nodiscard]] const detail::AirRagChoice& choice() const { return choice_; }
  [[nodiscard]] const detail::AirRagJudge& judge() const { return judge_; }
  [[nodiscard]] const AirRagOptions& options() const { return options_; }

 private:
  template <class Policy>
  static Task<rag::Tree> grow(AirRag* self, rag::State root, Seed seed) {
    const AirRagOptions& o = self->options_;
    const auto answers = std::make_shared<detail::AirAnswers>();
    const MctsOptions options{.simulations = o.rollouts,
                              .width = o.width(),
                              .window = o.budget.limited() ? 1 : o.window,  // each sees the costs of those before it
                              .values = MctsOptions::Values::alike,
                              .solve = o.until_spent,
                              .budget = o.budget};
    Mcts engine(options, detail::AirRagEvaluation<Policy>(o, self->reward_, self->judge_, self->encoder_, answers),
                Uct({.w = o.w}), o.prune, detail::AirBackup(o.terminal_reward, answers));
    rag::Tree tree = co_await engine(self->environment_, std::move(root), seed);
    detail::add_candidates(tree, self->environment_.loop());
    co_return tree;
  }

  AirRagOptions options_;
  detail::AirRagEnvironment environment_;
  detail::AirRagJudge judge_;
  detail::AirRagChoice choice_;
  rag::AnyReward reward_;
  std::optional<EncoderPort> encoder_;
};

}  // namespace espalier::method
