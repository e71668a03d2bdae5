#pragma once

#include <espalier/sim/finder.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace espalier::sim {

/// What a list of queries says when there is nothing to ask.
inline constexpr std::string_view no_queries = "None";

/// Splits a question into the questions of its steps, or words the query in work anew with what has become known.
class Rewriter {
 public:
  Rewriter(const Knowledge& knowledge, const Skills& skills, const Request& request)
      : skills_(skills), r_(request), chain_(knowledge.chain(request.question)), finder_(knowledge, skills, request) {}

  /// The queries, one a line; "None" if there are none.
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
  /// A query that is not settled is put with the answers before it; after a settled one comes the next that is open.
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

}  // namespace espalier::sim
