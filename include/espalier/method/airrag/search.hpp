#pragma once

#include <espalier/method/airrag/detail/choice.hpp>
#include <espalier/method/airrag/detail/evaluation.hpp>
#include <espalier/search/mcts_task.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

/// AirRAG (arXiv 2501.10053): Monte-Carlo tree search over five reasoning actions, then a choice among all answers that
/// were reached.
namespace espalier::method {

/// AirRAG's search and its choice of the answer.
class AirRag {
 public:
  AirRag(const AirRagOptions& options, const rag::Environment& loop, rag::AnyReward reward,
         std::optional<EncoderPort> encoder = std::nullopt)
      : options_(detail::checked(options)),
        environment_(loop, options),
        judge_(loop),
        choice_(options.select, loop, encoder),
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
                Uct({.w = o.w}), KeepAll(), detail::AirBackup(o.terminal_reward, answers));
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
