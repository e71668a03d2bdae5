#pragma once

#include <espalier/method/airrag/prompts.hpp>
#include <espalier/method/detail/demonstrations.hpp>

#include <string>

namespace espalier::method::detail {

/// Two worked examples of each prompt.
inline Examples airrag_examples() {
  using rag::SegmentKind;
  ExampleWriter writer(airrag_prompts(), {SegmentKind::query, SegmentKind::documents, SegmentKind::sub_answer});
  const Demonstration &first = demonstrations[0], &second = demonstrations[1];
  const auto slot = [](const char* name, std::string_view text) {
    return ExampleWriter::Slots{{name, rag::render_text(text)}};
  };
  const auto answered = [](std::string_view text) { return "Answer: " + std::string(text); };
  const auto lines = [](const Demonstration& shown) {
    return std::string(shown.steps[0].question) + '\n' + std::string(shown.steps[1].question);
  };

  writer.add({"say"}, second, 0, lines(second));
  writer.add({"say"}, first, 0, "None", slot("question", first.steps[0].question));
  writer.add({"qt"}, first, 1, std::string(first.steps[1].query),
             slot("query", "In which country does it reach the sea?"));
  writer.add({"qt"}, second, 1, "None", slot("query", second.steps[1].query));
  for (const Demonstration* shown : {&first, &second}) {
    writer.add({"da"}, *shown, 0, answered(shown->steps[0].answer), slot("question", shown->steps[0].question));
    writer.add({"ra"}, *shown, 0, std::string(shown->steps[0].finding), slot("query", shown->steps[0].question));
    writer.add({"sa"}, *shown, 2, answered(shown->answer));
    const std::string attempts =
        "- " + std::string(shown->steps[0].answer) + "\n- " + std::string(shown->answer) + '\n';
    writer.add({"refine"}, *shown, 2, answered(shown->answer), {{"candidates", ExampleWriter::plain(attempts)}});
  }
  writer.add({"process_reward"}, first, 2, "Each step is needed, and the answer follows. <score> 0.95 </score>",
             slot("step", first.answer));
  writer.add({"process_reward"}, second, 1, "The second year was never looked up. <score> 0.1 </score>",
             slot("step", "Isaac Newton"));
  return std::move(writer.examples);
}

}  // namespace espalier::method::detail
