#pragma once

#include <espalier/method/decouple/prompts.hpp>
#include <espalier/method/decouple/search.hpp>
#include <espalier/method/decouple/value_rows.hpp>
#include <espalier/method/method.hpp>
#include <espalier/method/registry.hpp>
#if defined(ESPALIER_HAS_EIGEN) && defined(ESPALIER_HAS_SIMDJSON)
#include <espalier/backend/value_head.hpp>
#endif

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// What a trained head makes of embeddings.
inline ReadDual trained_head([[maybe_unused]] const std::string& file) {
#if defined(ESPALIER_HAS_EIGEN) && defined(ESPALIER_HAS_SIMDJSON)
  return [head = std::make_shared<const backend::ValueHead>(backend::ValueHead::load(file))](const Embedding& read) {
    const auto [plan, search] = (*head)(read);
    return Dual{plan, search};
  };
#else
  throw MissingPart("value heads", "libeigen3-dev and libsimdjson-dev");
#endif
}

/// DecoupleRAG and GreedyAgent as a run sees them. `expand` labels trees, `answer` searches with hierarchical beams.
class DecoupleRagFace final : public Method {
 public:
  using Values = DecoupleRagOptions::Values;
  explicit DecoupleRagFace(bool greedy) : Method(decouple_prompts(), decouple_examples()) {
    documents_ = 5;
    sampling_.temperature = 1;
    own_["plan"].temperature = 0.7;
    own_["judge"].temperature = own_["judge_answer"].temperature = own_["forced_answer"].temperature = 0;
    if (greedy) {
      options_.B1 = options_.B2 = 1;
      options_.values = Values::none;
    }
    options_.describe(table_);
    rows_.describe(table_);
  }

  void preset(const std::string& name) override {
    const bool paper = of_paper(name);
    options_.simulations = paper ? 20 : 40;
    options_.judge_all = !paper;
    options_.children = paper ? 3 : 5;
    options_.w = paper ? 1.4 : 1.4142135623730951;
    options_.divide_again = !paper;
    options_.inner_scale = paper ? 1 : 0.5;
    options_.stop_correct = paper ? 0 : 50;
    rows_.skip_yes_no = !paper;
    options_.terminal = paper ? DecoupleRagOptions::Terminal::match : DecoupleRagOptions::Terminal::judge;
    options_.oversample = paper ? 1 : 13;  // 39 of the code's 40 queries
    options_.diversity = paper ? Diversity::none : Diversity::charset;
    if (!paper) own_["query"].temperature = 1.2;
  }

  [[nodiscard]] bool asks(const std::string& purpose, bool answering) const override {
    if (purpose == "judge") return !answering || options_.values == Values::judge;
    if (purpose == "judge_answer") return !answering && options_.terminal == DecoupleRagOptions::Terminal::judge;
    if (purpose == "step") return !answering;
    return answering || purpose == "forced_answer";
  }
  Task<rag::Tree> grow(rag::State root, std::uint64_t seed) override { return (*labels_)(std::move(root), seed); }
  Task<rag::Tree> answer(rag::State root, std::uint64_t seed) override { return (*beam_)(std::move(root), seed); }
  [[nodiscard]] std::vector<Product> products() const override {
    const auto rows = [this](bool values) {
      return [this, values](const output::TreeRecord& record, std::string& text) {
        append_value_rows(record, prompts_in_use(), rows_, values, text);
      };
    };
    return {Product("sft.jsonl", rows(false)), Product("value.jsonl", rows(true))};
  }

 private:
  void build(rag::Environment loop) override {
    options_.budget = budget();
    labels_ = std::make_unique<DecoupleRag>(options_, loop);
    ValueSource source;
    if (options_.values == Values::server) {
      if (!ports().values) bad_option("values", "server", "another choice where there is no value server");
      source = value_source(*ports().values, two_numbers);
    }
    if (options_.values == Values::head) {
      if (!ports().encoder || ports().value_head.empty())
        bad_option("values", "head", "another choice where there is no value head or no encoder");
      source = value_source(*ports().encoder, trained_head(ports().value_head));
    }
    beam_ = std::make_unique<DecoupleRagBeam>(options_, std::move(loop), source);
  }

  DecoupleRagOptions options_;
  ValueRowOptions rows_;
  std::unique_ptr<DecoupleRag> labels_;
  std::unique_ptr<DecoupleRagBeam> beam_;
};

inline const Registered<DecoupleRagFace> decouple("decouple", false);
inline const Registered<DecoupleRagFace> greedy_agent("greedy-agent", true);

}  // namespace espalier::method::detail
