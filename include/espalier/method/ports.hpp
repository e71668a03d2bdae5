#pragma once

#include <espalier/llm/scheduler.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search/budget.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace espalier::method {

/// A data file that a method makes from its trees. `rows` appends a finished tree's rows to the text.
struct Product {
  std::string file;
  std::function<void(const output::TreeRecord&, std::string&)> rows;
};

/// The models, retriever and other services of a method's searches.
struct Ports {
  Ports(ModelPort main, RetrieverPort documents) : model(std::move(main)), retriever(std::move(documents)) {}
  ModelPort model;
  RetrieverPort retriever;
  std::optional<rag::AnyReward> reward;     ///< used instead of the one that the options name
  std::optional<EncoderPort> encoder;       ///< if the run has one
  std::optional<EncoderPort> values;        ///< maps a text to its plan and search value, if the run has such a source
  Budget::Timeout timeout;                  ///< remembers where the clock ended searches
  std::string value_head;                   ///< file of a trained head over the encoder, "" = none
  bool keep_tokens = false;                 ///< texts keep the tokens that were sampled for them
  std::map<std::string, ModelPort> models;  ///< by purpose, where a purpose has its own model
};

}  // namespace espalier::method
