#pragma once

#include <espalier/version.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

/// What a method declares about its prompts. It travels with each. Parsers, the simulated model and the report read it.
struct Protocol {
  /// An opening and a closing mark in model text, such as `<answer>` and `</answer>`. Special cases:
  /// - no marks: the whole reply,
  /// - closing mark "\n": up to the end of the line or of the text,
  /// - no closing mark: up to the end of the text,
  /// - a bracket at the end of the opening mark: up to the matching closing bracket.
  struct Tag {
    std::string name;  ///< its role: thought, reasoning, question, search, answer, sub_answer, queries, score, verdict,
                       ///< choice, preference. In histories also sub_question, own_answer, information, notice
    std::string open;
    std::string close;
  };

  /// The form of a reply in the role "score": `count` numbers in [low, high], separated by commas.
  struct ScoreForm {
    double low = 0;
    double high = 1;
    std::uint32_t count = 0;
  };

  /// One purpose of a method's prompts: the slots it shows and the tags it returns.
  struct Purpose {
    std::string name;                  ///< "termination", "rollout" ...
    std::vector<std::string> slots;    ///< the slots that its template must have, in order
    std::vector<std::string> returns;  ///< names of tags, exactly one of which ends the reply. Empty = bare text
    ScoreForm scores{};                ///< of the role "score", if the purpose returns it
  };

  std::string method;
  std::vector<Purpose> purposes;
  std::vector<Tag> tags;
  std::string document = "Docs {rank}: \"{title}\"\n{text}\n";  ///< one rendered document
  std::vector<std::string> hidden{};                            ///< roles that are left out of histories

  /// The purpose with this name, or null.
  [[nodiscard]] const Purpose* purpose(std::string_view name) const {
    for (const auto& p : purposes)
      if (p.name == name) return &p;
    return nullptr;
  }
  /// The tag with this role, or null.
  [[nodiscard]] const Tag* tag(std::string_view name) const {
    for (const auto& t : tags)
      if (t.name == name) return &t;
    return nullptr;
  }
  /// True if a reply of the purpose may hold a tag with marks.
  [[nodiscard]] bool marked(std::string_view name) const {
    for (const auto& role : purpose(name)->returns)
      if (!tag(role)->open.empty()) return true;
    return false;
  }
};

}  // namespace espalier
