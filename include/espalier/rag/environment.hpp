#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/rag/sampler.hpp>
#include <espalier/rag/state.hpp>
#include <espalier/rag/text.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::rag {

/// The plain loop of agentic retrieval: think, then search or answer, until there is an answer. It has one kind of
/// step, drawn from the prompt "rollout" with the slots question and history. DecEx-RAG uses it for rollouts and as its
/// inference form. Start from it for your own searches.
class Environment {
 public:
  using State = rag::State;
  using Action = rag::Action;
  /// The text that deduplication compares: exact, or in the normal form of the metrics.
  enum class Dedup : std::uint8_t { exact, normalised };
  struct Options {
    std::uint32_t documents = 3;   ///< passages per search, > 0
    std::uint32_t max_rounds = 8;  ///< rounds on one path, then "forced_answer" is used if the method has it
    Dedup dedup = Dedup::normalised;
    bool force_once = false;  ///< a forced answer that is greedy is drawn once, however many are wanted
  };

  Environment(Sampler sampler, RetrieverPort retriever, Options options)
      : Environment(std::make_shared<const Sampler>(std::move(sampler)), std::move(retriever), options) {}

  [[nodiscard]] State root(const Question& question) const { return State(question); }
  [[nodiscard]] State root(const Example& example) const { return State(example); }

  [[nodiscard]] std::span<const Kind> kinds(const State& state) const {
    static constexpr std::array<Kind, 1> step{static_cast<Kind>(SegmentKind::query)};
    return std::span<const Kind>(step).first(state.answer() ? 0 : 1);
  }

  template <class = void>
  Task<std::vector<Proposal<Action>>> propose(State state, Kind, std::uint32_t n, Context context) const {
    const bool last =
        state.iterations() >= options_.max_rounds && sampler_->prompts().protocol()->purpose("forced_answer");
    return draw(last ? "forced_answer" : "rollout", slots(state.view()), n, std::move(context), SegmentKind::answer,
                last);
  }

  /// Adds the action's segments. A query is also sent to the retriever, and its documents follow.
  template <class = void>
  Task<State> step(State state, Action action, Context context) const {
    state = state.with(action);
    if (action.kind != SegmentKind::query) co_return state;
    Passages documents = co_await find(std::move(action.text), context);
    co_return state.with(Segment(std::move(documents)));
  }
  /// Sends a query to the retriever and counts it in the ledger.
  template <class = void>
  Task<Passages> find(std::string text, Context context) const {
    Query query(std::move(text), options_.documents);
    Passages documents = co_await retriever_(std::move(query));
    ++(*context.ledger)["retrieval"].retrievals;
    co_return documents;
  }

  /// Question and history as slots, for environments with more kinds of steps.
  [[nodiscard]] PromptSet::Slots slots(State::View view) const {
    return {{"question", render_text(view.question().text)},
            {"history", render_history(view.transcript(), *sampler_->prompts().protocol())}};
  }

  /// Draws n samples of a purpose as proposals. A reply's tag says what the action is: answer, question (a
  /// sub-question), search (a query), sub_answer, queries or thought. `bare`: the kind without a tag and of "answer".
  template <class = void>
  Task<std::vector<Proposal<Action>>> draw(std::string purpose, PromptSet::Slots slots, std::uint32_t n,
                                           Context context, SegmentKind bare = SegmentKind::answer,
                                           bool forced = false) const {
    if (forced && options_.force_once && sampler_->greedy(purpose)) n = context.first == 0 && n > 0 ? 1 : 0;
    std::vector<Sampler::Sample> samples =
        co_await sampler_->draw(std::move(purpose), std::move(slots), n, std::move(context));
    std::vector<Proposal<Action>> proposals;
    for (Sampler::Sample& sample : samples) {
      if (!sample.reply) {
        proposals.emplace_back(Action(bare, sample.raw.str(), "", ""), Kind(bare), 1.0F, Reason::malformed);
        continue;
      }
      Reply& reply = *sample.reply;
      const SegmentKind kind = kind_of(reply.tag, bare);
      std::string compared = key(reply.content);
      Action action(kind, std::move(reply.content), std::move(reply.thought), std::move(compared), forced);
      if (sample.logprob) action.logprob = static_cast<float>(*sample.logprob);
      action.tokens = sample.tokens;
      action.token_logprobs = std::move(sample.token_logprobs);
      proposals.emplace_back(std::move(action), Kind(kind), 1.0F, Reason::none);
    }
    for (std::size_t i = 0; i < samples.size(); ++i) proposals[i].action.source = samples[i].raw.source();
    co_return proposals;
  }

  [[nodiscard]] const Sampler& sampler() const { return *sampler_; }
  /// The text that deduplication compares.
  [[nodiscard]] std::string key(const std::string& text) const {
    return options_.dedup == Dedup::exact ? text : detail::form_or_text(text);
  }
  /// The same loop with another number of rounds.
  [[nodiscard]] Environment limited_to(std::uint32_t max_rounds) const {
    return {sampler_, retriever_, {options_.documents, max_rounds, options_.dedup, options_.force_once}};
  }
  /// The same loop where no reply is drawn again, so that its paths are the policy's own.
  [[nodiscard]] Environment drawing_once() const { return {sampler_->drawing_once(), retriever_, options_}; }
  [[nodiscard]] std::uint32_t documents() const { return options_.documents; }
  /// The same loop with another number of passages per search.
  [[nodiscard]] Environment finding(std::uint32_t documents) const {
    return {sampler_, retriever_, {documents, options_.max_rounds, options_.dedup, options_.force_once}};
  }
  /// The same models and retriever with other prompts.
  [[nodiscard]] Environment with_prompts(PromptSet prompts) const {
    return {sampler_->with_prompts(std::move(prompts)), retriever_, options_};
  }

 private:
  Environment(std::shared_ptr<const Sampler> sampler, RetrieverPort retriever, Options options)
      : sampler_(std::move(sampler)), retriever_(std::move(retriever)), options_(options) {
    if (options_.documents == 0) bad_option("documents", options_.documents, "1 or more");
  }
  static SegmentKind kind_of(const std::string& role, SegmentKind bare) {
    if (role == "question") return SegmentKind::sub_question;
    if (role == "search") return SegmentKind::query;
    if (role == "sub_answer") return SegmentKind::sub_answer;
    if (role == "thought") return SegmentKind::thought;
    return role == "queries" ? SegmentKind::queries : bare;
  }
  std::shared_ptr<const Sampler> sampler_;
  RetrieverPort retriever_;
  Options options_;
};

}  // namespace espalier::rag
