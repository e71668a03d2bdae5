#pragma once

#include <espalier/method/detail/evidence.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/search/budget.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::method {

/// A search that never branches, for methods that are plain programs. Each step is a node under the previous one, so
/// trees, answers, costs and reports look like those of any other search. The path is closed once a reply cannot be
/// read, an answer is given, or a budget is spent. It then asks nothing more.
class Path {
 public:
  using Slots = rag::PromptSet::Slots;

  /// No call is made whose prompt the budget cannot pay for.
  Path(const rag::Environment& loop, rag::State root, std::uint64_t run_seed, Budget budget)
      : loop_(loop),
        budget_(std::move(budget)),
        seed_(run_seed, root.question().id),
        tree_(std::move(root), seed_),
        began_(budget_.start(tree_)) {
    tree_.ledger.densest = state().spent_before().densest;
  }

  [[nodiscard]] const rag::State& state() const { return tree_.state(at_); }
  [[nodiscard]] const std::string& question() const { return state().question().text; }
  [[nodiscard]] bool closed() const { return closed_; }

  /// Draws one reply for a purpose without adding a node. `more` replaces slots by name. Nothing if it is closed.
  Task<std::optional<rag::Sampler::Sample>> sample(std::string purpose, Slots more = Slots()) {
    Slots all = slots(std::move(more));
    if (spent(purpose, all)) co_return std::nullopt;
    auto samples = co_await loop_.sampler().draw(std::move(purpose), std::move(all), 1, next());
    co_return std::move(samples.front());
  }
  /// The content of one reply, such as a judgement. Nothing if it cannot be read.
  Task<std::optional<rag::Reply>> consult(std::string purpose, Slots more = Slots()) {
    std::optional<rag::Sampler::Sample> drawn = co_await sample(std::move(purpose), std::move(more));
    co_return drawn ? drawn->reply : std::nullopt;
  }
  /// Draws one reply as a step without taking it. Closes the path if it is unreadable. `bare`: the kind of an answer.
  Task<std::optional<Proposal<rag::Action>>> draw(std::string purpose, Slots more = Slots(),
                                                  rag::SegmentKind bare = rag::SegmentKind::answer) {
    Slots all = slots(std::move(more));
    if (spent(purpose, all)) co_return std::nullopt;
    const bool forced = purpose == "forced_answer";
    auto proposals = co_await loop_.draw(std::move(purpose), std::move(all), 1, next(), bare, forced);
    auto& proposal = proposals.front();
    if (proposal.closed == Reason::none) co_return std::move(proposal);
    closed_ = true;
    tree_.prune(tree_.add(at_, std::move(proposal.action), state(), proposal.kind, 1), proposal.closed);
    co_return std::nullopt;
  }
  /// Draws a step and takes it.
  Task<std::optional<rag::Action>> ask(std::string purpose, Slots more = Slots(),
                                       rag::SegmentKind bare = rag::SegmentKind::answer) {
    std::optional<Proposal<rag::Action>> drawn = co_await draw(std::move(purpose), std::move(more), bare);
    if (!drawn) co_return std::nullopt;
    co_await take(drawn->action);
    co_return std::move(drawn->action);
  }

  /// Takes a step. A query is searched, and its documents follow. No budget stops a step whose text is paid for.
  Task<void> take(rag::Action action) {
    if (closed_) co_return;
    const Context context = next();
    rag::State after = co_await loop_.step(state(), action, context);
    append(std::move(action), std::move(after));
  }
  /// Takes a query whose documents are cut to a number of bytes, counted as the prompt shows them.
  Task<void> take_cut(rag::Action query, std::size_t most) {
    return take_with(std::move(query), [this, most](const Passages& found) { return cut(found, most); });
  }
  /// Searches for a text that the program itself made.
  Task<void> search(std::string query) { return take(rag::Action(rag::SegmentKind::query, query, "", query)); }
  /// Searches, but keeps only passages that no earlier search found.
  Task<void> search_anew(std::string query) {
    return take_with(rag::Action(rag::SegmentKind::query, query, "", query), [this](Passages found) {
      const Passages known = detail::evidence(state());
      std::erase_if(found, [&](const Passage& p) {
        return std::any_of(known.begin(), known.end(), [&](const Passage& k) { return k.id() == p.id(); });
      });
      return found;
    });
  }
  /// Adds a text without a search or a call.
  void add(rag::SegmentKind kind, std::string text, std::string thought = std::string(),
           decltype(rag::Action::source) source = nullptr) {
    if (closed_) return;
    rag::Action action(kind, text, std::move(thought), text);
    action.source = std::move(source);
    rag::State after = state().with(action);
    append(std::move(action), std::move(after));
  }
  /// Adds a message to the model after the last node's text.
  void notice(std::string text) {
    if (!closed_ && at_ != tree_.root())
      tree_.state(at_) = state().with(rag::Segment(rag::Segment::Notice{std::move(text)}));
  }

