#pragma once

#include <espalier/method/decouple_environment.hpp>
#include <espalier/method/decouple_options.hpp>
#include <espalier/method/decouple_value.hpp>
#include <espalier/rag/metrics.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

/// From the text of a state to its two values: a value server, a head over an encoder, a function of one's own.
using ValueSource = std::function<Task<Dual>(std::string)>;

/// What a value source is shown: the question and the steps.
inline std::string value_text(const rag::State& state) {
  return "Question: " + rag::neutralise(state.question().text) + '\n' + rag::render_history(state.transcript(), *decouple_protocol()).text;
}

/// The two values of a state: an answer's +1 or -1 against gold while trees are labelled, else those of the chosen source.
class DecoupleValue {
 public:
  using Result = Evaluation<rag::State, Dual>;
  DecoupleValue(const DecoupleOptions& options, bool labels, ValueSource source = nullptr)
      : options_(options), labels_(labels), source_(std::move(source)) {}

  Task<Result> operator()(DecoupleEnvironment& env, const rag::State& state, const Context& context) const {
    return value(this, &env, state, context);
  }

 private:
  static Task<Result> value(const DecoupleValue* self, DecoupleEnvironment* env, rag::State state, Context context) {
    Result result{Dual{}};
    if (self->labels_ && state.answer()) {
      const std::optional<bool> right = co_await self->judge_answer(env, state, context);
      result.known = right.has_value();
      const double worth = right.value_or(false) ? 1 : -1;
      result.value = Dual{worth, worth};
      if (right) result.terminals.emplace_back(std::move(state), result.value);
      co_return result;
    }
    const std::optional<Dual> judged = co_await self->judge(env, std::move(state), std::move(context));
    result.known = judged.has_value();
    if (judged) result.value = *judged * (self->labels_ ? self->options_.inner_scale : 1);
    co_return result;
  }
  /// The source's values; nothing if its reply cannot be read.
  Task<std::optional<Dual>> judge(DecoupleEnvironment* env, rag::State state, Context context) const {
    if (!labels_ && options_.values == DecoupleOptions::Values::none) co_return Dual{};
    if (source_) co_return co_await source_(value_text(state));
    const auto samples = co_await env->loop().sampler().draw("judge", env->loop().slots(state.view()), 1, std::move(context));
    if (!samples.front().reply) co_return std::nullopt;
    const auto scores = *rag::read_scores(samples.front().reply->content, decouple_protocol()->purpose("judge")->scores);
    co_return Dual{scores[0], scores[1]};
  }
  /// Whether an answer is right; nothing if the judge cannot be read.
  Task<std::optional<bool>> judge_answer(DecoupleEnvironment* env, rag::State state, Context context) const {
    if (options_.terminal == DecoupleOptions::Terminal::match) co_return rag::score(rag::Profile::common, state.answer(), state.gold()).em == 1;
    auto slots = env->loop().slots(state.view());
    slots.emplace_back("gold", rag::render_any_of(state.gold()));
    slots.emplace_back("answer", rag::render_text(*state.answer()));
    const auto samples = co_await env->loop().sampler().draw("judge_answer", std::move(slots), 1, std::move(context));
    if (!samples.front().reply) co_return std::nullopt;
    co_return rag::read_verdict(samples.front().reply->content);
  }

  DecoupleOptions options_;
  bool labels_;
  ValueSource source_;
};

}  // namespace espalier::method
