#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/method/option_check.hpp>
#include <espalier/method/prorag/step_rows.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Rewards and advantages of a group of trajectories of one question (ProRAG, section 3.4).
namespace espalier::method {

struct AdvantageOptions {
  enum class Normalise : std::uint8_t { step, token };  ///< sample deviation (Eq. 7), or the population's (code)
  enum class Rewards : std::uint8_t { paper, code };    ///< code: sigmoid(R) + 1 or - 2, 2 F1 (0 below 0.2) + 1 or - 1
  enum class Bonus : std::uint8_t { always, retrieved };  ///< text: a trajectory that bypasses retrieval has none
  Rewards rewards = Rewards::paper;
  Bonus bonus = Bonus::always;
  double nu_step = 1, nu_outcome = 1;  ///< nu_1 and nu_2, of which the paper gives no numbers
  double beta = 0.3;
  double epsilon = 1e-4;  ///< added to standard deviations
  Normalise normalise = Normalise::step;

  void describe(auto& table) {
    table
        .add("rewards", rewards,
             "what steps and outcomes are worth in a group: by Eq. 5 and 6, or by the published code",
             {"paper", "code"})
        .add("bonus", bonus, "which trajectories that keep the schema get the bonus: all, or those with a retrieval",
             {"always", "retrieved"})
        .shown_if_changed()
        .add("nu_step", nu_step, "bonus of a step that keeps the schema", Range::any())
        .add("nu_outcome", nu_outcome, "bonus of a trajectory that keeps the schema", Range::any())
        .add("beta", beta, "weight of the process advantage", Range::at_least(0))
        .add("normalise", normalise, "process rewards over a group's steps, or over their tokens", {"step", "token"});
  }
  /// r_step = R(c, s) + nu_1 I(s) (Eq. 5). NaN for a step without a process reward R.
  [[nodiscard]] double step_reward(double process, bool keeps_schema) const {
    if (rewards == Rewards::code) return 1 / (1 + std::exp(-process)) + (keeps_schema ? 1 : -2);
    return process + (keeps_schema ? nu_step : 0);
  }
  /// r_out = F1 + nu_2 I(y) (Eq. 6).
  [[nodiscard]] double outcome_reward(double f1, bool keeps_schema) const {
    if (rewards == Rewards::code) return (f1 >= 0.2 ? 2 * f1 : 0) + (keeps_schema ? 1 : -1);
    return f1 + (keeps_schema ? nu_outcome : 0);
  }
};

/// One trajectory of a group.
struct TrajectoryReward {
  struct Step {
    double reward = 0;         ///< by Eq. 5, NaN = not scored
    std::uint64_t tokens = 1;  ///< tokens of the policy's own text
  };
  double outcome = 0;  ///< by Eq. 6
  std::vector<Step> steps{};
};

namespace detail {

/// Mean and standard deviation of a group of weighted values.
class GroupNorm {
 public:
  void add(double value, double weight = 1) {
    sum_ += weight * value;
    squares_ += weight * value * value;
    weight_ += weight;
  }
  [[nodiscard]] double mean() const { return weight_ > 0 ? sum_ / weight_ : 0; }
  /// (value - mean) / (deviation + epsilon). The sample deviation divides by weight - 1 and is 0 for a single value.
  [[nodiscard]] double operator()(double value, bool sample, double epsilon) const {
    const double over = sample ? weight_ - 1 : weight_;
    const double variance = over > 0 ? std::fmax(0, squares_ - sum_ * mean()) / over : 0;
    return (value - mean()) / (std::sqrt(variance) + epsilon);
  }

