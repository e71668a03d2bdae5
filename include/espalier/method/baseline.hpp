#pragma once

#include <espalier/method/path.hpp>
#include <espalier/rag/prompt_set.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace espalier::method {

/// Numbers of a baseline; each says which it has.
struct BaselineOptions {
  std::uint32_t rounds = 0;     ///< searches, turns or rounds on the way to the answer; 0 = it has none
  std::uint32_t documents = 0;  ///< passages a search; 0 = it never searches
  double threshold = std::numeric_limits<double>::quiet_NaN();  ///< of its own kind; NaN = it has none
};

/// A published system as a program over one path.
struct Baseline {
  std::string name;
  rag::PromptSet (*prompts)();
  Task<void> (*run)(Path* path, BaselineOptions options);
  BaselineOptions defaults = BaselineOptions();
  bool logprobs = false;  ///< asks the model for log-probabilities
};

/// A protocol and its texts.
inline rag::PromptSet prompt_set(Protocol protocol, rag::PromptSet::Texts texts) {
  return {std::make_shared<const Protocol>(std::move(protocol)), std::move(texts)};
}

/// Pieces of the baselines' prompts.
namespace words {

inline const std::string brief = "Keep the answer short: a name, a noun, a brief phrase.\n";
inline const std::string question = "\n### Question\n{question}\n";
inline const std::string documents = "\n### Documents\n{documents}";
inline const std::string history = "\n### So far\n{history}";
inline const std::string document = "Doc {rank}(Title: {title}) {text}\n";

}  // namespace words

}  // namespace espalier::method
