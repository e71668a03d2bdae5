#pragma once

#include <espalier/core/scheduler.hpp>
#include <espalier/output/tree_json.hpp>
#include <espalier/rag/prompt_set.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/rag/state.hpp>
#include <espalier/run/option_table.hpp>
#include <espalier/search/budget.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// A data file that a method harvests from its trees: one call a finished tree, rows appended to the text.
class Product {
 public:
  using Rows = std::function<void(const output::TreeRecord&, std::string&)>;
  Product(std::string name, Rows write) : file(std::move(name)), rows(std::move(write)) {}
  std::string file;
  Rows rows;
};

/// What a method's searches run on.
class Ports {
 public:
  Ports(ModelPort main_model, RetrieverPort documents) : model(std::move(main_model)), retriever(std::move(documents)) {}
  ModelPort model;
  RetrieverPort retriever;
  std::optional<rag::AnyReward> reward;     ///< in place of the one that the options name
  std::optional<EncoderPort> encoder;       ///< if the run has one
  std::optional<EncoderPort> values;        ///< from a text to its plan and search value, if the run has such a source
  Budget::Timeout timeout;                  ///< remembers where the clock ended searches
  Budget::Watch watch;                      ///< is shown each rag::Tree between the steps of its search
  std::string value_head;                   ///< file of a trained head over the encoder; "" = none
  std::map<std::string, ModelPort> models;  ///< by purpose, where another model than the main one is asked
};

/// What a run needs to know of a method. Register a class of one's own in methods() (registry.hpp).
class Method {
 public:
  Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  virtual ~Method() = default;

  virtual OptionTable& options() = 0;
  /// Sets the options to what the paper says, or to what its published code does.
  virtual void preset(const std::string& name) { bad_option("preset", name, "a method that has presets"); }
  [[nodiscard]] virtual rag::PromptSet prompts() const = 0;
  /// Checks the options. Throws std::invalid_argument.
  virtual void check() const = 0;
  /// Takes what searches run on. Called once, before the first tree.
  virtual void prepare(const Ports& ports, const rag::PromptSet& prompts) = 0;
  /// Grows a question's tree; the state carries gold.
  virtual Task<rag::Tree> grow(rag::State root, std::uint64_t seed) = 0;
  /// Adds to a tree what models have to say about it, by name. Throws std::invalid_argument for a name that it does not know.
  virtual Task<rag::Tree> annotate(rag::Tree tree, std::vector<std::string> with) = 0;
  /// What a reader of the products must know, by file; after the last tree.
  [[nodiscard]] virtual std::map<std::string, std::string> notes() const { return {}; }
  /// The method's inference form: answers without gold.
  virtual Task<rag::Tree> answer(rag::State root, std::uint64_t seed) = 0;
  /// What `answer` spends to the end, by answering again and again; nothing if it answers once.
  [[nodiscard]] virtual std::optional<Budget> budget_to_match() const { return std::nullopt; }
  [[nodiscard]] virtual std::vector<Product> products() const = 0;
};

using MakeMethod = std::function<std::unique_ptr<Method>()>;

}  // namespace espalier::run
