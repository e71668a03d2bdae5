#pragma once

#include <espalier/core/scheduler.hpp>
#include <espalier/method/airrag/prompts.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/rag/detail/read_scores.hpp>
#include <espalier/rag/environment.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// Scores complete paths with the prompt "process_reward". The model is a process reward model or a language model.
class AirRagJudge {
 public:
  explicit AirRagJudge(rag::Environment loop) : loop_(std::move(loop)) {}

  /// [0, 1], or nothing if the reply is not a score.
  template <class = void>
  Task<std::optional<double>> operator()(rag::State end, Context context) const {
    auto slots = loop_.slots(end.view());
    slots.emplace_back("step", rag::render_text(*end.answer()));
    const auto samples = co_await loop_.sampler().draw("process_reward", std::move(slots), 1, std::move(context));
    const auto& reply = samples.front().reply;
    if (!reply) co_return std::nullopt;
    co_return rag::detail::read_scores(reply->content, airrag_protocol()->purpose("process_reward")->scores)->front();
  }
  /// Annotates the ends of all complete chains with "process_reward", as far as they can be scored.
  template <class = void>
  Task<void> annotate(rag::Tree* tree) const {
    const std::vector<NodeId> ends = output::complete_chains(*tree);
    std::vector<Task<std::optional<double>>> asked;
    for (const NodeId end : ends)
      asked.push_back((*this)(tree->state(end), Context(tree->seed.child(end), 0, &tree->ledger)));
    const auto scores = co_await gather(std::move(asked));
    tree->annotations.erase("process_reward");
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (scores[i]) tree->annotate("process_reward", ends[i], *scores[i]);
  }

 private:
  rag::Environment loop_;
};

}  // namespace espalier::method::detail
