#pragma once

#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/rag/prompt_set.hpp>

namespace espalier::method {

/// DecEx-RAG's prompts in our own words, with the paper's slots and tags (appendix A.1). Two are ours: the answer that
/// is forced at T_max, and the sub-question after answers that were cut. PromptSet::replaced_from replaces texts.
inline rag::PromptSet decex_prompts() {
  static constexpr detail::Mark marks[] = {
      {"reasoning", "<reasoning>", "</reasoning>"}, {"thought", "<think>", "</think>"},
      {"question", "<question>", "</question>"},    {"answer", "<answer>", "</answer>"},
      {"search", "<search>", "</search>"},          {"information", "<information>", "</information>"}};
  static constexpr detail::PromptTemplate templates[] = {
      {{"termination",
        {"answer", "question"},
        {{"Question", "question"}, {"Rounds so far", "history"}},
        "Your decision"},
       R"(You solve a question step by step: each round asks one sub-question and settles it, either from memory or from documents that were looked up. Below are the question and all rounds so far. Decide whether the rounds hold enough evidence to answer the question.

Use nothing but what the rounds say; facts that you know but that do not appear there do not count.

If the evidence is enough, say inside <reasoning></reasoning> which facts lead to the answer, and put the final answer inside <answer></answer>.

If something is missing, say inside <reasoning></reasoning> what is still unknown, and put the next sub-question inside <question></question>.

When the last sub-question was not really settled, ask it again rather than guess. Keep answers and sub-questions short: a name, a noun, a brief phrase.)"},
      {{"forced_answer", {"answer"}, {{"Question", "question"}, {"Rounds", "history"}}, "Your final answer"},
       R"(You have asked your last sub-question. Below are the question and all rounds. Give the final answer that the rounds support best; no further question is possible.

Say inside <reasoning></reasoning> which facts lead to the answer, and put the answer inside <answer></answer>.
Keep the answer short: a name, a noun, a brief phrase.)"},
      {{"sub_question", {"question"}, {{"Question", "question"}}, "Your output"},
       R"(A question is going to be solved through simpler sub-questions, one after the other. Think about what has to be known first, then state the first sub-question.

Write your thoughts, and after them the sub-question inside <question></question>.)"},
      {{"next_question", {"question"}, {{"Question", "question"}, {"Rounds so far", "history"}}, "Your output"},
       R"(You solve a question step by step: each round asks one sub-question and settles it. Below are the question and all rounds so far. They do not settle the question yet. Think about what is still missing, or what should be checked in another way, then state the next sub-question.

Write your thoughts, and after them the next sub-question inside <question></question>.)"},
      {{"own_answer", {"answer"}, {{"Question", "question"}}, "Your output"},
       R"(Answer the question below from memory. Think first, then put a short answer inside <answer></answer>: a name, a noun, a brief phrase.)"},
      {{"sub_query", {}, {{"Question", "question"}}, "Query"},
       R"(Turn the question below into one query for a search engine. Output the query alone.)"},
      {{"rollout", {"search", "answer"}, {{"Question", "question"}, {"Rounds so far", "history"}}, "Go on"},
       R"(You solve a question step by step. Below are the question and the rounds so far; take what they say as settled and go on from there without checking it again.

Think aloud. When you need a fact that you do not have, look it up: put a query inside <search></search>, and the documents found will be put inside <information></information>. When nothing more is needed, finish with the answer inside <answer></answer>. Do not stop before one of the two. Keep queries and answers short: a name, a noun, a brief phrase.)"},
  };
  return detail::prompt_set("decex", marks, templates);
}

namespace detail {

/// Two worked examples of each prompt.
inline Examples decex_examples() {
  using enum rag::SegmentKind;
  ExampleWriter writer(decex_prompts(), {sub_question, query, documents});
  const auto& [first, second, third, fourth] = demonstrations();
  const Demonstration::Step& next = first.steps[1];
  writer.add({"termination"}, first, 1, tagged("reasoning", next.need) + " " + tagged("question", next.question));
  writer.add({"termination"}, second, 2,
             tagged("reasoning", second.conclusion) + " " + tagged("answer", second.answer));
  writer.add({"rollout"}, first, 1, next.need + " " + tagged("search", next.query));
  writer.add({"rollout"}, second, 2, second.conclusion + " " + tagged("answer", second.answer));
  for (const Demonstration* shown : {&first, &second}) {
    const auto& [one, two] = shown->steps;
    const Slots part{{"question", rag::render_text(one.question)}};
    writer.add({"forced_answer"}, *shown, 2,
               tagged("reasoning", shown->conclusion) + " " + tagged("answer", shown->answer));
    writer.add({"sub_question"}, *shown, 0, one.need + " " + tagged("question", one.question));
    writer.add({"next_question"}, *shown, 1, two.need + " " + tagged("question", two.question));
    writer.add({"own_answer"}, *shown, 0, one.finding + " " + tagged("answer", one.answer), part);
    writer.add({"sub_query"}, *shown, 0, one.query, part);
  }
  return writer.examples;
}

}  // namespace detail

}  // namespace espalier::method
