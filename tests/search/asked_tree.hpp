#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/llm/scheduler.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace espalier::testing {

/// An environment whose every answer comes over a port: actions from a model, states from a retriever. It proposes
/// equal actions and unreadable ones now and then, and its requests depend on the node's seed.
class AskedTree {
 public:
  struct State {
    std::uint64_t hash = 1;
    std::uint32_t depth = 0;
  };
  using Action = std::uint32_t;

  AskedTree(ModelPort model, RetrieverPort retriever, std::uint32_t depth)
      : model_(std::move(model)), retriever_(std::move(retriever)), depth_(depth) {}

  [[nodiscard]] std::vector<Kind> kinds(const State& s) const {
    if (s.depth == depth_) return {};
    return {Kind(s.depth % 2), Kind(2)};
  }
  Task<std::vector<Proposal<Action>>> propose(State s, Kind kind, std::uint32_t n, Context context) const {
    std::vector<Task<Completion>> asked;
    Sampling sampling;
    sampling.temperature = 1;
    const std::string text = "propose " + std::to_string(s.hash) + " " + std::to_string(kind);
    const std::uint64_t seed = context.seed.purpose("propose").value();
    for (std::uint32_t i = 0; i < n; ++i) asked.push_back(model_.ask(Prompt(text, sampling, seed, context.first + i)));
    context.ledger->operator[]("propose").completions += n;
    const std::vector<Completion> texts = co_await gather(std::move(asked));
    std::vector<Proposal<Action>> proposals;
    for (const Completion& c : texts) {
      const std::uint64_t word = std::stoull(c.text);
      proposals.emplace_back(static_cast<Action>(word % 5), kind, 1.0F,
                             word % 7 == 0 ? Reason::malformed : Reason::none);
      if (word % 7 == 0)
        context.ledger->add_unread(
            "propose", Ledger::Unread(c.text, 0, context.seed, context.first + std::uint32_t(proposals.size())));
    }
    co_return proposals;
  }
  Task<State> step(State s, Action a, Context context) const {
    ++context.ledger->operator[]("step").retrievals;
    const Passages found = co_await retriever_(
        Query(std::to_string(s.hash) + " " + std::to_string(a) + " " + std::to_string(context.seed.value()), 1));
    State next;
    next.hash = std::stoull(found.front().text());
    next.depth = s.depth + 1;
    co_return next;
  }

  /// What the model says to a prompt: a number made of all that is in its key.
  static Outcome<Completion> say(const Prompt& prompt) {
    return Completion(std::to_string(espalier::detail::mix64(prompt.key().low) >> 8));
  }
  static Outcome<Passages> find(const Query& query) {
    return Passages(1, Passage("0", "", std::to_string(espalier::detail::mix64(query.key().low) >> 8)));
  }

  /// An evaluator: asks the model for a number in [0, 1); a seventh of the states cannot be valued.
  class Judge {
   public:
    explicit Judge(ModelPort model) : model_(std::move(model)) {}
    Task<Evaluation<State, double>> operator()(const AskedTree&, State s, Context context) const {
      const std::string text = "judge " + std::to_string(s.hash);
      Sampling sampling;
      sampling.temperature = 1;
      ++context.ledger->operator[]("judge").completions;
      const Completion c = co_await model_(Prompt(text, sampling, context.seed.purpose("judge").value()));
      const std::uint64_t word = std::stoull(c.text);
      Evaluation<State, double> evaluation(static_cast<double>(word % 1000) / 1000);
      evaluation.known = word % 7 != 0;
      if (!evaluation.known) context.ledger->add_unread("judge", Ledger::Unread(c.text, 0, context.seed, 0));
      evaluation.terminals.emplace_back(s, evaluation.value);
      co_return evaluation;
    }

   private:
    ModelPort model_;
  };

 private:
  ModelPort model_;
  RetrieverPort retriever_;
  std::uint32_t depth_;
};

}  // namespace espalier::testing
