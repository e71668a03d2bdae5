#pragma once

#include <espalier/rag/environment.hpp>

#include "bindings.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace espalier::python {

/// What Python sees of a state's question.
inline rag::Example question_of(const rag::State& s) {
  return {s.question(), s.has_gold() ? s.gold() : rag::Gold(), {}, {}, 0, {}};
}

/// The policy loop without its backends: options, sampling and prompts.
class Loop {
 public:
  Loop(rag::Environment::Options options, rag::Sampler::Options sampling, rag::PromptSet texts)
      : prompts(std::make_shared<const rag::PromptSet>(std::move(texts))),
        options_(options),
        sampling_(std::move(sampling)) {}

  std::shared_ptr<const rag::PromptSet> prompts;

  [[nodiscard]] rag::Environment on(ModelPort model, RetrieverPort retriever,
                                    std::optional<std::uint32_t> max_rounds = std::nullopt) const {
    auto options = options_;
    options.max_rounds = max_rounds.value_or(options.max_rounds);
    return {rag::Sampler(std::move(model), *prompts, sampling_), std::move(retriever), options};
  }
  /// Writes the options as members of a JSON object.
  void show(JsonWriter& json) const;

 private:
  rag::Environment::Options options_;
  rag::Sampler::Options sampling_;
};

}  // namespace espalier::python
