#pragma once

#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/rag/prompt_set.hpp>

namespace espalier::method {

/// DecoupleRAG's prompts in our own words. A judge gives two numbers: one for the plan and one for the search.
inline rag::PromptSet decouple_prompts() {
  static constexpr detail::Mark marks[] = {{"thought", "", ""},        {"history.thought", "Thought:", "\n"},
                                           {"search", "Search(", ")"}, {"information", "Observation:", "\n"},
                                           {"answer", "Finish(", ")"}, {"score", "<score>", "</score>"},
                                           {"verdict", "", ""}};
  static constexpr detail::PromptTemplate templates[] = {
      {{"step",
        {"search", "answer"},
        {{"Question", "question"}, {"Steps so far", "history"}},
        "Next thought and action"},
       R"(Solve the question with a search engine, one step at a time. A step is a thought and one action. Actions:
Search() looks something up: put one query between its brackets, or a JSON list with the query in several wordings. What is found follows as an observation.
Finish() ends: put the answer between its brackets, as short as it can be.)"},
      {{"plan", {"thought", "answer"}, {{"Question", "question"}, {"Steps so far", "history"}}, "Next thought"},
       R"(You solve a question with a search engine, one step at a time. Write the next thought only: what is known, what is missing, and what to look up next. If nothing is missing, write Finish() instead, with the answer between its brackets, as short as it can be.)"},
      {{"query", {"search"}, {{"Question", "question"}, {"Steps so far", "history"}}, "Query"},
       R"(You solve a question with a search engine, one step at a time. The last thought below says what to look up. Write Search() with one query between its brackets.)"},
      {{"forced_answer", {"answer"}, {{"Question", "question"}, {"Steps", "history"}}, "Answer"},
       R"(No more searches are possible. Write Finish() with the answer that the steps below support best between its brackets, as short as it can be.)"},
      {{"judge", {"score"}, {{"Question", "question"}, {"Steps so far", "history"}}, "Judgement", {-1, 1, 2}},
       R"(A question is being solved with a search engine, step by step. Judge the last step twice, each from -1 (harmful) to 1 (excellent): is its thought a sound plan for getting on, and did its search find what that plan needs?
Put two numbers inside <score></score>, separated by a comma: that of the plan, then that of the search.)"},
      {{"judge_answer",
        {"verdict"},
        {{"Question", "question"}, {"Right answers", "gold"}, {"Answer", "answer"}},
        "yes or no"},
       R"(Does the answer say the same as one of the right answers to the question? Write yes or no.)"},
  };
  return detail::prompt_set("decouple", marks, templates, "Doc {rank}(Title: {title}) {text}\n");
}

namespace detail {

inline Examples decouple_examples() {
  using enum rag::SegmentKind;
  ExampleWriter writer(decouple_prompts(), {thought, query, documents});
  const auto& [first, second, third, fourth] = demonstrations();
  const auto finish = [](const Demonstration& shown) { return "Finish(" + shown.answer + ")"; };
  const auto search = [](const Demonstration::Step& step) { return "Search(" + step.query + ")"; };
  const Slots wrong{{"answer", rag::render_text(second.steps[1].answer)}};

  writer.add({"step"}, first, 1, first.steps[1].need + "\n" + search(first.steps[1]));
  writer.add({"step"}, second, 2, second.conclusion + "\n" + finish(second));
  writer.add({"plan"}, first, 1, first.steps[1].need);
  writer.add({"plan"}, second, 2, finish(second));
  for (const Demonstration* shown : {&first, &second}) {
    writer.add({"query"}, *shown, 1, search(shown->steps[1]), {}, {thought});
    writer.add({"forced_answer"}, *shown, 2, finish(*shown));
  }
  writer.add({"judge"}, first, 1, "The plan is needed and its search found it. <score> 0.9, 0.9 </score>");
  writer.add({"judge"}, second, 1, "The last step asks for what is known already. <score> -0.6, -0.8 </score>", {},
             {thought, query, documents});
  writer.add({"judge_answer"}, first, 2, "yes");
  writer.add({"judge_answer"}, second, 2, "no", wrong);
  return writer.examples;
}

}  // namespace detail

}  // namespace espalier::method
