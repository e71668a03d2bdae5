#pragma once

#include <espalier/method/detail/demonstrations.hpp>

#include <algorithm>
#include <string>

/// Worked examples of the baselines. Several publications put examples before the question, in their own form.
namespace espalier::method::baselines::detail {

/// Writes a demonstration in the form of a protocol.
using Demonstrate = std::string (*)(const method::detail::Demonstration&);

/// Follow-up questions with their answers, as in Self-Ask.
inline std::string as_follow_ups(const method::detail::Demonstration& shown) {
  std::string text = "Question: " + std::string(shown.question) + '\n';
  for (const auto& step : shown.steps)
    text += "Follow up: " + std::string(step.question) + "\nIntermediate answer: " + std::string(step.finding) + '\n';
  return text + "So the final answer is: " + std::string(shown.answer) + '\n';
}
/// A chain of thought, as in IRCoT.
inline std::string as_sentences(const method::detail::Demonstration& shown) {
  std::string text = "Question: " + std::string(shown.question) + '\n';
  for (const auto& step : shown.steps) text += std::string(step.finding) + '\n';
  return text + "So the answer is: " + std::string(shown.answer) + '\n';
}

/// All demonstrations in this form, for every purpose that answers. Without a form there are none.
inline method::detail::Examples examples(const Protocol& protocol, Demonstrate form) {
  method::detail::Examples all;
  if (form == nullptr) return all;
  for (const Protocol::Purpose& purpose : protocol.purposes)
    if (std::find(purpose.returns.begin(), purpose.returns.end(), "answer") != purpose.returns.end())
      for (const auto& shown : method::detail::demonstrations) all[purpose.name].push_back(form(shown));
  return all;
}

}  // namespace espalier::method::baselines::detail
