#pragma once

#include <espalier/method/decouple/detail/examples.hpp>
#include <espalier/method/decouple/detail/prompt_rows.hpp>
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
    table_.add("simulations", options_.simulations, "simulations per labelled tree", "1 or more")
        .add("children", options_.children, "samples per node", "1 to 255")
        .add("w", options_.w, "exploration weight of UCT", "0 or more")
        .add("divide_again", options_.divide_again, "divide means by visits again (published code)", "true, false")
        .add("inner_scale", options_.inner_scale, "judged values are multiplied by this", "above 0, up to 1")
        .add("judge_all", options_.judge_all, "judge all new children before the next selection", "true, false")
        .add("stop_correct", options_.stop_correct, "ends a tree after this many right answers, 0 = never", "0 or more")
        .add("terminal", options_.terminal, "judge answers by equality, or by a model that sees gold",
             {"match", "judge"})
        .add("window", options_.window, "simulations under way in one tree", "1 to 65535")
        .add("max_depth", options_.max_depth, "steps on one path, then `answer` forces the answer", "1 or more")
        .add("B1", options_.B1, "plans per state", "1 to 255")
        .add("keep1", options_.keep1, "plans that go on", "1 to 255")
        .add("B2", options_.B2, "queries per plan", "1 to 255")
        .add("keep2", options_.keep2, "queries that go on", "1 to 255")
        .add("oversample", options_.oversample, "queries drawn for each valued one", "1 to 255")
        .add("diversity", options_.diversity, "how the valued queries are chosen", {"none", "charset", "token_jaccard"})
        .add("values", options_.values, "where values come from in `answer`", {"judge", "server", "head", "none"})
        .add("rank_plans", options_.rank_plans, "plans go on by their value or by chance", {"value", "random"})
        .add("rank_searches", options_.rank_searches, "searches go on by their value or by chance", {"value", "random"})
        .add("recall", rows_.recall, "least share of a gold answer's words in the answer of a right path", "0 to 1")
        .add("wrong", rows_.wrong, "largest number of wrong paths per question", "0 or more")
        .add("policy_plan", rows_.policy_plan, "least last plan value of a path that trains the policy", "-1 to 1")
        .add("skip_yes_no", rows_.skip_yes_no, "yes/no questions give no rows", "true, false")
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

  void check() const override {
    RagMethod::check();
    checked(options_);
    if (!(rows_.recall >= 0 && rows_.recall <= 1)) bad_option("recall", rows_.recall, "0 to 1");
    if (!(rows_.policy_plan >= -1 && rows_.policy_plan <= 1)) bad_option("policy_plan", rows_.policy_plan, "-1 to 1");
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
