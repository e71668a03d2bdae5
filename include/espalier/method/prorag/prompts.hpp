#pragma once

#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/rag/prompt_set.hpp>

#include <string>

namespace espalier::method {

/// ProRAG's prompts in our own words. "step" and "rollout" (trajectories) have one text, so that each can have its own
/// model and sampling. Only "cold_start" sees gold. PromptSet::replaced_from replaces single texts by files.
inline rag::PromptSet prorag_prompts() {
  static constexpr detail::Mark marks[] = {{"thought", "<step>", "</step>"},
                                           {"search", "<subquery>", "</subquery>"},
                                           {"information", "<retrieval>", "</retrieval>"},
                                           {"sub_answer", "<subanswer>", "</subanswer>"},
                                           {"answer", "<answer>", "</answer>"},
                                           {"preference", "<preference>", "</preference>"},
                                           {"score", "<score>", "</score>"},
                                           {"trajectory", "<trajectory>", "</trajectory>"}};
  static constexpr const char* step =
      R"(You solve a question step by step with the help of a search engine. Each of your steps is one thought and one action. Put the thought inside <step></step>. After it write exactly one action:
- inside <subquery></subquery> a query for the search engine,
- inside <subanswer></subanswer> what the texts found by the last query say about it, in one sentence,
- inside <answer></answer> the answer to the question: a name, a noun, a brief phrase.

A query is followed by the texts that were found, inside <retrieval></retrieval>; your next step is then the conclusion from them. Answer only when the conclusions so far settle the question, and do not repeat a query. Write the next step and nothing after it.)";
  static constexpr detail::PromptTemplate templates[] = {
      {{"step",
        {"search", "sub_answer", "answer"},
        {{"Question", "question"}, {"Steps so far", "history"}},
        "Next step"},
       step},
      {{"rollout",
        {"search", "sub_answer", "answer"},
        {{"Question", "question"}, {"Steps so far", "history"}},
        "Next step"},
       step},
      {{"forced_answer", {"answer"}, {{"Question", "question"}, {"Steps so far", "history"}}, "Last step"},
       R"(You solved a question step by step with the help of a search engine, and no more searches are possible. Give the answer that the steps below support best.

Put what you think inside <step></step>, and after it the answer inside <answer></answer>: a name, a noun, a brief phrase.)"},
      {{"judge",
        {"preference"},
        {{"Question", "question"}, {"Steps so far", "history"}, {"Candidates", "candidates"}},
        "Your judgement"},
       R"(A question is being solved step by step with the help of a search engine. Below are the question, the steps so far, and candidates for the next step. Judge the candidates by their logic alone: does the step follow from what is known, is it needed, does it assume nothing that was not found, is it a clear next move?

Say why first, in one or two sentences. Then name the best candidate and one that is clearly worse, inside <preference></preference>: the number of the best one, the word over, and the number of the worse one. If no candidate is clearly better than another, put the word none there.)"},
      {{"process_reward",
        {"score"},
        {{"Question", "question"}, {"Steps so far", "history"}},
        "Next step\n{step}\n### Your judgement",
        {-1, 1, 1}},
       R"(A question is being solved step by step with the help of a search engine. Below are the question, the steps so far, and the next step. How good is the next step: does it follow from what is known, is it needed, is it free of guesses and errors?

Put a number from -1 (wrong or useless) over 0 (undecided) to 1 (right and needed) inside <score></score>.)"},
      {{"cold_start",
        {"trajectory"},
        {{"Question", "question"}, {"Smaller questions", "gold_chain"}, {"Final answer", "gold"}},
        "Steps"},
       R"(Below are a question, the smaller questions it splits into, each with the passage that settles it and its answer, and the final answer. A "#1" stands for answer 1. Write down how somebody who knows none of this would have solved the question with a search engine: for every smaller question a search and then what its passage says, at the end the answer.

Each step is one thought and one action. The thought stands inside <step></step>: one or two sentences in the first person, which say why this is needed now, or where the passage says it. Then comes one action:
- inside <subquery></subquery> the smaller question as a whole sentence that does not give its answer away,
- inside <subanswer></subanswer> what the passage says about it, in one sentence,
- at the very end, inside <answer></answer>, the final answer.

A thought may use only what the steps before it have found. Leave the passages out. Write all steps inside <trajectory></trajectory>, and nothing else.)"},
  };
  return detail::prompt_set("prorag", marks, templates, "Doc {rank}(Title: {title}) {text}\n");
}

namespace detail {

inline Examples prorag_examples() {
  using enum rag::SegmentKind;
  ExampleWriter writer(prorag_prompts(), {thought, query, documents, sub_answer});
  const auto in = [](const char* tag, const std::string& text) { return tagged(tag, text) + '\n'; };
  const auto asks = [&](const Demonstration::Step& s) { return in("step", s.need) + in("subquery", s.query); };
  const auto ends = [&](const Demonstration& d) { return in("step", d.conclusion) + in("answer", d.answer); };
  const auto& [first, second, third, fourth] = demonstrations();

  writer.add({"step", "rollout"}, first, 1, asks(first.steps[1]));
  writer.add({"step", "rollout"}, second, 2, ends(second));
  for (const Demonstration* shown : {&first, &second}) {
    writer.add({"forced_answer"}, *shown, 2, ends(*shown));
    const bool better = shown == &second;  // the number of the better candidate is 2, then 1
    const std::string guess = ends(*shown), sound = asks(shown->steps[0]);
    const std::string both = "Candidate 1:\n" + (better ? sound : guess) + "Candidate 2:\n" + (better ? guess : sound);
    writer.add({"judge"}, *shown, 0,
               "One candidate answers before anything was looked up. The other asks for what is needed.\n" +
                   in("preference", better ? "1 over 2" : "2 over 1"),
               {{"candidates", ExampleWriter::plain(both)}});
    std::string chain, told;
    for (const Demonstration::Step& s : shown->steps) {
      const std::string n = std::to_string(&s - shown->steps.data() + 1);
      chain += "Question " + n + ": " + s.question + "\nPassage " + n + ": " + s.title + ": " + s.text;
      chain += "\nAnswer " + n + ": " + s.answer + '\n';
      told += in("step", s.need) + in("subquery", s.question) + in("step", "The passage says it.");
      told += in("subanswer", s.finding);
    }
    writer.add({"cold_start"}, *shown, 0, "<trajectory>\n" + told + ends(*shown) + "</trajectory>",
               {{"gold_chain", ExampleWriter::plain(chain)}});
  }
  writer.add({"process_reward"}, first, 1, "It asks for what is missing. <score> 0.9 </score>",
             {{"step", ExampleWriter::plain(asks(first.steps[1]))}});
  writer.add({"process_reward"}, second, 0, "Nothing was looked up, so this is a guess. <score> -0.8 </score>",
             {{"step", ExampleWriter::plain(ends(second))}});
  return writer.examples;
}

}  // namespace detail

}  // namespace espalier::method
