#pragma once

#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/method/prorag/prompts.hpp>

#include <string>

namespace espalier::method::detail {

/// Two worked examples of each prompt.
inline Examples prorag_examples() {
  using enum rag::SegmentKind;
  ExampleWriter writer(prorag_prompts(), {thought, query, documents, sub_answer});
  const auto in = [](const char* tag, std::string_view text) {
    return "<" + std::string(tag) + "> " + std::string(text) + " </" + tag + ">\n";
  };
  const auto asks = [&](const Demonstration::Step& s) { return in("step", s.need) + in("subquery", s.query); };
  const auto ends = [&](const Demonstration& shown) {
    return in("step", shown.conclusion) + in("answer", shown.answer);
  };
  const Demonstration &first = demonstrations[0], &second = demonstrations[1];

  writer.add({"step", "rollout"}, first, 1, asks(first.steps[1]));
  writer.add({"step", "rollout"}, second, 2, ends(second));
  for (const Demonstration* shown : {&first, &second}) {
    writer.add({"forced_answer"}, *shown, 2, ends(*shown));
    const bool better = shown == &second;  // the number of the better candidate is 2, then 1
    const std::string guess = ends(*shown), sound = asks(shown->steps[0]);
    const std::string both = "Candidate 1:\n" + (better ? sound : guess) + "Candidate 2:\n" + (better ? guess : sound);
    writer.add(
        {"judge"}, *shown, 0,
        std::string("One candidate answers before anything was looked up. The other asks for what is needed.\n") +
            in("preference", better ? "1 over 2" : "2 over 1"),
        {{"candidates", ExampleWriter::plain(both)}});
    std::string chain, told;
    for (const Demonstration::Step& s : shown->steps) {
      const std::string n = std::to_string(&s - shown->steps.data() + 1);
      chain += "Question " + n + ": " + std::string(s.question) + "\nPassage " + n + ": " + std::string(s.title) + ": ";
      chain += std::string(s.text) + "\nAnswer " + n + ": " + std::string(s.answer) + '\n';
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
  return std::move(writer.examples);
}

}  // namespace espalier::method::detail
