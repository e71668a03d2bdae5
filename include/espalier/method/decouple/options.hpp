#pragma once

#include <espalier/method/option_check.hpp>
#include <espalier/policy/any_pruning.hpp>
#include <espalier/policy/diversity.hpp>
#include <espalier/search/budget.hpp>

#include <cstdint>

namespace espalier::method {

/// DecoupleRAG's options: labelling by tree search, inference by hierarchical beams (arXiv 2510.21712).
struct DecoupleRagOptions {
  /// How answers of labelled trees are judged.
  enum class Terminal : std::uint8_t { match, judge };
  /// Where values come from at inference.
  enum class Values : std::uint8_t {
    judge,   ///< the prompt "judge"
    server,  ///< a value server, or any callable that maps a text to two numbers
    head,    ///< a trained head over an encoder's embedding
    none     ///< all values are equal: GreedyAgent
  };
  /// How the beams rank.
  enum class Ranking : std::uint8_t { value, random };  ///< random: the paper's ablation (section 5.3)

  std::uint32_t simulations = 20, children = 3;
  double w = 1.4;  ///< Eq. 3
  bool divide_again = false;
  double inner_scale = 1;  ///< the published code uses 0.5
  bool judge_all = false;  ///< as in the published code. Else one child is judged per simulation
  std::uint32_t stop_correct = 0;
  Terminal terminal = Terminal::match;
  std::uint32_t window = 1, max_depth = 10;

  std::uint32_t B1 = 3, keep1 = 1, B2 = 3, keep2 = 1, oversample = 1;
  Diversity diversity = Diversity::none;
  Values values = Values::judge;
  Ranking rank_plans = Ranking::value, rank_searches = Ranking::value;
  AnyPruning prune{};  ///< asked at values
  Budget budget{};

  void describe(auto& table) {
    const Range byte = Range::between(1, 255);
    table.add("simulations", simulations, "simulations per labelled tree", Range::at_least(1))
        .add("children", children, "samples per node", byte)
        .add("w", w, "exploration weight of UCT", Range::at_least(0))
        .add("divide_again", divide_again, "divide means by visits again (published code)")
        .add("inner_scale", inner_scale, "judged values are multiplied by this", Range::above(0).up_to(1))
        .add("judge_all", judge_all, "judge all new children before the next selection")
        .add("stop_correct", stop_correct, "ends a tree after this many right answers, 0 = never", Range::at_least(0))
        .add("terminal", terminal, "judge answers by equality, or by a model that sees gold", {"match", "judge"})
        .add("window", window, "simulations under way in one tree", Range::between(1, 65535))
        .add("max_depth", max_depth, "steps on one path, then `answer` forces the answer", Range::at_least(1))
        .add("B1", B1, "plans per state", byte)
        .add("keep1", keep1, "plans that go on", byte)
        .add("B2", B2, "queries per plan", byte)
        .add("keep2", keep2, "queries that go on", byte)
        .add("oversample", oversample, "queries drawn for each valued one", byte)
        .add("diversity", diversity, "how the valued queries are chosen", {"none", "charset"})
        .add("values", values, "where values come from in `answer`", {"judge", "server", "head", "none"})
        .add("rank_plans", rank_plans, "plans go on by their value or by chance", {"value", "random"})
        .add("rank_searches", rank_searches, "searches go on by their value or by chance", {"value", "random"})
        .prune(prune, "Mcts");
  }
};

}  // namespace espalier::method
