#pragma once

#include <espalier/method/air_choice.hpp>
#include <espalier/method/air_environment.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search/mcts.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// AirRAG (arXiv 2501.10053): Monte-Carlo tree search over five reasoning actions, then a choice among all the answers that
/// were reached.
namespace espalier::method {

/// Enters means; an answer is first worth its agreement with the answers so far, itself included.
class AirBackup : public MeanBackup {
 public:
  explicit AirBackup(AirOptions::TerminalReward reward) : reward_(reward) {}
  void price(const rag::Tree& tree, NodeId, Evaluation<rag::State, double>& evaluation) const {
    if (reward_ == AirOptions::TerminalReward::gold || evaluation.terminals.empty()) return;
    auto& [end, value] = evaluation.terminals.front();
    value = 0;
    if (const auto answer = end.answer(); answer && reward_ != AirOptions::TerminalReward::zero) {
      std::vector<std::string> answers{*answer};
      for (const auto& rollout : tree.rollouts)
        if (auto other = rollout.state.answer()) answers.push_back(std::move(*other));
      for (const std::string& other : answers) value += similar(*answer, other) / static_cast<double>(answers.size());
    }
    evaluation.value = value;
  }

 private:
  [[nodiscard]] double similar(const std::string& a, const std::string& b) const {
    if (reward_ == AirOptions::TerminalReward::jaccard) return output::jaccard(a, b);
    return rag::normalise(a) == rag::normalise(b) ? 1 : 0;
  }
  AirOptions::TerminalReward reward_;
};

/// AirRAG's search and its choice of the answer.
class AirRag {
 public:
  AirRag(const AirOptions& options, const rag::Environment& loop, rag::AnyReward reward, std::optional<EncoderPort> encoder = std::nullopt)
      : environment_(loop, checked(options)), choice_(options.select, loop, std::move(encoder)),
        engine_({.simulations = options.rollouts, .width = std::max({options.n_say, options.n_da, options.n_ra, options.n_qt, options.n_sa}),
                 .window = options.window, .budget = options.budget},
                Rollout<rag::AnyReward>({.n = 1, .max_steps = options.max_depth}, std::move(reward)), Uct({.w = options.w}), AirBackup(options.terminal_reward)) {}

  /// Grows the tree of one question. This object must outlive the task.
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    return engine_(environment_, std::move(root), seed);
  }
  /// Adds the candidates to a tree and chooses one.
  [[nodiscard]] const AirChoice& choice() const { return choice_; }

 private:
  AirEnvironment environment_;
  AirChoice choice_;
  Mcts<Rollout<rag::AnyReward>, Uct, AirBackup> engine_;
};

}  // namespace espalier::method
