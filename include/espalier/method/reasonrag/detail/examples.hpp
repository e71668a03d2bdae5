#pragma once

#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/method/reasonrag/prompts.hpp>

#include <string>

namespace espalier::method::detail {

/// Two worked examples of each prompt.
inline Examples reasonrag_examples() {
  using enum rag::SegmentKind;
  ExampleWriter writer(reasonrag_prompts(), {query, documents, sub_answer});
  const auto in = [](const char* tag, std::string_view text) {
    return "<" + std::string(tag) + "> " + std::string(text) + " </" + tag + ">";
  };
  const Demonstration &first = demonstrations[0], &second = demonstrations[1];
  const auto asks = [&](const Demonstration::Step& s) { return std::string(s.need) + " " + in("query", s.query); };
  const auto ends = [&](const Demonstration& shown) {
    return std::string(shown.conclusion) + " " + in("answer", shown.answer);
  };
  const ExampleWriter::Slots simple{{"question", rag::render_text(second.steps[0].question)}};

  writer.add({"begin_reasoning"}, first, 0, asks(first.steps[0]));
  writer.add({"begin_reasoning"}, second, 0,
             std::string(second.steps[0].finding) + " " + in("answer", second.steps[0].answer), simple);
  writer.add({"reasoning"}, first, 1, asks(first.steps[1]));
  writer.add({"reasoning"}, second, 2, ends(second));
  for (const Demonstration* shown : {&first, &second}) {
    writer.add({"evidence"}, *shown, 0, in("evidence", shown->steps[0].finding));
    writer.add({"forced_answer"}, *shown, 2, in("answer", shown->answer));
  }
  writer.add({"judge"}, first, 2, "Both facts were found on the shortest way. <score> 95 </score>");
  writer.add({"judge"}, second, 1, "One of the two years is known, and nothing is wrong. <score> 60 </score>");
  return std::move(writer.examples);
}

}  // namespace espalier::method::detail
