#pragma once

#include <espalier/core/prompt.hpp>
#include <espalier/sim/detail/knowledge.hpp>
#include <espalier/sim/detail/view.hpp>
#include <espalier/sim/skills.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::sim::detail {

/// One request to a model: what it shows, what it wants back, and its random draws.
class Request {
 public:
  Request(const Prompt& prompt, const Knowledge& knowledge, const Skills& skills)
      : knowledge(knowledge),
        skills(skills),
        view(prompt.body()),
        draws(prompt, skills.seed),
        protocol(prompt.body().protocol.get()),
        purpose(protocol ? protocol->purpose(prompt.purpose()) : nullptr),
        question(prompt.slot("question").value_or(view.query.value_or(prompt.text()))),
        chain(knowledge.chain(question)),
        malformed_(draws.happens("malformed", skills.malformed)) {}

  [[nodiscard]] bool wants(std::string_view role) const {
    return purpose && std::find(purpose->returns.begin(), purpose->returns.end(), role) != purpose->returns.end();
  }
  /// True if the role has no marks. It is then the whole reply, and nothing may stand before it.
  [[nodiscard]] bool whole(std::string_view role) const {
    const Protocol::Tag* tag = protocol ? protocol->tag(role) : nullptr;
    return tag && tag->open.empty() && tag->close.empty();
  }
  /// A text in the marks of its role, or bare if there are none.
  [[nodiscard]] std::string tagged(std::string_view role, const std::string& text) const {
    const Protocol::Tag* tag = protocol && !malformed_ ? protocol->tag(role) : nullptr;
    if (!tag) return text;
    const bool line = tag->close == "\n" && !tag->open.ends_with(' ');
    return tag->open + (line ? " " : "") + text + tag->close;
  }
  /// A thought in its marks, if the protocol has them. It is on one line if the marks end with the line.
  [[nodiscard]] std::string thinking(std::string thought) const {
    const Protocol::Tag* tag = protocol->tag("thought");
    if (!tag || whole("thought")) return thought;
    if (tag->close != "\n") return tagged("thought", thought) + "\n";
    while (thought.ends_with('\n')) thought.pop_back();
    for (std::size_t at = 0; (at = thought.find('\n', at)) != std::string::npos;) thought.replace(at, 1, then);
    return tagged("thought", thought);
  }
  /// A thought in its marks and the reply that follows from it.
  [[nodiscard]] std::string reply(const std::string& thought, std::string_view role, const std::string& text) const {
    return whole(role) ? text : thinking(thought) + tagged(role, text);
  }

  const Knowledge& knowledge;
  const Skills& skills;
  const View view;
  const Draws draws;
  const Protocol* const protocol;
  const Protocol::Purpose* const purpose;  ///< null without a protocol
  const std::string_view question;
  const Chain* const chain;  ///< of the question, null if it is not known

 private:
  bool malformed_;
};

}  // namespace espalier::sim::detail
