#pragma once

#include <espalier/rag/prompt_set.hpp>

#include <memory>

namespace espalier::method {

namespace detail {

/// DecoupleRAG's purposes, slots and tags. A judge gives two numbers: one for the plan and one for the search.
inline std::shared_ptr<const Protocol> decouple_protocol() {
  static const auto protocol =
      std::make_shared<const Protocol>(Protocol{"decouple",
                                                {{"step", {"question", "history"}, {"search", "answer"}},
                                                 {"plan", {"question", "history"}, {"thought", "answer"}},
                                                 {"query", {"question", "history"}, {"search"}},
                                                 {"forced_answer", {"question", "history"}, {"answer"}},
                                                 {"judge", {"question", "history"}, {"score"}, {-1, 1, 2}},
                                                 {"judge_answer", {"question", "gold", "answer"}, {"verdict"}}},
                                                {{"thought", "", ""},
                                                 {"history.thought", "Thought:", "\n"},
                                                 {"search", "Search(", ")"},
                                                 {"information", "Observation:", "\n"},
                                                 {"answer", "Finish(", ")"},
                                                 {"score", "<score>", "</score>"},
                                                 {"verdict", "", ""}},
                                                "Doc {rank}(Title: {title}) {text}\n"});
  return protocol;
}

}  // namespace detail

/// The prompts in our own words. PromptSet::replaced_from replaces single texts by files.
inline rag::PromptSet decouple_prompts() {
  rag::PromptSet::Texts texts;
  texts["step"] =
      R"(Solve the question with a search engine, one step at a time. A step is a thought and one action. Actions:
Search() looks something up: put one query between its brackets, or a JSON list with the query in several wordings. What is found follows as an observation.
Finish() ends: put the answer between its brackets, as short as it can be.

### Question
{question}

### Steps so far
{history}
### Next thought and action
)";
  texts["plan"] =
      R"(You solve a question with a search engine, one step at a time. Write the next thought only: what is known, what is missing, and what to look up next. If nothing is missing, write Finish() instead, with the answer between its brackets, as short as it can be.

### Question
{question}

### Steps so far
{history}
### Next thought
)";
  texts["query"] =
      R"(You solve a question with a search engine, one step at a time. The last thought below says what to look up. Write Search() with one query between its brackets.

### Question
{question}

### Steps so far
{history}
### Query
)";
  texts["forced_answer"] =
      R"(No more searches are possible. Write Finish() with the answer that the steps below support best between its brackets, as short as it can be.

### Question
{question}

### Steps
{history}
### Answer
)";
  texts["judge"] =
      R"(A question is being solved with a search engine, step by step. Judge the last step twice, each from -1 (harmful) to 1 (excellent): is its thought a sound plan for getting on, and did its search find what that plan needs?
Put two numbers inside <score></score>, separated by a comma: that of the plan, then that of the search.

### Question
{question}

### Steps so far
{history}
### Judgement
)";
  texts["judge_answer"] = R"(Does the answer say the same as one of the right answers to the question? Write yes or no.

### Question
{question}

### Right answers
{gold}

### Answer
{answer}

### yes or no
)";
  return {detail::decouple_protocol(), std::move(texts)};
}

}  // namespace espalier::method
