#pragma once

#include <espalier/core/scheduler.hpp>
#include <espalier/method/option_table.hpp>
#include <espalier/output/tree_json.hpp>
#include <espalier/rag/prompt_set.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/rag/sampler.hpp>
#include <espalier/rag/state.hpp>
#include <espalier/search/budget.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

/// A data file that a method makes from its trees. `rows` is called once per finished tree and appends rows to the
/// text.
class Product {
 public:
  using Rows = std::function<void(const output::TreeRecord&, std::string&)>;
  Product(std::string name, Rows write) : file(std::move(name)), rows(std::move(write)) {}
  std::string file;
  Rows rows;
};

/// The models, retriever and other services of a method's searches.
class Ports {
 public:
  Ports(ModelPort main_model, RetrieverPort documents)
      : model(std::move(main_model)), retriever(std::move(documents)) {}
  ModelPort model;
  RetrieverPort retriever;
  std::optional<rag::AnyReward> reward;     ///< used instead of the one that the options name
  std::optional<EncoderPort> encoder;       ///< if the run has one
  std::optional<EncoderPort> values;        ///< maps a text to its plan and search value, if the run has such a source
  Budget::Timeout timeout;                  ///< remembers where the clock ended searches
  std::string value_head;                   ///< file of a trained head over the encoder, "" = none
  std::map<std::string, ModelPort> models;  ///< by purpose, where a purpose has its own model
};

/// What a run needs to know about a method. Register your own class (registry.hpp).
class Method {
 public:
  Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  virtual ~Method() = default;

  virtual OptionTable& options() = 0;
  /// Sets the options as in the paper ("paper") or in its published code ("code").
  virtual void preset(const std::string& name) { bad_option("preset", name, "a method that has presets"); }
  /// The prompts under the options. Texts of the folder, if there is one, replace built-in ones.
  [[nodiscard]] virtual rag::PromptSet prompts(const std::filesystem::path& folder = {}) const = 0;
  /// Checks the options. Throws std::invalid_argument.
  virtual void check() const = 0;
  /// Whether a task can ask a purpose under the options: `answer`, or `expand` with what it adds to its trees.
  [[nodiscard]] virtual bool asks(const std::string& /*purpose*/, bool /*answering*/) const { return true; }
  /// What asks the method's prompts: each purpose asks its model, sampled as the options say.
  [[nodiscard]] virtual rag::Sampler sampler(const Ports& ports, const rag::PromptSet& prompts) const = 0;
  /// Sets the models and services. Called once, before the first tree.
  virtual void prepare(const Ports& ports, const rag::PromptSet& prompts) = 0;
  /// Grows a question's tree. The state carries gold, if there is any.
  virtual Task<rag::Tree> grow(rag::State root, std::uint64_t seed) = 0;
  /// Whether trees are grown only for questions with gold answers.
  [[nodiscard]] virtual bool needs_gold() const { return true; }
  /// Whether its searches retrieve. If so, they need something to search.
  [[nodiscard]] virtual bool retrieves() const { return true; }
  /// Adds annotations that need a model, by name, in place of earlier ones of that name. Their costs also stand in the
  /// tree's annotation_costs. Throws std::invalid_argument for an unknown name.
  virtual Task<rag::Tree> annotate(rag::Tree tree, std::vector<std::string> with) = 0;
  /// What a reader of the products must know, by file. Called after the last tree.
  [[nodiscard]] virtual std::map<std::string, std::string> notes() const { return {}; }
  /// The method's inference form: answers without gold.
  virtual Task<rag::Tree> answer(rag::State root, std::uint64_t seed) = 0;
  /// The budget that `answer` spends completely by answering several times. Nothing if it answers once.
  [[nodiscard]] virtual std::optional<Budget> budget_to_match() const { return std::nullopt; }
  [[nodiscard]] virtual std::vector<Product> products() const = 0;
};

}  // namespace espalier::method
