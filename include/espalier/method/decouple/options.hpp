#pragma once

#include <espalier/core/error.hpp>
#include <espalier/policy/diversity.hpp>
#include <espalier/search/budget.hpp>

#include <cstdint>
#include <utility>

namespace espalier::method {

/// DecoupleRAG's options: labelling by tree search, inference by hierarchical beams (arXiv 2510.21712).
struct DecoupleRagOptions {
  /// How answers of labelled trees are judged.
  enum class Terminal : std::uint8_t {
    match,  ///< it equals a gold answer
    judge   ///< a model that sees all gold answers says yes
  };
  /// Where values come from at inference.
  enum class Values : std::uint8_t {
    judge,   ///< the prompt "judge"
    server,  ///< a value server, or any callable that maps a text to two numbers
    head,    ///< a trained head over an encoder's embedding
    none     ///< all values are equal: GreedyAgent
  };
  /// How the beams rank.
  enum class Ranking : std::uint8_t {
    value,  ///< by the values of `values`
    random  ///< by chance, without values: the paper's ablation (section 5.3)
  };
  std::uint32_t simulations = 20;  ///< per labelled tree
  std::uint32_t children = 3;      ///< samples per node
  double w = 1.4;                  ///< exploration weight (Eq. 3)
  bool divide_again = false;       ///< as in the published code, divide the mean search value by the visits again
  double inner_scale = 1;          ///< factor for judged values, (0, 1]. The published code uses 0.5
  bool judge_all = false;  ///< values all new children at once, as in the published code. Else one per simulation
  std::uint32_t stop_correct = 0;  ///< ends a tree after this many right answers, 0 = never
  Terminal terminal = Terminal::match;
  std::uint32_t window = 1;

  std::uint32_t max_depth = 10;           ///< steps on one path. At inference the answer is then forced
  std::uint32_t B1 = 3, keep1 = 1;        ///< plans per state, and how many of them go on
  std::uint32_t B2 = 3, keep2 = 1;        ///< queries per plan, and how many of them go on
  std::uint32_t oversample = 1;           ///< queries drawn for each valued one
  Diversity diversity = Diversity::none;  ///< how the valued queries are chosen
  Values values = Values::judge;
  Ranking rank_plans = Ranking::value, rank_searches = Ranking::value;
  Budget budget{};
};

namespace detail {

/// Throws std::invalid_argument that names the option.
inline const DecoupleRagOptions& checked(const DecoupleRagOptions& o) {
  if (!(o.w >= 0)) bad_option("w", o.w, "0 or more");
  if (!(o.inner_scale > 0 && o.inner_scale <= 1)) bad_option("inner_scale", o.inner_scale, "above 0, up to 1");
  if (o.max_depth == 0) bad_option("max_depth", o.max_depth, "1 or more");
  for (const auto& [name, n] :
       {std::pair("B1", o.B1), {"keep1", o.keep1}, {"B2", o.B2}, {"keep2", o.keep2}, {"oversample", o.oversample}})
    if (n == 0 || n > 255) bad_option(name, n, "1 to 255");
  return o;
}

}  // namespace detail

}  // namespace espalier::method
