#pragma once

#include <espalier/method/decouple_prompts.hpp>
#include <espalier/rag/environment.hpp>

#include <array>
#include <utility>
#include <vector>

namespace espalier::method {

/// DecoupleRAG's steps: a thought with its action at once, as trees are labelled, or a plan and then its query, as beams go.
class DecoupleEnvironment {
 public:
  using State = rag::State;
  using Action = rag::Action;
  enum : Kind { whole = 16, plan, query };

  DecoupleEnvironment(rag::Environment loop, bool in_two, std::uint32_t max_depth) : loop_(std::move(loop)), in_two_(in_two), max_depth_(max_depth) {}

  [[nodiscard]] std::span<const Kind> kinds(const State& state) const {
    static constexpr std::array<Kind, 3> each{whole, plan, query};
    if (state.answer()) return {};
    const rag::Segment* last = state.transcript().last();
    const bool planned = last != nullptr && last->kind() == rag::SegmentKind::thought;
    return std::span<const Kind>(each).subspan(in_two_ ? (planned ? 2 : 1) : 0, 1);
  }
  Task<std::vector<Proposal<Action>>> propose(State state, Kind kind, std::uint32_t n, Context context) const {
    auto slots = loop_.slots(state.view());
    if (kind == query) return loop_.draw("query", std::move(slots), n, std::move(context), rag::SegmentKind::query);
    if (state.iterations() >= max_depth_) return loop_.draw("forced_answer", std::move(slots), n, std::move(context), rag::SegmentKind::answer, true);
    return loop_.draw(kind == plan ? "plan" : "step", std::move(slots), n, std::move(context));
  }
  Task<State> step(State state, Action action, Context context) const { return loop_.step(std::move(state), std::move(action), std::move(context)); }

  [[nodiscard]] const rag::Environment& loop() const { return loop_; }

 private:
  rag::Environment loop_;
  bool in_two_;
  std::uint32_t max_depth_;
};

}  // namespace espalier::method
