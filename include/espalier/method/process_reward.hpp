#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/output/step_format.hpp>
#include <espalier/rag/sampler.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

/// Scores steps by the purpose "process_reward": a process reward model, or a language model in its place. It sees the
/// question, the history before the step with all its documents, and the step; nothing is cut off.
///
/// As an evaluator it gives the score of a state's last step, [low, high] of the purpose's form, unknown for a reply that is
/// no score; on a finished tree it annotates each step that could be read with "process_reward".
class ProcessReward {
 public:
  using Result = Evaluation<rag::State, double>;
  explicit ProcessReward(rag::Sampler sampler) : sampler_(std::move(sampler)) {}

  template <class Env>
  Task<Result> operator()(Env&, const rag::State& state, const Context& context) {
    return evaluate(this, state, context);
  }
  /// This object must outlive the task.
  Task<void> annotate(rag::Tree* tree) { return annotate_all(this, tree); }

 private:
  static Task<Result> evaluate(ProcessReward* self, rag::State state, Context context) {
    const auto samples = co_await self->sampler_.draw("process_reward", self->slots(state), 1, context);
    Result result(0);
    result.known = samples.front().reply.has_value();
    if (result.known) result.value = self->score(samples.front());
    co_return result;
  }
  static Task<void> annotate_all(ProcessReward* self, rag::Tree* tree) {
    std::vector<Seed> seeds(tree->size(), tree->seed);
    std::vector<std::uint64_t> children(tree->size());
    std::vector<NodeId> nodes;
    std::vector<Task<std::vector<rag::Sample>>> draws;
    for (NodeId id = 1; id < tree->size(); ++id) {
      const NodeId parent = (*tree)[id].parent;
      seeds[id] = seeds[parent].child(children[parent]++);
      if (closed_at_birth((*tree)[id])) continue;
      const Context context(seeds[id], 0, &tree->ledger);
      nodes.push_back(id);
      draws.push_back(self->sampler_.draw("process_reward", self->slots(tree->state(id)), 1, context));
    }
    const auto samples = co_await gather(std::move(draws));
    tree->annotations.erase("process_reward");
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (samples[i].front().reply) tree->annotate("process_reward", nodes[i], self->score(samples[i].front()));
  }
  [[nodiscard]] double score(const rag::Sample& sample) const {
    return rag::read_scores(sample.reply->content, sampler_.prompts().protocol()->purpose("process_reward")->scores)->front();
  }
  /// The history up to the last step, and that step without the documents that it found.
  [[nodiscard]] std::vector<std::pair<std::string, rag::Rendering>> slots(const rag::State& state) const {
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
    const Protocol& protocol = *sampler_.prompts().protocol();
    rag::Rendering step;
    step.text = output::step_text(last, protocol);
    std::vector<std::pair<std::string, rag::Rendering>> slots;
    slots.emplace_back("question", rag::render_text(state.question().text));
    slots.emplace_back("history", rag::render_history(before, protocol));
    slots.emplace_back("step", std::move(step));
    return slots;
  }

  rag::Sampler sampler_;
};

}  // namespace espalier::method
