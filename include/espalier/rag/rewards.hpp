#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/core/task.hpp>
#include <espalier/rag/metrics.hpp>
#include <espalier/rag/state.hpp>

#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// Rewards: r(terminal state) -> [0, 1]. A state without an answer scores 0.
namespace espalier::rag {

namespace detail {

/// One of the scores of the answer, as the profile computes it.
template <double Scores::* part>
class ScoreOf {
 public:
  explicit ScoreOf(Profile profile = Profile::common) : profile_(profile) {}
  double operator()(const State& state) const { return score(profile_, state.answer(), state.gold()).*part; }

 private:
  Profile profile_;
};

}  // namespace detail

/// F1 of the answer, the best over the gold answers.
using F1 = detail::ScoreOf<&Scores::f1>;
/// 1 if the normalised answer equals a gold answer.
using ExactMatch = detail::ScoreOf<&Scores::em>;
/// 1 if a gold answer occurs in the answer.
using Accuracy = detail::ScoreOf<&Scores::acc>;

/// How well an answer agrees with those of the other rollouts from its state: the mean F1, 1 if it is alone. No gold.
struct Agreement {
  double operator()(const State& state) const { return state.answer() ? 1 : 0; }
  [[nodiscard]] std::vector<double> group(std::span<const State> states) const {
    std::vector<double> values(states.size(), 0);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto mine = states[i].answer();
      if (!mine) continue;
      if (states.size() == 1) values[i] = 1;
      for (std::size_t j = 0; j < states.size(); ++j) {
        const auto other = states[j].answer();
        if (i != j && other) values[i] += score(Profile::common, mine, Gold{*other}).f1 / double(states.size() - 1);
      }
    }
    return values;
  }
};

/// Any reward behind one type. It takes the terminal states of one place and returns a task, so it may await a backend.
class AnyReward {
 public:
  using Function = std::function<Task<std::vector<double>>(std::vector<State>)>;
  explicit AnyReward(Function function) : function_(std::move(function)) {}
  template <class Reward>
    requires RewardFunction<Reward, State> || espalier::detail::GroupReward<Reward, State>
  AnyReward(Reward reward)
      : function_(
            [reward = std::move(reward)](std::vector<State> states) { return values_of(reward, std::move(states)); }) {}
  /// What is no reward does not compile, and the first error says why.
  template <class Reward>
    requires(std::is_class_v<Reward> && !std::is_convertible_v<Reward, Function> && !RewardFunction<Reward, State> &&
             !espalier::detail::GroupReward<Reward, State>)
  AnyReward(const Reward&) {
    static_assert(sizeof(Reward) == 0,
                  "reward: must be reward(const rag::State&) -> double, or have group(std::span<const rag::State>)");
  }
  [[nodiscard]] Task<std::vector<double>> group(std::span<const State> states) const {
    return function_(std::vector<State>(states.begin(), states.end()));
  }

 private:
  /// Holds the reward and the states while it waits.
  template <class Reward>
  static Task<std::vector<double>> values_of(Reward reward, std::vector<State> states) {
    if constexpr (espalier::detail::GroupReward<Reward, State>) {
      const std::span<const State> ends(states);
      co_return co_await espalier::detail::as_task(reward.group(ends));
    } else {
      std::vector<double> values;
      for (const State& state : states) values.push_back(reward(state));
      co_return values;
    }
  }
  Function function_;
};

}  // namespace espalier::rag
