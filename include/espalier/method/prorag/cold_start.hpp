#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/method/prorag/step_format.hpp>
#include <espalier/method/prorag/step_rows.hpp>
#include <espalier/rag/sampler.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

namespace detail {

/// Cold-start data (ProRAG, section 3.1). A model sees a question's gold chain with its passages and answers. It writes
/// the chain as steps, each with a thought. The chain must hold the text of every step's passage.
///
/// Adds the steps to a tree as the remark "cold_start" of its root. A model is asked once, if there is such a chain.
class ColdStart {
 public:
  explicit ColdStart(rag::Sampler sampler) : sampler_(std::move(sampler)) {}
  std::size_t without_chain = 0;  ///< questions without such a chain

  /// This object must outlive the task.
  Task<void> operator()(rag::Tree* tree) {
    std::erase_if(tree->remarks, [](const SearchFacts::Remark& remark) { return remark.name == "cold_start"; });
    const rag::State& root = tree->state(tree->root());
    const bool has_chain = root.has_gold() && complete(root.chain());
    without_chain += !has_chain;
    if (!has_chain) co_return;
    const Context context(tree->seed, 0, &tree->ledger);
    const auto samples = co_await sampler_.draw("cold_start", slots(root), 1, context);
    if (samples.front().reply) tree->remarks.push_back({"cold_start", tree->root(), samples.front().reply->content});
  }

 private:
  static bool complete(const std::vector<rag::ChainStep>& chain) {
    return !chain.empty() &&
           std::none_of(chain.begin(), chain.end(), [](const rag::ChainStep& s) { return s.support_text.empty(); });
  }
  static Slots slots(const rag::State& root) {
    rag::Rendering chain;
    std::size_t number = 0;
    for (const rag::ChainStep& step : root.chain()) {
      const std::string n = std::to_string(++number);
      chain.text += "Question " + n + ": ";
      chain.add("gold question", step.question);
      chain.text += "\nPassage " + n + ": " + rag::detail::neutralise(step.support_title + ": " + step.support_text);
      chain.text += "\nAnswer " + n + ": ";
      chain.add("gold step", step.answer);
      chain.text += '\n';
    }
    return {{"question", rag::render_text(root.question().text)},
            {"gold_chain", std::move(chain)},
            {"gold", rag::render_text(root.gold().front())}};
  }

  rag::Sampler sampler_;
};

}  // namespace detail

/// Appends a row {id, history, completion, weights} for each step that the remark "cold_start" tells, the passages in
/// the histories being those of the gold chain. A chain of h steps must be told in 2 h + 1 steps: a query and a
/// conclusion for each, then the answer. Otherwise nothing is written, and the result is false.
inline bool append_cold_start_rows(const output::TreeRecord& record, const rag::PromptSet& prompts, double lambda,
                                   std::string& out) {
  const rag::Tree& tree = record.tree;
  const auto told = std::find_if(tree.remarks.begin(), tree.remarks.end(),
                                 [](const SearchFacts::Remark& remark) { return remark.name == "cold_start"; });
  if (told == tree.remarks.end()) return true;
  rag::State state = tree.state(tree.root());
  const std::vector<rag::ChainStep>& chain = state.chain();
  const std::vector<detail::ToldStep> steps = detail::told_steps(told->text, *prompts.protocol());
  if (steps.size() != 2 * chain.size() + 1) return false;
  const auto kind = [&](std::size_t i) {
    using enum rag::SegmentKind;
    return i + 1 == steps.size() ? answer : i % 2 == 0 ? query : sub_answer;
  };
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].role != rag::detail::role(kind(i))) return false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string text = kind(i) == rag::SegmentKind::answer ? state.gold().front() : steps[i].text;
    const rag::Action action(kind(i), text, steps[i].thought, "");
    detail::write_sft_row(record, state, action, "#gold" + std::to_string(i), prompts, lambda, out,
                          [&](JsonWriter& json) { record.begin_provenance(json).field("step", i); });
    state = state.with(action);
    if (action.kind != rag::SegmentKind::query) continue;
    const rag::ChainStep& from = chain[i / 2];
    state = state.with(rag::Segment(Passages{Passage(from.support_id, from.support_title, from.support_text, 1)}));
  }
  return true;
}

}  // namespace espalier::method
