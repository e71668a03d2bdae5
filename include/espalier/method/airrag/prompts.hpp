#pragma once

#include <espalier/rag/prompt_set.hpp>

#include <memory>

namespace espalier::method {

namespace detail {

/// AirRAG's purposes, slots and tags. Documents have their own slot. Histories show queries and responses.
inline std::shared_ptr<const Protocol> airrag_protocol() {
  static const auto protocol = std::make_shared<const Protocol>(
      Protocol{"airrag",
               {{"say", {"question"}, {"queries"}},
                {"da", {"question"}, {"answer"}},
                {"ra", {"documents", "query"}, {"sub_answer"}},
                {"qt", {"question", "history", "documents", "query"}, {"queries"}},
                {"sa", {"documents", "question", "history"}, {"answer"}},
                {"refine", {"documents", "question", "history", "candidates"}, {"answer"}},
                {"process_reward", {"question", "history", "step"}, {"score"}, {0, 1, 1}}},
               {{"queries", "", ""},
                {"sub_answer", "", ""},
                {"answer", "Answer:", "\n"},
                {"score", "<score>", "</score>"},
                {"history.search", "Query:", "\n"},
                {"history.sub_answer", "Response:", "\n"}},
               "Doc {rank}(Title: {title}) {text}\n",
               {"information", "queries"}});
  return protocol;
}

}  // namespace detail

/// The prompts in our own words. PromptSet::replaced_from replaces single texts by files.
inline rag::PromptSet airrag_prompts() {
  rag::PromptSet::Texts texts;
  texts["say"] =
      R"(Analyse the question before anything is looked up. If it is unclear or holds several questions, put it into simpler words or split it into sub-questions in the order in which they must be answered, one a line. If it is simple and clear already, write None.

### Question
{question}

### Sub-questions
)";
  texts["da"] = R"(Answer the question from what you know.
Keep the answer short: a name, a noun, a brief phrase. Write it on a line after Answer:

### Question
{question}

### Answer
)";
  texts["ra"] = R"(Answer the query from the documents, in one sentence. If they do not say it, say what you know.

### Documents
{documents}
### Query
{query}

### Answer
)";
  texts["qt"] =
      R"(A question is being answered query by query. Improve the next query: put in the answers that were found before, word it so that a search engine finds what is still missing, step back to something more general, or write several queries, one a line. If nothing needs to change or nothing is missing, write None.

### Question
{question}

### Queries and answers so far
{history}
### Documents
{documents}
### Next query
{query}

### Improved query
)";
  texts["sa"] = R"(Answer the question from the queries, their answers and the documents below.
Keep the answer short: a name, a noun, a brief phrase. Write it on a line after Answer:

### Documents
{documents}
### Question
{question}

### Queries and answers
{history}
### Answer
)";
  texts["refine"] =
      R"(Several attempts to answer a question are listed below; some may be wrong. Weigh them against each other and give the best answer.
Keep the answer short: a name, a noun, a brief phrase. Write it on a line after Answer:

### Documents
{documents}
### Question
{question}

### Queries and answers of the attempts
{history}
### Answers of the attempts
{candidates}
### Answer
)";
  texts["process_reward"] =
      R"(Judge a finished attempt to answer a question: are its steps sound, and does its answer follow from them?
Put a number from 0 (wrong) to 1 (right) inside <score></score>.

### Question
{question}

### Steps
{history}
### Its answer
{step}

### Judgement
)";
  return {detail::airrag_protocol(), std::move(texts)};
}

}  // namespace espalier::method
