#pragma once

#include <espalier/policy/backup.hpp>
#include <espalier/policy/diversity.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/detail/children.hpp>
#include <espalier/search/detail/pruning.hpp>
#include <espalier/search/detail/tree_search.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace espalier {

/// Hierarchical beam search (DecoupleRAG, section 3.4). The kinds of steps take turns, and each kind is a level with
/// its own beam: for example plans, then the queries of each kept plan. A state's level is that of its first legal
/// kind. The best children of a level go on, ranked by `rank(kind, value)` (ties: higher prior, then older). Terminal
/// states leave the beam and stay in the tree. The search ends when the beam is empty or after `max_depth` levels. An
/// environment that must answer by then has to offer only answers in time. A depth whose draws and values the budget
/// cannot pay for is not begun. The pruning policy is asked as by Beam.
template <class Evaluate, class Rank, class Text, class Prune = KeepAll>
class HierarchicalBeam : public detail::TreeSearch<HierarchicalBeam<Evaluate, Rank, Text, Prune>, Evaluate, Prune> {
 public:
  /// The beam of one kind.
  struct Level {
    std::uint32_t width = 3;                ///< children of one state that are valued (B), > 0
    std::uint32_t keep = 1;                 ///< children that go on, of all at this depth, > 0
    std::uint32_t oversample = 1;           ///< samples drawn for each valued child, > 0
    Diversity diversity = Diversity::none;  ///< how samples are chosen as children
  };
  struct Options {
    std::vector<std::pair<Kind, Level>> levels{};  ///< by kind, at least one
    std::uint32_t max_depth = 20;                  ///< steps on one path, > 0
    Budget budget{};
    std::uint32_t value_calls = 0;  ///< completions that the value of a child asks for
  };
  /// rank(kind, value) -> double. text(action) -> string: the text that `diversity` compares.
  HierarchicalBeam(Options options, Evaluate evaluate, Rank rank, Text text, Prune prune = Prune())
      : options_(std::move(options)),
        evaluate_(std::move(evaluate)),
        rank_(std::move(rank)),
        text_(std::move(text)),
        prune_(std::move(prune)) {
    if (options_.levels.empty()) bad_option("levels", 0, "1 or more");
    if (options_.max_depth == 0) bad_option("max_depth", options_.max_depth, "1 or more");
    for (const auto& [kind, level] : options_.levels) {
      if (level.width == 0) bad_option("width", level.width, "1 or more");
      if (level.keep == 0) bad_option("keep", level.keep, "1 or more");
      if (level.oversample == 0) bad_option("oversample", level.oversample, "1 or more");
    }
    detail::refuse(prune_, "HierarchicalBeam", false, true);
    options_.budget.check();
  }

 private:
  friend detail::TreeSearch<HierarchicalBeam, Evaluate, Prune>;

  struct BeamNode : detail::Parent {
    Kind kind = 0;  ///< of the level of this node
  };

  template <class Env>
  Task<detail::TreeBy<Evaluate, Env>> grow(Env* env, typename Env::State root, Seed seed) {
    detail::TreeBy<Evaluate, Env> tree(std::move(root), seed);
    std::vector<BeamNode> beam;
    admit(*env, tree, tree.root(), seed, beam);
    const double began = options_.budget.start(tree);
    for (std::uint32_t depth = 0; depth < options_.max_depth && !beam.empty(); ++depth) {
      if (!options_.budget.begin_step(tree, began, calls(beam))) break;
      co_await add_children(env, &tree, &beam);
      detail::prune_all(detail::before_values, prune_, tree, beam, "HierarchicalBeam");
      co_await value(env, &tree, &beam);
      detail::prune_all(detail::at_values, prune_, tree, beam, "HierarchicalBeam");
      beam = next_beam(*env, tree, beam);
    }
    detail::finish(tree);
    co_return tree;
  }

  /// Puts a state into the beam, or marks it as terminal.
  static void admit(auto& env, auto& tree, NodeId node, Seed seed, std::vector<BeamNode>& beam) {
    const auto kinds = env.kinds(tree.state(node));
    if (std::ranges::empty(kinds)) {
      tree[node].status = Status::terminal;
      return;
    }
    BeamNode place;
    place.node = node;
    place.seed = seed;
    place.kind = *std::ranges::begin(kinds);
    beam.push_back(std::move(place));
  }
  [[nodiscard]] const Level& level(Kind kind) const {
    for (const auto& [of, level] : options_.levels)
      if (of == kind) return level;
    return options_.levels.back().second;
  }

