#pragma once

#include <espalier/sim/detail/finder.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace espalier::sim::detail {

/// The text of an empty list of queries.
inline constexpr std::string_view no_queries = "None";

/// Splits a question into the questions of its steps, or rewords the current query with what has become known.
class Rewriter {
 public:
  Rewriter(const Knowledge& knowledge, const Skills& skills, const Request& request)
      : skills_(skills), r_(request), chain_(knowledge.chain(request.question)), finder_(knowledge, skills, request) {}

  /// The queries, one per line, or "None".
  [[nodiscard]] std::string operator()() const {
    if (!chain_) return std::string(no_queries);
    Reader reader = finder_.reader(*chain_);
    reader.look(false);
    return r_.view.query ? reworded(reader, *r_.view.query) : decomposed(reader);
  }

 private:
  [[nodiscard]] std::string decomposed(const Reader& reader) const {
    if (reader.steps() < 2 || reader.answer()) return std::string(no_queries);
    if (!r_.draws.succeeds("decompose", skills_.decompose)) return chain_->question;
    std::string lines;
    for (std::size_t k = 0; k < reader.steps(); ++k)
      if (!reader.value(k)) (lines += lines.empty() ? "" : "\n") += ask(reader.described(k, k), r_.draws);
    return lines.empty() ? std::string(no_queries) : lines;
  }
  /// An open query is repeated with the answers before it filled in. After a settled query comes the next open one.
  [[nodiscard]] std::string reworded(const Reader& reader, std::string_view query) const {
    const bool well = r_.draws.succeeds("decompose", skills_.decompose);
    std::size_t step = well ? reader.step_of(query) : reader.steps();
    if (step == reader.steps() || reader.value(step))
      for (step = 0; step < reader.steps() && (reader.value(step) || !reader.ready(step));) ++step;
    if (!well || reader.answer() || step == reader.steps() || !reader.ready(step)) return std::string(no_queries);
    const std::string text = ask(reader.question(step), r_.draws);
    return words(text) == words(query) ? std::string(no_queries) : text;
  }

  const Skills& skills_;
  const Request& r_;
  const Chain* chain_;
  Finder finder_;
};

}  // namespace espalier::sim::detail
