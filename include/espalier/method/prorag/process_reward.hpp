#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/method/prorag/step_format.hpp>
#include <espalier/rag/sampler.hpp>

#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

/// Scores steps with the purpose "process_reward". The model is a process reward model or a language model. It sees the
/// question, the whole history before the step with all documents, and the step.
///
/// As an evaluator it gives the score of a state's last step, in [low, high] of the purpose's form. The score is
/// unknown if the reply is not a score. On a finished tree, annotate() gives each step the annotation "process_reward".
/// A step that could not be read is shown as the model wrote it.
class ProcessReward {
 public:
  using Result = Evaluation<rag::State, double>;
  explicit ProcessReward(rag::Sampler sampler) : sampler_(std::move(sampler)) {}

  template <class Env>
  Task<Result> operator()(Env&, rag::State state, Context context) {
    const auto samples = co_await sampler_.draw("process_reward", slots(state), 1, context);
    Result result(0);
    result.known = samples.front().reply.has_value();
    if (result.known) result.value = samples.front().reply->scores.front();
    co_return result;
  }
  /// This object must outlive the task.
  template <class = void>
  Task<void> annotate(rag::Tree* tree) {
    const std::vector<Seed> seeds = tree->seeds();
    std::vector<Task<std::vector<rag::Sampler::Sample>>> draws;
    for (NodeId id = 1; id < tree->size(); ++id) {  // the calls of the other steps are kept back from each
      const Context context(seeds[id], 0, &tree->ledger, tree->size() - 2);
      auto shown = espalier::detail::closed_at_birth((*tree)[id])
                       ? slots(tree->state(id), tree->state(id).transcript(), tree->action(id).text)
                       : slots(tree->state(id));
      draws.push_back(sampler_.draw("process_reward", std::move(shown), 1, context));
    }
    const auto samples = co_await gather(std::move(draws));
    tree->annotations.erase("process_reward");
    for (NodeId id = 1; id < tree->size(); ++id)
      if (const auto& reply = samples[id - 1].front().reply)
        tree->annotate("process_reward", id, reply->scores.front());
  }

 private:
  /// The history before the last step, and that step without its documents.
  [[nodiscard]] detail::Slots slots(const rag::State& state) const {
    auto segments = state.transcript().segments();
    if (!segments.empty() && segments.back()->documents()) segments.pop_back();
    rag::Action last;
    if (!segments.empty()) {
      last = rag::Action(segments.back()->kind(), segments.back()->words(), "", "");
      segments.pop_back();
    }
    if (!segments.empty() && segments.back()->kind() == rag::SegmentKind::thought) {
      last.thought = segments.back()->words();
      segments.pop_back();
    }
    rag::Transcript before;
    for (const rag::Segment* segment : segments) before = before.append(*segment);
    return slots(state, before, detail::step_text(last, *sampler_.prompts().protocol()));
  }
  [[nodiscard]] detail::Slots slots(const rag::State& state, const rag::Transcript& before, std::string text) const {
    detail::Slots slots = detail::history_slots(state.question(), before, *sampler_.prompts().protocol());
    slots.emplace_back("step", rag::Rendering()).second.text = std::move(text);
    return slots;
  }

  rag::Sampler sampler_;
};

}  // namespace espalier::method
