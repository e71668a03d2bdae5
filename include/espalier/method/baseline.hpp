#pragma once

#include <espalier/method/path.hpp>
#include <espalier/rag/prompt_set.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace espalier::method {

/// Numbers of a baseline; each uses some of them.
struct BaselineOptions {
  std::uint32_t rounds = 5;     ///< searches, or rounds, before the answer is forced
  std::uint32_t documents = 3;  ///< passages a search
  double threshold = 0.6;       ///< FLARE: least mean probability of a token that needs no search, [0, 1]
};

/// A published system as a program over one path.
struct Baseline {
  std::string name;
  std::string summary;  ///< its protocol in one line
  rag::PromptSet (*prompts)();
  Task<void> (*run)(Path* path, BaselineOptions options);
  BaselineOptions defaults = BaselineOptions();
  bool logprobs = false;  ///< needs a model that gives log-probabilities
};

/// A protocol and its texts.
inline rag::PromptSet prompt_set(Protocol protocol, rag::PromptSet::Texts texts) {
  return {std::make_shared<const Protocol>(std::move(protocol)), std::move(texts)};
}

}  // namespace espalier::method
