#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

/// An opening and a closing mark in model text, such as `<answer>` and `</answer>`. Without marks it is a whole reply; a closing
/// mark "\n" is the end of the line or of the text, none at all the end of the text; a bracket at the end of the opening mark is closed by its own kind.
struct Tag {
  std::string name;   ///< the role it plays: thought, reasoning, question, search, answer, sub_answer, queries, score, verdict,
                      ///< choice, preference; in histories also sub_question, own_answer, information, notice
  std::string open;
  std::string close;
};

/// What a reply in the role "score" holds: `count` numbers in [low, high], separated by commas.
struct ScoreForm {
  double low = 0;
  double high = 1;
  std::uint32_t count = 0;
};

/// One purpose of a method's prompts: what it shows and what it wants back.
struct Purpose {
  std::string name;                  ///< "termination", "rollout" ...
  std::vector<std::string> slots;    ///< the slots its template must have, in order
  std::vector<std::string> returns;  ///< names of the tags of which exactly one ends the reply; empty = bare text
  ScoreForm scores{};                 ///< of the role "score", if the purpose returns it
};

/// What a method declares of its prompts. It travels with every prompt; parsers, the simulated model and the report read it.
struct Protocol {
  std::string method;
  std::vector<Purpose> purposes;
  std::vector<Tag> tags;
  std::string document = "Docs {rank}: \"{title}\"\n{text}\n";  ///< one rendered document
  std::vector<std::string> hidden{};                              ///< roles that histories leave out

  /// The purpose of that name, or null.
  [[nodiscard]] const Purpose* purpose(std::string_view name) const {
    for (const auto& p : purposes)
      if (p.name == name) return &p;
    return nullptr;
  }
  /// The tag that plays that role, or null.
  [[nodiscard]] const Tag* tag(std::string_view name) const {
    for (const auto& t : tags)
      if (t.name == name) return &t;
    return nullptr;
  }
};

}  // namespace espalier
