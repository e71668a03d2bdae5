#pragma once

#include <espalier/rag/parse.hpp>
#include <espalier/rag/prompt_set.hpp>
#include <espalier/rag/render.hpp>
#include <espalier/rag/transcript.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::testing {

using Slot = std::pair<std::string, rag::Rendering>;

inline Slot slot(const std::string& name, const std::string& text) { return {name, rag::render_text(text)}; }
inline Slot question(const std::string& text) { return slot("question", text); }
inline Slot list(const std::vector<std::string>& candidates) {
  rag::Rendering out;
  for (const auto& candidate : candidates) {
    out.text += "- ";
    out.add("candidate", candidate);
    out.text += "\n";
  }
  return {"candidates", std::move(out)};
}

inline rag::Transcript said(const rag::Transcript& history, rag::SegmentKind kind, const std::string& text) {
  return history.append(rag::Segment(kind, rag::ModelText(text)));
}
inline rag::Transcript shown(const rag::Transcript& history, const Passages& documents) {
  return history.append(rag::Segment(documents));
}

/// Perfect skills, with this share of all facts in memory.
inline sim::Skills perfect(double recall) {
  sim::Skills skills{.recall = recall};
  skills.decompose = skills.phrase = skills.read = skills.stop = skills.judge = 1;
  skills.hallucinate = skills.malformed = 0;
  return skills;
}
/// A question of two steps, beside which others are asked.
inline rag::Example other() {
  return {{"m2", "Who is the spouse of the performer of Give Up the Ghost?"},
          {"Catherine Shepherd"},
          {{"Give Up the Ghost >> performer", "Brandi Carlile", "Give Up the Ghost (album)", ""},
           {"#1 >> spouse", "Catherine Shepherd", "Brandi Carlile", ""}},
          {},
          2,
          "2hop"};
}
/// The supporting passages whose titles a query names, as a retriever would find them.
inline Passages retrieved(const sim::World& world, const rag::Example& e, const std::string& query) {
  Passages found;
  const auto asked = sim::detail::content(query);
  for (const auto& step : e.chain) {
    const auto title = sim::detail::content(step.support_title);
    if (std::includes(asked.begin(), asked.end(), title.begin(), title.end()))
      found.push_back(world.passage(std::stoul(step.support_id.substr(2))));
  }
  return found;
}

/// A simulated model that is spoken to in one protocol, through the library's own rendering and parsing.
class Speaker {
 public:
  Speaker(sim::Model model, const Protocol& protocol) : model_(std::move(model)), prompts_(make(protocol)) {}

  [[nodiscard]] Slot history(const rag::Transcript& transcript) const {
    return {"history", rag::render_history(transcript, *prompts_.protocol())};
  }
  [[nodiscard]] Slot documents(const Passages& passages) const {
    return {"documents", rag::render_documents(passages, *prompts_.protocol())};
  }

  [[nodiscard]] Prompt prompt(const std::string& purpose, const std::vector<Slot>& slots, Sampling sampling = {},
                              std::uint64_t seed = 0) const {
    return Prompt(prompts_.render(purpose, slots, std::move(sampling)), seed, 0);
  }
  [[nodiscard]] Completion complete(const std::string& purpose, const std::vector<Slot>& slots, Sampling sampling = {},
                                    std::uint64_t seed = 0) const {
    return model_(std::vector{prompt(purpose, slots, std::move(sampling), seed)}).front();
  }
  /// The reply as a method reads it; fails the test if it cannot be read.
  [[nodiscard]] rag::Reply ask(const std::string& purpose, const std::vector<Slot>& slots, Sampling sampling = {},
                               std::uint64_t seed = 0) const {
    const Completion reply = complete(purpose, slots, std::move(sampling), seed);
    const auto read =
        rag::parse(rag::ModelText(reply.text), *prompts_.protocol(), *prompts_.protocol()->purpose(purpose));
    CAPTURE(reply.text);
    REQUIRE(read);
    return *read;
  }
  [[nodiscard]] const sim::Model& model() const { return model_; }

 private:
  /// Prompts that hold their name and their slots.
  static rag::PromptSet make(const Protocol& protocol) {
    rag::PromptSet::Texts texts;
    for (const Protocol::Purpose& purpose : protocol.purposes) {
      std::string& text = texts[purpose.name] = "Do this: " + purpose.name + "\n";
      for (const auto& name : purpose.slots) text += "{" + name + "}\n";
    }
    return {std::make_shared<const Protocol>(protocol), std::move(texts)};
  }
  sim::Model model_;
  rag::PromptSet prompts_;
};

}  // namespace espalier::testing