  /// The documents of the last search, empty before the first one.
  [[nodiscard]] Passages documents() const {
    const auto segments = state().transcript().segments();
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment)
      if (const Passages* found = (*segment)->documents()) return *found;
    return {};
  }
  /// The documents of all searches in the order in which they were found, each once, at most `most`.
  [[nodiscard]] Passages all_documents(std::size_t most) const {
    Passages all = detail::evidence(state());
    if (all.size() > most) all.erase(all.begin() + static_cast<std::ptrdiff_t>(most), all.end());
    return all;
  }
  /// True if the history has a query with the same normal form.
  [[nodiscard]] bool asked_before(const std::string& query) const {
    const auto segments = state().transcript().segments();
    return std::any_of(segments.begin(), segments.end(), [&](const rag::Segment* s) {
      return s->kind() == rag::SegmentKind::query && rag::normalise(s->words()) == rag::normalise(query);
    });
  }

  [[nodiscard]] Slots showing(const Passages& documents, Slots more = Slots()) const {
    more.emplace_back("documents", rag::render_documents(documents, *loop_.sampler().prompts().protocol()));
    return more;
  }
  [[nodiscard]] static Slots with(std::string slot, std::string_view text, Slots more = Slots()) {
    more.emplace_back(std::move(slot), rag::render_text(text));
    return more;
  }

  [[nodiscard]] rag::Tree tree() && {
    if (tree_[at_].status == Status::open) tree_[at_].status = Status::expanded;
    Budget::end(tree_);
    return std::move(tree_);
  }

 private:
  /// Takes a query with what `kept` leaves of its documents.
  Task<void> take_with(rag::Action query, auto kept) {
    if (closed_) co_return;
    const Context context = next();
    Passages found = co_await loop_.find(query.text, context);
    rag::State after = state().with(query).with(rag::Segment(kept(std::move(found))));
    append(std::move(query), std::move(after));
  }
  /// The passages that fit into a number of bytes, the last one cut.
  [[nodiscard]] Passages cut(const Passages& found, std::size_t most) const {
    Passages kept;
    const auto size = [&] { return rag::render_documents(kept, *loop_.sampler().prompts().protocol()).text.size(); };
    for (const Passage& passage : found) {
      kept.push_back(passage);
      if (size() <= most) continue;
      std::size_t end = passage.text().size() - std::min(passage.text().size(), size() - most);
      while (end > 0 && (static_cast<unsigned char>(passage.text()[end]) & 0xC0) == 0x80) --end;
      kept.back() = Passage(passage.id(), passage.title(), passage.text().substr(0, end), passage.score());
      if (end == 0) kept.pop_back();
      break;
    }
    return kept;
  }
  [[nodiscard]] Slots slots(Slots more) const {
    Slots all = loop_.slots(state().view());
    for (auto& slot : more) {
      std::erase_if(all, [&](const auto& other) { return other.first == slot.first; });
      all.push_back(std::move(slot));
    }
    return all;
  }
  /// A separate seed for each call.
  Context next() { return {seed_.child(calls_++), 0, &tree_.ledger}; }
  void append(rag::Action action, rag::State after) {
    const bool last = action.kind == rag::SegmentKind::answer;
    const auto kind = static_cast<Kind>(action.kind);
    tree_[at_].status = Status::expanded;
    at_ = tree_.add(at_, std::move(action), std::move(after), kind, 1);
    if (!last) return;
    tree_[at_].status = Status::terminal;
    closed_ = true;
  }
  [[nodiscard]] bool affords(const std::string& purpose, const Slots& slots) const {
    if (!budget_.limited()) return true;
    const auto body = loop_.sampler().prompts().render(purpose, slots, Sampling());
    const std::uint64_t tokens = tree_.ledger.prompt_tokens(body->shown().size());
    return budget_.affords(Budget::costs(tree_), {.completions = 1, .prompt_tokens = tokens});
  }
  bool spent(const std::string& purpose, const Slots& slots) {
    if (!closed_ && (budget_.spent(tree_, tree_.steps++, began_) || !affords(purpose, slots))) {
      tree_.ending = SearchFacts::Ending::budget;
      closed_ = true;
    }
    return closed_;
  }

  const rag::Environment& loop_;
  Budget budget_;
  Seed seed_;
  rag::Tree tree_;
  double began_;
  NodeId at_ = 0;
  std::uint64_t calls_ = 0;
  bool closed_ = false;
};

}  // namespace espalier::method
