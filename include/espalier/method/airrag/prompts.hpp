#pragma once

#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/rag/prompt_set.hpp>

#include <string>

namespace espalier::method {

/// AirRAG's prompts in our own words. Documents have their own slot. Histories show queries and responses.
inline rag::PromptSet airrag_prompts() {
  static constexpr detail::Mark marks[] = {{"queries", "", ""},
                                           {"sub_answer", "", ""},
                                           {"answer", "Answer:", "\n"},
                                           {"score", "<score>", "</score>"},
                                           {"history.search", "Query:", "\n"},
                                           {"history.sub_answer", "Response:", "\n"}};
  static constexpr detail::PromptTemplate templates[] = {
      {{"say", {"queries"}, {{"Question", "question"}}, "Sub-questions"},
       R"(Analyse the question before anything is looked up. If it is unclear or holds several questions, put it into simpler words or split it into sub-questions in the order in which they must be answered, one a line. If it is simple and clear already, write None.)"},
      {{"da", {"answer"}, {{"Question", "question"}}, "Answer"}, R"(Answer the question from what you know.
Keep the answer short: a name, a noun, a brief phrase. Write it on a line after Answer:)"},
      {{"ra", {"sub_answer"}, {{"Documents", "documents"}, {"Query", "query"}}, "Answer"},
       R"(Answer the query from the documents, in one sentence. If they do not say it, say what you know.)"},
      {{"qt",
        {"queries"},
        {{"Question", "question"},
         {"Queries and answers so far", "history"},
         {"Documents", "documents"},
         {"Next query", "query"}},
        "Improved query"},
       R"(A question is being answered query by query. Improve the next query: put in the answers that were found before, word it so that a search engine finds what is still missing, step back to something more general, or write several queries, one a line. If nothing needs to change or nothing is missing, write None.)"},
      {{"sa",
        {"answer"},
        {{"Documents", "documents"}, {"Question", "question"}, {"Queries and answers", "history"}},
        "Answer"},
       R"(Answer the question from the queries, their answers and the documents below.
Keep the answer short: a name, a noun, a brief phrase. Write it on a line after Answer:)"},
      {{"refine",
        {"answer"},
        {{"Documents", "documents"},
         {"Question", "question"},
         {"Queries and answers of the attempts", "history"},
         {"Answers of the attempts", "candidates"}},
        "Answer"},
       R"(Several attempts to answer a question are listed below; some may be wrong. Weigh them against each other and give the best answer.
Keep the answer short: a name, a noun, a brief phrase. Write it on a line after Answer:)"},
      {{"process_reward",
        {"score"},
        {{"Question", "question"}, {"Steps", "history"}, {"Its answer", "step"}},
        "Judgement",
        {0, 1, 1}},
       R"(Judge a finished attempt to answer a question: are its steps sound, and does its answer follow from them?
Put a number from 0 (wrong) to 1 (right) inside <score></score>.)"},
  };
  return detail::prompt_set("airrag", marks, templates, "Doc {rank}(Title: {title}) {text}\n",
                            {"information", "queries"});
}

namespace detail {

inline Examples airrag_examples() {
  using rag::SegmentKind;
  ExampleWriter writer(airrag_prompts(), {SegmentKind::query, SegmentKind::documents, SegmentKind::sub_answer});
  const auto& [first, second, third, fourth] = demonstrations();
  const auto slot = [](const char* name, const std::string& text) { return Slots{{name, rag::render_text(text)}}; };
  const auto answered = [](const std::string& text) { return "Answer: " + text; };
  const auto lines = [](const Demonstration& shown) {
    return shown.steps[0].question + '\n' + shown.steps[1].question;
  };

  writer.add({"say"}, second, 0, lines(second));
  writer.add({"say"}, first, 0, "None", slot("question", first.steps[0].question));
  writer.add({"qt"}, first, 1, first.steps[1].query, slot("query", "In which country does it reach the sea?"));
  writer.add({"qt"}, second, 1, "None", slot("query", second.steps[1].query));
  for (const Demonstration* shown : {&first, &second}) {
    writer.add({"da"}, *shown, 0, answered(shown->steps[0].answer), slot("question", shown->steps[0].question));
    writer.add({"ra"}, *shown, 0, shown->steps[0].finding, slot("query", shown->steps[0].question));
    writer.add({"sa"}, *shown, 2, answered(shown->answer));
    const std::string attempts = "- " + shown->steps[0].answer + "\n- " + shown->answer + '\n';
    writer.add({"refine"}, *shown, 2, answered(shown->answer), {{"candidates", ExampleWriter::plain(attempts)}});
  }
  writer.add({"process_reward"}, first, 2, "Each step is needed, and the answer follows. <score> 0.95 </score>",
             slot("step", first.answer));
  writer.add({"process_reward"}, second, 1, "The second year was never looked up. <score> 0.1 </score>",
             slot("step", "Isaac Newton"));
  return writer.examples;
}

}  // namespace detail

}  // namespace espalier::method
