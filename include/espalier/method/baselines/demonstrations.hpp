#pragma once

#include <espalier/rag/prompt_set.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// Worked examples for prompts. Several publications put examples before the question. These are our own, in the forms
/// of their protocols.
namespace espalier::method::baselines {

namespace detail {

/// A question that was solved in two steps.
struct Demonstration {
  struct Step {
    std::string_view question, finding;
  };
  std::string_view question;
  std::array<Step, 2> steps;
  std::string_view answer;
};

inline constexpr std::array<Demonstration, 4> demonstrations{{
    {"In which country does the river that flows through Vienna reach the sea?",
     {{{"Which river flows through Vienna?", "The Danube flows through Vienna."},
       {"In which country does the Danube reach the sea?", "The Danube reaches the Black Sea in Romania."}}},
     "Romania"},
    {"Who was born earlier, Johannes Kepler or Isaac Newton?",
     {{{"When was Johannes Kepler born?", "Johannes Kepler was born in 1571."},
       {"When was Isaac Newton born?", "Isaac Newton was born in 1643."}}},
     "Johannes Kepler"},
    {"What is the capital of the country in which Mount Kenya lies?",
     {{{"In which country does Mount Kenya lie?", "Mount Kenya lies in Kenya."},
       {"What is the capital of Kenya?", "The capital of Kenya is Nairobi."}}},
     "Nairobi"},
    {"Are the Baltic Sea and the Sea of Japan parts of the same ocean?",
     {{{"Of which ocean is the Baltic Sea a part?", "The Baltic Sea is a part of the Atlantic Ocean."},
       {"Of which ocean is the Sea of Japan a part?", "The Sea of Japan is a part of the Pacific Ocean."}}},
     "no"},
}};

}  // namespace detail

/// Writes a demonstration in the form of a protocol.
using Demonstrate = std::string (*)(const detail::Demonstration&);

namespace detail {

/// Follow-up questions with their answers, as in Self-Ask.
inline std::string as_follow_ups(const Demonstration& shown) {
  std::string text = "Question: " + std::string(shown.question) + '\n';
  for (const auto& [question, finding] : shown.steps)
    text += "Follow up: " + std::string(question) + "\nIntermediate answer: " + std::string(finding) + '\n';
  return text + "So the final answer is: " + std::string(shown.answer) + '\n';
}
/// A chain of thought, as in IRCoT.
inline std::string as_sentences(const Demonstration& shown) {
  std::string text = "Question: " + std::string(shown.question) + '\n';
  for (const auto& step : shown.steps) text += std::string(step.finding) + '\n';
  return text + "So the answer is: " + std::string(shown.answer) + '\n';
}

/// The same prompts with the first `shots` demonstrations before the question, in all texts that ask for an answer.
inline rag::PromptSet demonstrated(const rag::PromptSet& prompts, Demonstrate form, std::size_t shots) {
  std::string examples = "\n### Examples\n";
  for (const Demonstration& shown : std::span(demonstrations).first(std::min(shots, demonstrations.size())))
    examples += form(shown) + '\n';
  examples.pop_back();
  rag::PromptSet::Texts texts = prompts.texts();
  for (const Purpose& purpose : prompts.protocol()->purposes)
    if (std::find(purpose.returns.begin(), purpose.returns.end(), "answer") != purpose.returns.end()) {
      std::string& text = texts[purpose.name];
      text.insert(std::min(text.find("\n### "), text.size()), examples);
    }
  return {prompts.protocol(), std::move(texts)};
}

}  // namespace detail

}  // namespace espalier::method::baselines
