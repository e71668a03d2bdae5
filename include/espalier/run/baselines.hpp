#pragma once

#include <espalier/method/baselines/adaptive_rag.hpp>
#include <espalier/method/baselines/auto_rag.hpp>
#include <espalier/method/baselines/cot.hpp>
#include <espalier/method/baselines/deeprag.hpp>
#include <espalier/method/baselines/direct.hpp>
#include <espalier/method/baselines/flare.hpp>
#include <espalier/method/baselines/generate_then_retrieve.hpp>
#include <espalier/method/baselines/hiprag.hpp>
#include <espalier/method/baselines/ircot.hpp>
#include <espalier/method/baselines/iter_retgen.hpp>
#include <espalier/method/baselines/iterative.hpp>
#include <espalier/method/baselines/iterdrag.hpp>
#include <espalier/method/baselines/judge_then_retrieve.hpp>
#include <espalier/method/baselines/search_o1.hpp>
#include <espalier/method/baselines/search_r1.hpp>
#include <espalier/method/baselines/self_ask.hpp>
#include <espalier/method/baselines/self_rag.hpp>
#include <espalier/method/baselines/standard_rag.hpp>
#include <espalier/run/rag_method.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// All published systems that are plain programs.
inline std::vector<method::Baseline> baselines() {
  using namespace method::baselines;
  return {adaptive_rag(), auto_rag(), cot(), deeprag(), direct(), flare(), generate_then_retrieve(), hiprag(), ikea(), ircot(), iter_retgen(),
          iterative(), iterdrag(), judge_then_retrieve(), ragent(), search_o1(), search_r1(), self_ask(), self_rag(), standard_rag()};
}

/// A baseline as a run knows it. It grows the path that it answers with.
class BaselineMethod final : public RagMethod {
 public:
  explicit BaselineMethod(method::Baseline baseline) : RagMethod(baseline.prompts()), baseline_(std::move(baseline)), options_(baseline_.defaults) {
    if (options_.documents > 0) documents_ = options_.documents;
    if (options_.rounds > 0) table_.add("rounds", options_.rounds, "searches, turns or rounds on the way to the answer", "1 or more");
    if (!std::isnan(options_.threshold)) table_.add("threshold", options_.threshold, "least mean probability of a token that needs no search", "0 to 1");
  }

  /// A baseline's defaults are its publication's; its code and its paper are not told apart.
  void preset(const std::string& name) override {
    if (name != "paper" && name != "code") bad_option("preset", name, "paper, code");
  }

  void check() const override {
    RagMethod::check();
    if (baseline_.defaults.rounds > 0 && options_.rounds == 0) bad_option("rounds", options_.rounds, "1 or more");
    if (options_.threshold < 0 || options_.threshold > 1) bad_option("threshold", options_.threshold, "0 to 1");
  }

  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return follow(std::move(root), seed); }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override { return follow(std::move(root), seed); }

 private:
  [[nodiscard]] bool logprobs(const std::string&) const override { return baseline_.logprobs; }
  void build(rag::Environment loop) override { loop_.emplace(std::move(loop)); }

  Task<rag::Tree> follow(rag::State root, std::uint64_t seed) {
    method::Path path(*loop_, std::move(root), seed, budget());
    co_await baseline_.run(&path, options_);
    co_return std::move(path).tree();
  }

  method::Baseline baseline_;
  method::BaselineOptions options_;
  std::optional<rag::Environment> loop_;
};

}  // namespace espalier::run
