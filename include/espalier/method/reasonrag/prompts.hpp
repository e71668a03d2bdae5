#pragma once

#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/rag/prompt_set.hpp>
#include <espalier/rag/state.hpp>

#include <string>

namespace espalier::method {

/// ReasonRAG's prompts in our own words. Only the evidence prompt sees documents. Histories show the evidence.
inline rag::PromptSet reasonrag_prompts() {
  static constexpr detail::Mark marks[] = {{"search", "<query>", "</query>"},
                                           {"sub_answer", "<evidence>", "</evidence>"},
                                           {"answer", "<answer>", "</answer>"},
                                           {"score", "<score>", "</score>"}};
  static constexpr detail::PromptTemplate templates[] = {
      {{"begin_reasoning", {"search", "answer"}, {{"Question", "question"}}, "Your reasoning"},
       R"(You solve a question with the help of a search engine. Think about what the question needs.

If you can answer it from what you know for certain, put the answer inside <answer></answer>.
Otherwise ask the search engine for the first thing that is missing: put one query inside <query></query>.

Write your thoughts first, then exactly one of the two. Keep answers short: a name, a noun, a brief phrase.)"},
      {{"reasoning", {"search", "answer"}, {{"Question", "question"}, {"So far", "history"}}, "Your reasoning"},
       R"(You solve a question with the help of a search engine. Below are the question and what was asked and found so far. Think about what still separates the evidence from the answer.

If the evidence settles the question, put the answer inside <answer></answer>.
Otherwise ask for the next thing that is missing: put one query inside <query></query>. Do not repeat a query.

Write your thoughts first, then exactly one of the two. Keep answers short: a name, a noun, a brief phrase.)"},
      {{"evidence", {"sub_answer"}, {{"Question", "question"}, {"Query", "query"}, {"Texts", "documents"}}, "Evidence"},
       R"(Below are a question, a query that was sent to a search engine to help answer it, and the texts that were found. Say in one or two sentences what the texts say about the query. Use the texts alone; if they do not say it, write "no evidence".

Put what the texts say inside <evidence></evidence>.)"},
      {{"forced_answer", {"answer"}, {{"Question", "question"}, {"Evidence", "history"}}, "Your answer"},
       R"(No more searches are possible. Give the answer to the question that the evidence below supports best.

Put it inside <answer></answer>.
Keep it short: a name, a noun, a brief phrase.)"},
      {{"judge",
        {"score"},
        {{"Question", "question"}, {"Right answer", "gold"}, {"Steps so far", "history"}},
        "Your judgement",
        {0, 100, 1}},
       R"(A question is being solved step by step with the help of a search engine. Below are the question, its right answer, and the steps so far. Judge how promising the steps are: are they correct, to the point, and on the way to the right answer without detours?

Put a whole number from 0 (hopeless) to 100 (as good as solved) inside <score></score>.)"},
  };
  return detail::prompt_set("reasonrag", marks, templates, {}, {"information"});
}

namespace detail {

/// What is asked next: evidence of documents, else reasoning. `forced` is true for an answer that must be given.
inline std::string next_purpose(const rag::State& state, bool forced) {
  const rag::Segment* last = state.transcript().last();
  if (last != nullptr && last->documents()) return "evidence";
  return forced ? "forced_answer" : state.iterations() == 0 ? "begin_reasoning" : "reasoning";
}
/// The slots of that prompt.
inline Slots next_slots(const rag::State& state, const Protocol& protocol) {
  Slots slots = history_slots(state.question(), state.transcript(), protocol);
  const auto segments = state.transcript().segments();
  if (segments.empty() || !segments.back()->documents()) return slots;
  slots.emplace_back("query", rag::render_text(segments[segments.size() - 2]->words()));
  slots.emplace_back("documents", rag::render_documents(*segments.back()->documents(), protocol));
  return slots;
}

inline Examples reasonrag_examples() {
  using enum rag::SegmentKind;
  ExampleWriter writer(reasonrag_prompts(), {query, documents, sub_answer});
  const auto& [first, second, third, fourth] = demonstrations();
  const auto asks = [](const Demonstration::Step& s) { return s.need + " " + tagged("query", s.query); };
  const auto ends = [](const Demonstration& d) { return d.conclusion + " " + tagged("answer", d.answer); };
  const Slots simple{{"question", rag::render_text(second.steps[0].question)}};

  writer.add({"begin_reasoning"}, first, 0, asks(first.steps[0]));
  writer.add({"begin_reasoning"}, second, 0, second.steps[0].finding + " " + tagged("answer", second.steps[0].answer),
             simple);
  writer.add({"reasoning"}, first, 1, asks(first.steps[1]));
  writer.add({"reasoning"}, second, 2, ends(second));
  for (const Demonstration* shown : {&first, &second}) {
    writer.add({"evidence"}, *shown, 0, tagged("evidence", shown->steps[0].finding));
    writer.add({"forced_answer"}, *shown, 2, tagged("answer", shown->answer));
  }
  writer.add({"judge"}, first, 2, "Both facts were found on the shortest way. <score> 95 </score>");
  writer.add({"judge"}, second, 1, "One of the two years is known, and nothing is wrong. <score> 60 </score>");
  return writer.examples;
}

}  // namespace detail

}  // namespace espalier::method
