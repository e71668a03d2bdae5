#pragma once

#include <espalier/method/decouple/detail/examples.hpp>
#include <espalier/method/decouple/search.hpp>
#include <espalier/method/decouple/value_rows.hpp>
#include <espalier/method/rag_method.hpp>
#include <espalier/method/registry.hpp>
#if defined(ESPALIER_HAS_EIGEN) && defined(ESPALIER_HAS_SIMDJSON)
#include <espalier/backend/value_head.hpp>
#endif

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// Values of texts from a port that returns two numbers, such as a value server.
inline ValueSource value_source(EncoderPort values) {
  const auto value = [](EncoderPort port, std::string text) -> Task<Dual> {
    const Embedding numbers = co_await port.ask(EncodeRequest(std::move(text), EncodeRequest::Role::passage));
    if (numbers.size() != 2)
      throw Error("a value source gave " + std::to_string(numbers.size()) +
                  " numbers for a text, not a plan and a search value");
    Dual dual;
    dual.plan = static_cast<double>(numbers[0]);
    dual.search = static_cast<double>(numbers[1]);
    co_return dual;
  };
  return [value, values = std::move(values)](std::string text) { return value(values, std::move(text)); };
}

/// Values of texts from a trained head over an encoder.
inline ValueSource head_source([[maybe_unused]] EncoderPort encoder, [[maybe_unused]] const std::string& file) {
#if defined(ESPALIER_HAS_EIGEN) && defined(ESPALIER_HAS_SIMDJSON)
  const auto value = [](EncoderPort port, std::shared_ptr<const backend::ValueHead> head,
                        std::string text) -> Task<Dual> {
    const Embedding embedding = co_await port.ask(EncodeRequest(std::move(text), EncodeRequest::Role::passage));
    const auto [plan, search] = (*head)(embedding);
    Dual dual;
    dual.plan = plan;
    dual.search = search;
    co_return dual;
  };
  const auto head = std::make_shared<const backend::ValueHead>(backend::ValueHead::load(file));
  return
      [value, encoder = std::move(encoder), head](std::string text) { return value(encoder, head, std::move(text)); };
#else
  throw MissingPart("value heads", "libeigen3-dev and libsimdjson-dev");
#endif
}

/// DecoupleRAG and GreedyAgent as a run sees them. `expand` labels trees, `answer` searches with hierarchical beams.
class DecoupleRagFace final : public RagMethod {
 public:
  using Values = DecoupleRagOptions::Values;
  explicit DecoupleRagFace(bool greedy) : RagMethod(decouple_prompts(), decouple_examples()) {
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
    table_
        .add("rows", taught_, "what SFT rows teach: right paths as dialogues, or also every prompt along them",
             {"paths", "all"})
        .shown_if_changed();
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
        if (!values && taught_ == Rows::all) append_prompt_rows(record, prompts_in_use(), rows_, text);
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
      if (!values_) bad_option("values", "server", "another choice where there is no value server");
      source = value_source(*values_);
    }
    if (options_.values == Values::head) {
      if (!encoder_ || value_head_.empty())
        bad_option("values", "head", "another choice where there is no value head or no encoder");
      source = head_source(*encoder_, value_head_);
    }
    beam_ = std::make_unique<DecoupleRagBeam>(options_, std::move(loop), source);
  }

  enum class Rows : std::uint8_t { paths, all };

  DecoupleRagOptions options_;
  ValueRowOptions rows_;
  Rows taught_ = Rows::paths;
  std::unique_ptr<DecoupleRag> labels_;
  std::unique_ptr<DecoupleRagBeam> beam_;
};

inline const Registered<DecoupleRagFace> decouple("decouple", false);
inline const Registered<DecoupleRagFace> greedy_agent("greedy-agent", true);

}  // namespace espalier::method::detail
