#pragma once

#include <espalier/core/error.hpp>
#include <espalier/policy/diversity.hpp>
#include <espalier/search/budget.hpp>

#include <cstdint>
#include <utility>

namespace espalier::method {

/// DecoupleRAG's options: labelling by tree search, inference by hierarchical beams (arXiv 2510.21712).
struct DecoupleOptions {
  /// What says that an answer is right while trees are labelled.
  enum class Terminal : std::uint8_t {
    match,  ///< it equals a gold answer
    judge   ///< a model that sees all gold answers says yes
  };
  /// Where values come from at inference.
  enum class Values : std::uint8_t {
    judge,   ///< the prompt "judge"
    server,  ///< a value server, or any callable from a text to two numbers
    head,    ///< a trained head over an encoder's embedding
    none     ///< all are equal: GreedyAgent
  };
  std::uint32_t simulations = 20;  ///< of a labelled tree
  std::uint32_t children = 3;      ///< samples a node
  double w = 1.4;                  ///< exploration weight (Eq. 3)
  bool divide_again = false;       ///< the published code divides the mean search value by the visits once more
  double inner_scale = 1;          ///< judged values are multiplied by this, (0, 1]; the published code halves them
  std::uint32_t stop_correct = 0;  ///< ends a tree after so many right answers, 0 = never
  Terminal terminal = Terminal::match;
  std::uint32_t window = 1;

  std::uint32_t max_depth = 10;    ///< steps on a path; at inference the answer is then forced
  std::uint32_t B1 = 3, keep1 = 1; ///< plans of a state, and those that go on
  std::uint32_t B2 = 3, keep2 = 1; ///< queries of a plan, and those that go on
  std::uint32_t oversample = 1;    ///< queries drawn for each that is looked at
  Diversity diversity = Diversity::none;  ///< which of the drawn queries are looked at
  Values values = Values::judge;
  Budget budget{};
};

/// Throws std::invalid_argument that names the option.
inline const DecoupleOptions& checked(const DecoupleOptions& o) {
  if (!(o.w >= 0)) bad_option("w", o.w, "0 or more");
  if (!(o.inner_scale > 0 && o.inner_scale <= 1)) bad_option("inner_scale", o.inner_scale, "above 0, up to 1");
  if (o.max_depth == 0) bad_option("max_depth", o.max_depth, "1 or more");
  for (const auto& [name, n] : {std::pair("B1", o.B1), {"keep1", o.keep1}, {"B2", o.B2}, {"keep2", o.keep2}, {"oversample", o.oversample}})
    if (n == 0 || n > 255) bad_option(name, n, "1 to 255");
  return o;
}

}  // namespace espalier::method
