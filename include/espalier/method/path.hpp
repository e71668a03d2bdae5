#pragma once

#include <espalier/rag/environment.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

/// A search that never branches, for methods that are plain programs: ask, look up, answer. Each step is a node under the
/// one before, so trees, answers, costs and reports are those of any other search. Once a reply cannot be read or a budget
/// is spent, the path is closed: it asks nothing more.
class Path {
 public:
  using Slots = std::vector<std::pair<std::string, rag::Rendering>>;
  struct Options {
    std::uint64_t max_calls = 0;   ///< completions, 0 = no limit
    std::uint64_t max_tokens = 0;  ///< input + output tokens, 0 = no limit
  };

  Path(const rag::Environment& loop, rag::State root, std::uint64_t run_seed, Options options)
      : loop_(loop), options_(options), seed_(run_seed, root.question().id), tree_(std::move(root), seed_) {}

  [[nodiscard]] const rag::State& state() const { return tree_.state(at_); }
  [[nodiscard]] const std::string& question() const { return state().question().text; }
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] const Protocol& protocol() const { return *loop_.sampler().prompts().protocol(); }

  /// One reply of a purpose as the next node; a query is searched. Slots: question, history and `more`, which replaces
  /// those of the same name. `bare` is what an untagged text and the role "answer" mean. Nothing once the path is closed.
  Task<std::optional<rag::Action>> ask(std::string purpose, Slots more = Slots(), rag::SegmentKind bare = rag::SegmentKind::answer) {
    if (spent()) co_return std::nullopt;
    auto proposals = co_await loop_.draw(std::move(purpose), slots(std::move(more)), 1, next(), bare);
    auto& proposal = proposals.front();
    const rag::Action action = proposal.action;
    if (proposal.closed != Reason::none) {
      closed_ = true;
      tree_.prune(tree_.add(at_, std::move(proposal.action), state(), proposal.kind, 1), proposal.closed);
      co_return std::nullopt;
    }
    co_await step(action);
    co_return action;
  }

  /// One reply that leaves no node, such as a judgement; nothing if it cannot be read or the path is closed.
  Task<std::optional<rag::Reply>> consult(std::string purpose, Slots more = Slots()) {
    if (spent()) co_return std::nullopt;
    auto samples = co_await loop_.sampler().draw(std::move(purpose), slots(std::move(more)), 1, next());
    co_return samples.front().reply;
  }

  /// Searches for a text that the program made; the documents follow it.
  Task<void> search(std::string query) {
    if (spent()) co_return;
    const rag::Action action(rag::SegmentKind::query, query, "", query);
    co_await step(action);
  }

  /// Adds words that no call has just given, such as an answer taken from earlier text.
  void add(rag::Action action) {
    if (closed_) return;
    rag::State after = state();
    if (!action.thought.empty()) after = after.with(rag::Segment(rag::SegmentKind::thought, rag::ModelText(action.thought)));
    after = after.with(rag::Segment(action.kind, rag::ModelText(action.text)));
    append(std::move(action), std::move(after));
  }
  /// Tells the model something; it stands behind the last node's words.
  void notice(std::string text) {
    if (!closed_ && at_ != tree_.root()) tree_.state(at_) = state().with(rag::Segment(rag::Notice(std::move(text))));
  }
  /// The documents of the last search; empty before the first.
  [[nodiscard]] Passages documents() const {
    const auto segments = state().transcript().segments();
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment)
      if (const Passages* found = (*segment)->documents()) return *found;
    return {};
  }

  [[nodiscard]] rag::Tree tree() && { return std::move(tree_); }

 private:
  [[nodiscard]] Slots slots(Slots more) const {
    Slots all = loop_.slots(state().view());
    for (auto& slot : more) {
      std::erase_if(all, [&](const auto& other) { return other.first == slot.first; });
      all.push_back(std::move(slot));
    }
    return all;
  }
  /// A place of its own for each call.
  Context next() { return {seed_.child(calls_++), 0, &tree_.ledger}; }
  Task<void> step(rag::Action action) {
    const Context context = next();
    rag::State after = co_await loop_.step(state(), action, context);
    append(std::move(action), std::move(after));
  }
  void append(rag::Action action, rag::State after) {
    const bool last = action.kind == rag::SegmentKind::answer;
    const auto kind = static_cast<Kind>(action.kind);
    tree_[at_].status = Status::expanded;
    at_ = tree_.add(at_, std::move(action), std::move(after), kind, 1);
    if (!last) return;
    tree_[at_].status = Status::terminal;
    closed_ = true;
  }
  bool spent() {
    const Costs costs = tree_.ledger.total();
    const bool over = (options_.max_calls && costs.completions >= options_.max_calls) ||
                      (options_.max_tokens && costs.prompt_tokens + costs.completion_tokens >= options_.max_tokens);
    if (over && !closed_) {
      tree_.ending = Ending::budget;
      closed_ = true;
    }
    return closed_;
  }

  const rag::Environment& loop_;
  Options options_;
  Seed seed_;
  rag::Tree tree_;
  NodeId at_ = 0;
  std::uint64_t calls_ = 0;
  bool closed_ = false;
};

}  // namespace espalier::method