 private:
  double sum_ = 0, squares_ = 0, weight_ = 0;
};

}  // namespace detail

/// A = A_out + beta A_proc of every step of every trajectory (Eq. 7, 8). All tokens of a step share it. Steps without a
/// score do not enter the group's statistics and have A_proc = 0.
inline std::vector<std::vector<double>> advantages(const AdvantageOptions& options,
                                                   const std::vector<TrajectoryReward>& group) {
  const bool by_step = options.normalise == AdvantageOptions::Normalise::step;
  detail::GroupNorm outcomes, steps;
  for (const TrajectoryReward& one : group) {
    outcomes.add(one.outcome);
    for (const TrajectoryReward::Step& step : one.steps)
      if (!std::isnan(step.reward)) steps.add(step.reward, by_step ? 1 : static_cast<double>(step.tokens));
  }
  std::vector<std::vector<double>> all;
  for (const TrajectoryReward& one : group) {
    const double outcome = outcomes(one.outcome, true, options.epsilon);
    auto& own = all.emplace_back();
    for (const TrajectoryReward::Step& step : one.steps)
      own.push_back(outcome +
                    (std::isnan(step.reward) ? 0 : options.beta * steps(step.reward, by_step, options.epsilon)));
  }
  return all;
}

/// Appends a row for every trajectory of a group, that is, every chain below the tree's root. A row holds the response
/// as histories show it, its steps as [begin, end) in code points, and the rewards and advantages of Eq. 5-8. Documents
/// are in no step. Writes nothing without gold. A step that could not be read stands as the model wrote it, and ends
/// its trajectory. A trajectory without an answer has an F1 of 0. Characters stand for tokens.
inline void append_group_rollouts(const output::TreeRecord& record, const rag::PromptSet& prompts,
                                  const AdvantageOptions& options, rag::Profile profile, std::string& out) {
  const rag::Tree& tree = record.tree;
  const Protocol& protocol = *prompts.protocol();
  const rag::State& root = tree.state(tree.root());
  if (!root.has_gold()) return;
  struct Step {
    NodeId node;
    std::size_t begin, end;
  };
  struct Rollout {
    NodeId end;
    std::string response;
    std::vector<Step> steps;
    double f1;
    bool keeps_schema;
  };
  std::vector<Rollout> rollouts;
  std::vector<TrajectoryReward> group;
  for (const NodeId first : tree.children(tree.root())) {
    Rollout one{first, {}, {}, 0, false};
    TrajectoryReward rewards;
    for (NodeId id = first; id != no_node; id = tree[id].first_child) {
      const bool unread = espalier::detail::closed_at_birth(tree[id]);
      const std::string text = unread ? tree.action(id).text : detail::step_text(tree.action(id), protocol);
      const std::size_t begin = output::detail::code_points(one.response), length = output::detail::code_points(text);
      one.steps.push_back({id, begin, begin + length});
      rewards.steps.push_back(
          {options.step_reward(tree.annotation("process_reward", id), detail::well_formed(tree, id)), length});
      one.response += text + '\n';
      one.end = id;
      if (unread) break;
      const rag::Segment* last = tree.state(id).transcript().last();
      if (last->documents()) one.response += rag::render_history(rag::Transcript().append(*last), protocol).text;
    }
    const rag::State& end = tree.state(one.end);
    one.f1 = rag::score(profile, end.answer(), end.gold()).f1;
    one.keeps_schema = detail::well_formed_path(tree, one.end);
    const bool whole = options.bonus == AdvantageOptions::Bonus::always || end.retrievals() > 0;
    rewards.outcome = options.outcome_reward(one.f1, one.keeps_schema && whole);
    rollouts.push_back(std::move(one));
    group.push_back(std::move(rewards));
  }
  const auto advantage = advantages(options, group);
  for (std::size_t i = 0; i < rollouts.size(); ++i) {
    const Rollout& one = rollouts[i];
    JsonWriter json(out);
    json.begin_object().field("id", root.question().id + '#' + std::to_string(i)).field("group", root.question().id);
    json.field("question", root.question().text).field("prompt", detail::step_prompt(root, prompts));
    json.field("response", one.response).field("answer", tree.state(one.end).answer()).field("f1", one.f1);
    json.field("well_formed", one.keeps_schema).field("outcome_reward", group[i].outcome);
    json.key("steps").begin_array();
    for (std::size_t t = 0; t < one.steps.size(); ++t) {
      const Step& step = one.steps[t];
      const bool unread = espalier::detail::closed_at_birth(tree[step.node]);
      json.begin_object().field("type", unread ? "malformed" : rag::name(tree.action(step.node).kind));
      json.key("span").begin_array().value(step.begin).value(step.end).end_array();
      json.field("well_formed", detail::well_formed(tree, step.node));
      json.field("process_reward", tree.annotation("process_reward", step.node));
      json.field("step_reward", group[i].steps[t].reward).field("advantage", advantage[i][t]).end_object();
    }
    record.begin_provenance(json.end_array()).field("node", one.end);
    record.end_row(json, out);
  }
}

}  // namespace espalier::method
