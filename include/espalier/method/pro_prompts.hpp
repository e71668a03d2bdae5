#pragma once

#include <espalier/rag/prompt_set.hpp>

#include <memory>

namespace espalier::method {

/// ProRAG's purposes, slots and tags. "step" and "rollout" are one prompt: a node's next steps, and those of simulated and
/// inferred trajectories, can have a model and sampling each. The judge and the process reward see no gold answer.
inline std::shared_ptr<const Protocol> pro_protocol() {
  static const auto protocol = [] {
    Protocol p{"prorag",
               {{"step", {"question", "history"}, {"search", "sub_answer", "answer"}},
                {"rollout", {"question", "history"}, {"search", "sub_answer", "answer"}},
                {"forced_answer", {"question", "history"}, {"answer"}},
                {"judge", {"question", "history", "candidates"}, {"preference"}},
                {"process_reward", {"question", "history", "step"}, {"score"}, {-1, 1, 1}}},
               {{"thought", "<step>", "</step>"},
                {"search", "<subquery>", "</subquery>"},
                {"information", "<retrieval>", "</retrieval>"},
                {"sub_answer", "<subanswer>", "</subanswer>"},
                {"answer", "<answer>", "</answer>"},
                {"preference", "<preference>", "</preference>"},
                {"score", "<score>", "</score>"}}};
    p.document = "Doc {rank}(Title: {title}) {text}\n";
    return std::make_shared<const Protocol>(std::move(p));
  }();
  return protocol;
}

/// The prompts in our own words. Replaced file by file with PromptSet::replaced_from.
inline rag::PromptSet pro_prompts() {
  rag::PromptSet::Texts texts;
  texts["step"] = texts["rollout"] = R"(You solve a question step by step with the help of a search engine. Each of your steps is one thought and one action:
<step> what you think </step>
and then exactly one of
<subquery> a query for the search engine </subquery>
<subanswer> what the texts found by the last query say about it, in one sentence </subanswer>
<answer> the answer to the question: a name, a noun, a brief phrase </answer>

A query is followed by the texts that were found, between <retrieval> and </retrieval>; your next step is then the <subanswer>. Answer only when the conclusions so far settle the question, and do not repeat a query. Write the next step and nothing after it.

### Question
{question}

### Steps so far
{history}
### Next step
)";
  texts["forced_answer"] = R"(You solved a question step by step with the help of a search engine, and no more searches are possible. Give the answer that the steps below support best.

<step> what you think </step>
<answer> the answer: a name, a noun, a brief phrase </answer>

### Question
{question}

### Steps so far
{history}
### Last step
)";
  texts["judge"] = R"(A question is being solved step by step with the help of a search engine. Below are the question, the steps so far, and candidates for the next step. Judge the candidates by their logic alone: does the step follow from what is known, is it needed, does it assume nothing that was not found, is it a clear next move?

Name the best candidate and one that is clearly worse by their numbers, the better one first: <preference> 2 over 1 </preference>
If no candidate is clearly better than another: <preference> none </preference>
Say why first, in one or two sentences.

### Question
{question}

### Steps so far
{history}
### Candidates
{candidates}
### Your judgement
)";
  texts["process_reward"] = R"(A question is being solved step by step with the help of a search engine. Below are the question, the steps so far, and the next step. How good is the next step: does it follow from what is known, is it needed, is it free of guesses and errors?

Write a number from -1 (wrong or useless) over 0 (undecided) to 1 (right and needed): <score> number </score>

### Question
{question}

### Steps so far
{history}
### Next step
{step}
### Your judgement
)";
  return {pro_protocol(), std::move(texts)};
}

}  // namespace espalier::method
