#pragma once

#include <espalier/core/ledger.hpp>
#include <espalier/core/tree.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/llm/prompt.hpp>
#include <espalier/rag/question.hpp>
#include <espalier/rag/transcript.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::rag {

/// An action: a segment that the model wants to add, and the thought before it.
struct Action {
  Action() = default;
  Action(SegmentKind kind, std::string text, std::string thought, std::string key, bool forced = false)
      : kind(kind), text(std::move(text)), thought(std::move(thought)), key(std::move(key)), forced(forced) {}
  SegmentKind kind = SegmentKind::thought;
  std::string text;     ///< the answer, sub-question or query. The raw reply if it could not be read
  std::string thought;  ///< what the model wrote before it, may be empty
  std::string key;      ///< the text that deduplication compares
  bool forced = false;  ///< the model was told to answer
  std::shared_ptr<const Passages> found{};  ///< documents that were already retrieved for the step, null if none
  float logprob = std::numeric_limits<float>::quiet_NaN();  ///< sum over its tokens, NaN = unknown
  std::uint32_t tokens = 0;                                 ///< how many it has, 0 = unknown
  std::vector<Completion::TokenLogprob> token_logprobs{};   ///< of each token, if asked for and given
  std::shared_ptr<const ModelText::Source> source{};        ///< what it was read from, null if tokens are not kept
  friend bool operator==(const Action& a, const Action& b) { return a.kind == b.kind && a.key == b.key; }
};

/// A state of a search: a question's transcript and its counts. Copies share everything except the counts.
class State {
 public:
  /// What a prompt builder may see: the question and the transcript. No gold answer can be reached from here.
  class View {
   public:
    View(const Question& question, const Transcript& transcript) : question_(&question), transcript_(&transcript) {}
    [[nodiscard]] const Question& question() const { return *question_; }
    [[nodiscard]] const Transcript& transcript() const { return *transcript_; }

   private:
    const Question* question_;
    const Transcript* transcript_;
  };

  State() = default;
  /// A search without gold answers, for use and evaluation.
  explicit State(Question question) : State(Example{std::move(question), {}, {}, {}, 0, {}}) {}
  /// A search whose rewards may use the gold answers.
  explicit State(const Example& example) : episode_(std::make_shared<const Episode>(Episode{example, {}})) {}
  /// The same start of a search, for which something was spent before. Budgets count it.
  [[nodiscard]] State after(Ledger::Spending spent) const {
    State other = *this;
    other.episode_ = std::make_shared<const Episode>(Episode{*episode_, std::move(spent)});
    return other;
  }

  [[nodiscard]] const Ledger::Spending& spent_before() const { return episode_->spent_before; }
  [[nodiscard]] View view() const { return {episode_->question, transcript_}; }
  [[nodiscard]] const Question& question() const { return episode_->question; }
  [[nodiscard]] const Transcript& transcript() const { return transcript_; }
  /// For rewards and outputs only. Throws std::invalid_argument if there is no gold answer.
  [[nodiscard]] const Gold& gold() const {
    if (episode_->gold.empty())
      throw std::invalid_argument("question '" + episode_->question.id +
                                  "' has no gold answer: choose a reward that needs none");
    return episode_->gold;
  }
  [[nodiscard]] bool has_gold() const { return !episode_->gold.empty(); }
  /// The gold chain, empty if unknown. For outputs, and for purposes that see gold.
  [[nodiscard]] const std::vector<ChainStep>& chain() const { return episode_->chain; }
  /// The final answer, if there is one.
  [[nodiscard]] std::optional<std::string> answer() const {
    const Segment* last = transcript_.last();
    if (last == nullptr || last->kind() != SegmentKind::answer) return std::nullopt;
    return last->model_text()->str();
  }
  /// The sub-question that has no answer yet, or null.
  [[nodiscard]] const std::string* open_sub_question() const {
    const Segment* last = transcript_.last();
    return last != nullptr && last->kind() == SegmentKind::sub_question ? &last->model_text()->str() : nullptr;
  }
  [[nodiscard]] std::uint32_t iterations() const { return iterations_; }  ///< sub-questions answered, or searches made
  [[nodiscard]] std::uint32_t retrievals() const { return retrievals_; }  ///< searches on this path

  [[nodiscard]] State with(Segment segment) const {
    State next = *this;
    if (segment.kind() == SegmentKind::own_answer || segment.kind() == SegmentKind::documents) ++next.iterations_;
    if (segment.kind() == SegmentKind::documents) ++next.retrievals_;
    next.transcript_ = transcript_.append(std::move(segment));
    return next;
  }
  /// With the action's thought, if it has one, and its text.
  [[nodiscard]] State with(const Action& action) const {
    const State next = action.thought.empty() ? *this : with(Segment(SegmentKind::thought, ModelText(action.thought)));
    return next.with(Segment(action.kind, ModelText(action.text, action.source)));
  }

 private:
  struct Episode : Example {
    Ledger::Spending spent_before;
  };
  std::shared_ptr<const Episode> episode_;
  Transcript transcript_;
  std::uint32_t iterations_ = 0;
  std::uint32_t retrievals_ = 0;
};

using Tree = espalier::Tree<State, Action, double>;

}  // namespace espalier::rag
