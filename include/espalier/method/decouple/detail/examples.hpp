#pragma once

#include <espalier/method/decouple/prompts.hpp>
#include <espalier/method/detail/demonstrations.hpp>

#include <string>

namespace espalier::method::detail {

/// Two worked examples of each prompt.
inline Examples decouple_examples() {
  using enum rag::SegmentKind;
  ExampleWriter writer(decouple_prompts(), {thought, query, documents});
  const Demonstration &first = demonstrations[0], &second = demonstrations[1];
  const auto finish = [](const Demonstration& shown) { return "Finish(" + std::string(shown.answer) + ")"; };
  const auto search = [](const Demonstration::Step& step) { return "Search(" + std::string(step.query) + ")"; };
  const ExampleWriter::Slots wrong{{"answer", rag::render_text(second.steps[1].answer)}};

  writer.add({"step"}, first, 1, std::string(first.steps[1].need) + "\n" + search(first.steps[1]));
  writer.add({"step"}, second, 2, std::string(second.conclusion) + "\n" + finish(second));
  writer.add({"plan"}, first, 1, std::string(first.steps[1].need));
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
  return std::move(writer.examples);
}

}  // namespace espalier::method::detail
