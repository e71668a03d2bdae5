#pragma once

#include <espalier/method/decex/prompts.hpp>
#include <espalier/method/detail/demonstrations.hpp>

#include <string>

namespace espalier::method::detail {

/// Two worked examples of each prompt.
inline Examples decex_examples() {
  using enum rag::SegmentKind;
  ExampleWriter writer(decex_prompts(), {sub_question, query, documents});
  const auto in = [](const char* tag, std::string_view text) {
    return "<" + std::string(tag) + "> " + std::string(text) + " </" + tag + ">";
  };
  const Demonstration &first = demonstrations[0], &second = demonstrations[1];
  const Demonstration::Step& next = first.steps[1];
  writer.add({"termination"}, first, 1, in("reasoning", next.need) + " " + in("question", next.question));
  writer.add({"termination"}, second, 2, in("reasoning", second.conclusion) + " " + in("answer", second.answer));
  writer.add({"rollout"}, first, 1, std::string(next.need) + " " + in("search", next.query));
  writer.add({"rollout"}, second, 2, std::string(second.conclusion) + " " + in("answer", second.answer));
  for (const Demonstration* shown : {&first, &second}) {
    const auto& [one, two] = shown->steps;
    const ExampleWriter::Slots part{{"question", rag::render_text(one.question)}};
    writer.add({"forced_answer"}, *shown, 2, in("reasoning", shown->conclusion) + " " + in("answer", shown->answer));
    writer.add({"sub_question"}, *shown, 0, std::string(one.need) + " " + in("question", one.question));
    writer.add({"next_question"}, *shown, 1, std::string(two.need) + " " + in("question", two.question));
    writer.add({"own_answer"}, *shown, 0, std::string(one.finding) + " " + in("answer", one.answer), part);
    writer.add({"sub_query"}, *shown, 0, std::string(one.query), part);
  }
  return std::move(writer.examples);
}

}  // namespace espalier::method::detail
