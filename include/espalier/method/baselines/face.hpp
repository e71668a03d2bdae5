#pragma once

#include <espalier/method/baselines/ircot.hpp>
#include <espalier/method/baselines/search_r1.hpp>
#include <espalier/method/baselines/self_ask.hpp>
#include <espalier/method/baselines/standard_rag.hpp>
#include <espalier/method/method.hpp>
#include <espalier/method/registry.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

namespace baselines::detail {

inline std::vector<Baseline> all() {
  return {adaptive_rag(), auto_rag(),  cot(),       deeprag(),     direct(),    flare(),       generate_then_retrieve(),
          hiprag(),       ikea(),      ircot(),     iter_retgen(), iterative(), iterdrag(),    judge_then_retrieve(),
          ragent(),       search_o1(), search_r1(), self_ask(),    self_rag(),  standard_rag()};
}

}  // namespace baselines::detail

namespace detail {

/// A baseline as a run sees it. It grows the same path for `expand` and for `answer`.
class BaselineFace final : public Method {
 public:
  explicit BaselineFace(baselines::Baseline baseline)
      : Method(baseline.prompts, baselines::detail::examples(*baseline.prompts.protocol(), baseline.examples)),
        baseline_(std::move(baseline)),
        options_(baseline_.defaults) {
    if (options_.documents > 0) documents_ = options_.documents;
    if (options_.rounds > 0)
      table_.add("rounds", options_.rounds, "searches, turns or rounds on the way to the answer", Range::at_least(1));
    if (!std::isnan(options_.threshold))
      table_.add("threshold", options_.threshold, baseline_.threshold, Range::between(0, 1));
    if (!std::isnan(options_.mask))
      table_.add("mask", options_.mask, "tokens of this probability and less are left out of a query",
                 Range::between(0, 1));
    if (options_.observation > 0)
      table_.add("observation", options_.observation, "tokens of the documents of one search, at 4 bytes each, 0 = all",
                 Range::at_least(0));
    sampling_ = baseline_.sampling;
  }

  /// A baseline has one set of defaults, that of its publication, for both presets.
  void preset(const std::string& name) override { of_paper(name); }

  [[nodiscard]] bool retrieves() const override { return baseline_.defaults.documents > 0; }
  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return follow(std::move(root), seed); }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override { return follow(std::move(root), seed); }

 private:
  void build(rag::Environment loop) override { loop_.emplace(std::move(loop)); }

  Task<rag::Tree> follow(rag::State root, std::uint64_t seed) {
    Path path(*loop_, std::move(root), seed, budget());
    co_await baseline_.run(&path, options_);
    co_return std::move(path).tree();
  }

  baselines::Baseline baseline_;
  baselines::BaselineOptions options_;
  std::optional<rag::Environment> loop_;
};

inline const bool baselines_registered = [] {
  for (const baselines::Baseline& one : baselines::detail::all()) Registered<BaselineFace>(one.name, one);
  return true;
}();

}  // namespace detail

}  // namespace espalier::method
