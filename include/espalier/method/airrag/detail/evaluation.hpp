#pragma once

#include <espalier/llm/scheduler.hpp>
#include <espalier/method/airrag/detail/environment.hpp>
#include <espalier/method/airrag/prompts.hpp>
#include <espalier/method/detail/agreement.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/policy/backup.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search/rollout.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// Scores complete paths with the prompt "process_reward". The model is a process reward model or a language model.
class AirRagJudge {
 public:
  explicit AirRagJudge(rag::Environment loop) : loop_(std::move(loop)) {}

  /// [0, 1], or nothing if the reply is not a score.
  template <class = void>
  Task<std::optional<double>> operator()(rag::State end, Context context) const {
    auto slots = loop_.slots(end.view());
    slots.emplace_back("step", rag::render_text(*end.answer()));
    const auto samples = co_await loop_.sampler().draw("process_reward", std::move(slots), 1, std::move(context));
    const auto& reply = samples.front().reply;
    if (!reply) co_return std::nullopt;
    co_return reply->scores.front();
  }
  /// Annotates the ends of all complete chains with "process_reward", as far as they can be scored.
  template <class = void>
  Task<void> annotate(rag::Tree* tree) const {
    const std::vector<NodeId> ends = output::complete_chains(*tree);
    std::vector<Task<std::optional<double>>> asked;
    for (const NodeId end : ends)
      asked.push_back((*this)(tree->state(end), Context(tree->seed.child(end), 0, &tree->ledger)));
    const auto scores = co_await gather(std::move(asked));
    tree->annotations.erase("process_reward");
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (scores[i]) tree->annotate("process_reward", ends[i], *scores[i]);
  }

 private:
  rag::Environment loop_;
};

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
    return rag::normalise(a) == rag::normalise(b) ? 1 : 0;
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

}  // namespace espalier::method::detail