  /// The completions that draw the proposals of a place.
  [[nodiscard]] std::uint32_t draws(const BeamNode& place) const {
    const Level& of = level(place.kind);
    return of.width * of.oversample;
  }
  /// The completions that a depth asks for at most where every reply can be read.
  [[nodiscard]] std::uint64_t calls(const std::vector<BeamNode>& beam) const {
    std::uint64_t all = 0, values = options_.value_calls;
    for (const BeamNode& place : beam) all += draws(place) + level(place.kind).width * values;
    return all;
  }

  /// Adds the chosen proposals of every place of the beam. Unread ones are drawn again from the whole depth's budget.
  Task<void> add_children(auto* env, auto* tree, std::vector<BeamNode>* beam) {
    std::vector<detail::Ask> asks;
    for (BeamNode& place : *beam) asks.push_back({&place, place.kind, draws(place), 0, calls(*beam) - draws(place)});
    return detail::add_children(env, tree, std::move(asks), [this](const detail::Ask& ask, auto proposals) {
      auto some = chosen(std::move(proposals), level(ask.kind));
      for (auto& proposal : some) proposal.prior /= static_cast<float>(ask.n);
      return some;
    });
  }
  /// The proposals of one place that become children: the readable ones by diversity, and all malformed ones.
  template <class Proposals>
  Proposals chosen(Proposals proposals, const Level& of) const {
    constexpr bool fits = requires { std::string(text_(proposals[0].action)); };
    static_assert(fits, "text of HierarchicalBeam: must be text(const Action&) -> std::string");
    std::vector<std::string> texts;
    std::vector<std::size_t> readable;
    for (std::size_t i = 0; i < proposals.size(); ++i)
      if (proposals[i].closed == Reason::none) {
        if constexpr (fits) texts.push_back(text_(proposals[i].action));
        readable.push_back(i);
      }
    std::vector<bool> stays(proposals.size(), true);
    for (const std::size_t i : readable) stays[i] = false;
    for (const std::size_t i : detail::diverse(texts, of.width, of.diversity)) stays[readable[i]] = true;
    Proposals some;
    for (std::size_t i = 0; i < proposals.size(); ++i)
      if (stays[i]) some.push_back(std::move(proposals[i]));
    return some;
  }

  Task<void> value(auto* env, auto* tree, std::vector<BeamNode>* beam) {
    std::vector<detail::Seeded> children;
    for (const BeamNode& place : *beam) children.insert(children.end(), place.children.begin(), place.children.end());
    co_await detail::value_children(&evaluate_, env, tree, &children, options_.value_calls);
  }

  /// A child that may go on.
  struct Candidate {
    NodeId node = 0;
    Seed seed{};
    Kind kind = 0;  ///< of its parent's level
    double rank = 0;
  };

  [[nodiscard]] double rank_of(Kind kind, const auto& value) const {
    constexpr bool fits = requires { double(rank_(kind, value)); };
    static_assert(fits, "rank of HierarchicalBeam: must be rank(Kind, const Value&) -> double");
    if constexpr (fits) return rank_(kind, value);
    else return 0;
  }

  /// Marks terminal children, prunes all but the best others of each level, and returns these as the next beam.
  std::vector<BeamNode> next_beam(auto& env, auto& tree, const std::vector<BeamNode>& beam) const {
    std::vector<Candidate> candidates;
    for (const BeamNode& place : beam) {
      tree[place.node].status = Status::expanded;
      for (const auto& [child, seed] : place.children)
        if (tree[child].status != Status::pruned)
          candidates.push_back({child, seed, place.kind, rank_of(place.kind, tree[child].mean())});
    }
    for (const Candidate& one : candidates)
      if (std::isnan(one.rank)) throw TreeError("the rank of node " + std::to_string(one.node) + " is not a number");
    std::stable_sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
      return a.rank != b.rank ? a.rank > b.rank : tree[a.node].prior > tree[b.node].prior;
    });
    std::vector<BeamNode> next;
    std::array<std::uint32_t, 256> kept{};
    for (const Candidate& candidate : candidates) {
      const bool over = std::ranges::empty(env.kinds(tree.state(candidate.node)));
      if (!over && kept[candidate.kind]++ >= level(candidate.kind).keep) tree.prune(candidate.node, Reason::not_best);
      else admit(env, tree, candidate.node, candidate.seed, next);
    }
    std::sort(next.begin(), next.end(), [](const BeamNode& a, const BeamNode& b) { return a.node < b.node; });
    return next;
  }

  Options options_;
  Evaluate evaluate_;
  Rank rank_;
  Text text_;
  Prune prune_;
};

}  // namespace espalier
