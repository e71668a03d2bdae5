#pragma once

#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/method/path.hpp>
#include <espalier/rag/prompt_set.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::baselines {

namespace detail {

/// Purposes of prompts, each with its text.
using Prompts = std::vector<std::pair<Protocol::Purpose, std::string>>;

/// Prompts in the marks of a protocol.
inline rag::PromptSet prompt_set(Protocol marks, const Prompts& prompts) {
  rag::PromptSet::Texts texts;
  for (const auto& [purpose, text] : prompts) {
    marks.purposes.push_back(purpose);
    texts[purpose.name] = text;
  }
  return {std::move(marks), std::move(texts)};
}

/// Shared pieces of the baselines' prompts.
namespace words {

inline const std::string brief = "Keep the answer short: a name, a noun, a brief phrase.\n";
inline const std::string question = "\n### Question\n{question}\n";
inline const std::string documents = "\n### Documents\n{documents}";
inline const std::string history = "\n### So far\n{history}";
inline const std::string document = "Doc {rank}(Title: {title}) {text}\n";

}  // namespace words

// --- Worked examples. Several publications put examples before the question, in their own form -----------------------

/// Writes a demonstration in the form of a protocol.
using Demonstrate = std::string (*)(const method::detail::Demonstration&);

/// Follow-up questions with their answers, as in Self-Ask.
inline std::string as_follow_ups(const method::detail::Demonstration& shown) {
  std::string text = "Question: " + shown.question + '\n';
  for (const auto& step : shown.steps)
    text += "Follow up: " + step.question + "\nIntermediate answer: " + step.finding + '\n';
  return text + "So the final answer is: " + shown.answer + '\n';
}
/// A chain of thought, as in IRCoT.
inline std::string as_sentences(const method::detail::Demonstration& shown) {
  std::string text = "Question: " + shown.question + '\n';
  for (const auto& step : shown.steps) text += step.finding + '\n';
  return text + "So the answer is: " + shown.answer + '\n';
}

/// All demonstrations in this form, for every purpose that answers. Without a form there are none.
inline method::detail::Examples examples(const Protocol& protocol, Demonstrate form) {
  method::detail::Examples all;
  if (form == nullptr) return all;
  for (const Protocol::Purpose& purpose : protocol.purposes)
    if (std::find(purpose.returns.begin(), purpose.returns.end(), "answer") != purpose.returns.end())
      for (const auto& shown : method::detail::demonstrations()) all[purpose.name].push_back({"", form(shown)});
  return all;
}

}  // namespace detail

/// Options of a baseline. Each baseline uses some of them.
struct BaselineOptions {
  std::uint32_t rounds = 0;       ///< searches, turns or rounds before the answer, 0 = not used
  std::uint32_t documents = 0;    ///< passages per search, 0 = it never searches
  std::uint32_t observation = 0;  ///< tokens of the documents of one search, at 4 bytes each, 0 = all
  double threshold = std::numeric_limits<double>::quiet_NaN();  ///< meaning depends on the baseline, NaN = not used
  double mask = std::numeric_limits<double>::quiet_NaN();       ///< (FLARE) tokens up to this leave the query
};

/// A published system as a program over one path.
struct Baseline {
  std::string name;
  rag::PromptSet prompts;
  Task<void> (*run)(Path* path, BaselineOptions options);
  BaselineOptions defaults = BaselineOptions();
  Sampling sampling = {};                  ///< as published, greedy where nothing is said
  detail::Demonstrate examples = nullptr;  ///< writes worked examples, null = the prompts have none
  std::string threshold = "";              ///< what the threshold is
};

}  // namespace espalier::method::baselines
