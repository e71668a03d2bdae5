#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier {

/// An opening and a closing mark in model text, such as <answer> and </answer>.
struct Tag {
  std::string name;   ///< the role it plays: "answer", "question", "search", "thought", "information"
  std::string open;
  std::string close;
};

/// One purpose of a method's prompts: what it shows and what it wants back.
struct Purpose {
  std::string name;                  ///< "termination", "rollout" ...
  std::vector<std::string> slots;    ///< the slots its template must have, in order
  std::vector<std::string> returns;  ///< names of the tags of which exactly one ends the reply; empty = bare text
};

/// What a method declares of its prompts. It travels with every prompt; parsers, the simulated model and the report read it.
struct Protocol {
  std::string method;
  std::vector<Purpose> purposes;
  std::vector<Tag> tags;

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
