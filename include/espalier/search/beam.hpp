#pragma once

#include <espalier/policy/backup.hpp>
#include <espalier/policy/dedup.hpp>
#include <espalier/policy/prune.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/rollout.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace espalier {

/// Beam search: at each depth every state of the beam gets up to `width` children of each legal kind, all new children are
/// evaluated, and the `beam` best of the depth go on (ties: higher prior, then older). Terminal children take part in the
/// ranking of their depth and stay as answers.
template <class Evaluate>
class Beam {
 public:
  struct Options {
    std::uint32_t beam = 4;       ///< states kept a depth, > 0
    std::uint32_t width = 4;      ///< samples a state and kind, > 0
    std::uint32_t max_depth = 8;  ///< > 0
    Budget budget{};              ///< looked at before each depth
  };
  Beam(Options options, Evaluate evaluate) : options_(std::move(options)), evaluate_(std::move(evaluate)) {
    if (options_.beam == 0) bad_option("beam", options_.beam, "1 or more");
    if (options_.width == 0) bad_option("width", options_.width, "1 or more");
    if (options_.max_depth == 0) bad_option("max_depth", options_.max_depth, "1 or more");
    options_.budget.check();
  }

  template <class Env>
  using TreeOf = Tree<typename Env::State, typename Env::Action, detail::value_of_t<Evaluate, Env>>;

  /// Grows one tree. The environment and this engine must outlive the task.
  template <Environment Env>
    requires Evaluator<Evaluate, Env>
  Task<TreeOf<Env>> operator()(Env& env, typename Env::State root, Seed seed) {
    return grow(&env, std::move(root), seed);
  }

 private:
  struct Place {
    NodeId node = 0;
    Seed seed{};
  };

  template <class Env>
  Task<TreeOf<Env>> grow(Env* env, typename Env::State root, Seed seed) {
    TreeOf<Env> tree(std::move(root), seed);
    std::vector<Place> beam(1);
    beam.front().seed = seed;
    const double began = options_.budget.now();
    for (std::uint32_t depth = 0; depth < options_.max_depth && !beam.empty(); ++depth) {
      if (options_.budget.spent(tree, tree.steps++, began)) {
        tree.ending = Ending::budget;
        break;
      }
      std::vector<Place> fresh = co_await children(env, &tree, std::move(beam));
      co_await value(env, &tree, &fresh);
      std::erase_if(fresh, [&](const Place& p) { return tree[p.node].status == Status::pruned; });
      std::stable_sort(fresh.begin(), fresh.end(), [&](const Place& a, const Place& b) { return better(tree, a.node, b.node); });
      for (std::size_t i = options_.beam; i < fresh.size(); ++i) tree.prune(fresh[i].node, Reason::not_best);
      if (fresh.size() > options_.beam) fresh.resize(options_.beam);
      beam = std::move(fresh);
      std::erase_if(beam, [&](const Place& p) { return tree[p.node].status == Status::terminal; });
      std::sort(beam.begin(), beam.end(), [](const Place& a, const Place& b) { return a.node < b.node; });
    }
    sum_up(tree);
    co_return tree;
  }

  /// Adds the children of all places, in the order of the places.
  template <class Env, class Tree>
  Task<std::vector<Place>> children(Env* env, Tree* tree, std::vector<Place> places) {
    using State = typename Env::State;
    using Item = Proposal<typename Env::Action>;
    std::vector<Task<detail::proposals_t<Env>>> asked;
    std::vector<std::size_t> asker;
    for (std::size_t p = 0; p < places.size(); ++p)
      for (const Kind kind : env->kinds(tree->state(places[p].node))) {
        const Context context(places[p].seed, 0, &tree->ledger);
        asked.push_back(as_task(detail::propose(*env, tree->state(places[p].node), kind, options_.width, context)));
        asker.push_back(p);
      }
    auto drawn = co_await gather(std::move(asked));
    std::vector<std::vector<Item>> proposals(places.size());
    for (std::size_t i = 0; i < drawn.size(); ++i) detail::append(proposals[asker[i]], std::move(drawn[i]));
    std::vector<Place> fresh;
    std::vector<Task<State>> steps;
    for (std::size_t p = 0; p < places.size(); ++p) {
      const State& from = tree->state(places[p].node);
      proposals[p] = dedup(std::move(proposals[p]));
      for (std::size_t i = 0; i < proposals[p].size(); ++i) {
        fresh.push_back({no_node, places[p].seed.child(i)});
        const Context context(fresh.back().seed, 0, &tree->ledger);
        if (proposals[p][i].closed != Reason::none) steps.push_back(as_task(State(from)));
        else steps.push_back(as_task(detail::step(*env, from, proposals[p][i].action, context)));
      }
    }
    std::vector<State> states = co_await gather(std::move(steps));
    std::size_t next = 0;
    for (std::size_t p = 0; p < places.size(); ++p) {
      (*tree)[places[p].node].status = Status::expanded;
      for (Item& proposal : proposals[p]) {
        const NodeId id = tree->add(places[p].node, std::move(proposal.action), std::move(states[next]), proposal.kind, proposal.prior);
        if (proposal.closed != Reason::none) tree->prune(id, proposal.closed);
        else if (std::ranges::empty(env->kinds(tree->state(id)))) (*tree)[id].status = Status::terminal;
        fresh[next++].node = id;
      }
    }
    co_return fresh;
  }

  template <class Env, class Tree>
  Task<void> value(Env* env, Tree* tree, std::vector<Place>* fresh) {
    using Result = detail::evaluation_t<Evaluate, Env>;
    std::vector<Task<Result>> tasks;
    std::vector<NodeId> nodes;
    for (const Place& place : *fresh) {
      if ((*tree)[place.node].status == Status::pruned) continue;
      const Context context(place.seed, 0, &tree->ledger);
      tasks.push_back(as_task(detail::evaluate(evaluate_, *env, tree->state(place.node), context)));
      nodes.push_back(place.node);
    }
    std::vector<Result> results = co_await gather(std::move(tasks));
    for (std::size_t i = 0; i < nodes.size(); ++i) enter_evaluation(*tree, nodes[i], std::move(results[i]), LeafBackup());
  }

  Options options_;
  Evaluate evaluate_;
};

}  // namespace espalier
