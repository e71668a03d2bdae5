#pragma once

#include <espalier/core/error.hpp>
#include <espalier/rag/prompt_set.hpp>
#include <espalier/rag/render.hpp>
#include <espalier/rag/state.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What prompts are made of, worked examples for them in our own words, and prompts and replies of training rows.
namespace espalier::method::detail {

using Slots = rag::PromptSet::Slots;

/// A tag and its marks, as in Protocol::Tag.
struct Mark {
  const char *role, *open, *close;
};

/// The form of a prompt, and what it asks. Constant data costs the compiler no code.
struct PromptTemplate {
  struct Form {
    const char* purpose;
    const char* returns[3];  ///< roles of tags
    struct {
      const char *heading, *slot;  ///< the slot stands below the heading
    } parts[4];                    ///< what is shown
    const char* reply;             ///< the heading below which the model writes
    Protocol::ScoreForm scores{};
  } form;
  const char* task;
};

/// Prompts with the marks of their tags and the slots that they show. `document`: one rendered, null = the Protocol's.
inline rag::PromptSet prompt_set(const char* method, std::span<const Mark> marks,
                                 std::span<const PromptTemplate> templates, const char* document = nullptr,
                                 std::vector<std::string> hidden = {}) {
  // Histories, documents, candidates and chains bring a line end of their own.
  const auto ended = [](std::string_view slot) {
    return slot == "history" || slot == "documents" || slot == "candidates" || slot == "gold_chain";
  };
  Protocol protocol;
  protocol.method = method;
  protocol.hidden = std::move(hidden);
  if (document != nullptr) protocol.document = document;
  for (const auto& [role, open, close] : marks) protocol.tags.push_back({role, open, close});
  rag::PromptSet::Texts texts;
  for (const auto& [form, task] : templates) {
    std::string text = std::string(task) + "\n\n";
    for (const auto& [heading, slot] : form.parts)
      if (heading != nullptr) text += std::string("### ") + heading + "\n{" + slot + (ended(slot) ? "}\n" : "}\n\n");
    text += std::string("### ") + form.reply + '\n';
    Protocol::Purpose& purpose = protocol.purposes.emplace_back();
    purpose.name = form.purpose;
    purpose.scores = form.scores;
    for (const char* role : form.returns)
      if (role != nullptr) purpose.returns.emplace_back(role);
    rag::detail::fill(texts[purpose.name], text, [&](std::string_view slot) {
      purpose.slots.emplace_back(slot);
      return false;
    });
  }
  return {std::move(protocol), std::move(texts)};
}

/// A question that was solved in two steps.
struct Demonstration {
  struct Step {
    std::string question, finding;
    std::string answer{}, need{}, query{};  ///< as a short text, why it is asked, and how a search engine is asked
    std::string title{}, text{};            ///< the passage that settles it
  };
  std::string question;
  std::array<Step, 2> steps;
  std::string answer, conclusion{};
};

/// Two that are told in full, and two whose questions and findings alone are shown.
inline std::array<Demonstration, 4> demonstrations() {
  return {{
      {"In which country does the river that flows through Vienna reach the sea?",
       {{{"Which river flows through Vienna?", "The Danube flows through Vienna.", "the Danube",
          "I need the river that flows through Vienna first.", "river that flows through Vienna", "Vienna",
          "Vienna is the capital of Austria. It lies on the Danube."},
         {"In which country does the Danube reach the sea?", "The Danube reaches the Black Sea in Romania.", "Romania",
          "The river is the Danube. Now I need the country in which it reaches the sea.",
          "country of the Danube's mouth", "Danube",
          "The Danube flows into the Black Sea. Its delta lies in Romania for the most part."}}},
       "Romania",
       "The river is the Danube, and it reaches the sea in Romania."},
      {"Who was born earlier, Johannes Kepler or Isaac Newton?",
       {{{"When was Johannes Kepler born?", "Johannes Kepler was born in 1571.", "1571",
          "I need the year of Kepler's birth first.", "year of birth of Johannes Kepler", "Johannes Kepler",
          "Johannes Kepler, born in 1571, was a German astronomer."},
         {"When was Isaac Newton born?", "Isaac Newton was born in 1643.", "1643",
          "Kepler was born in 1571. Now I need the year of Newton's birth.", "year of birth of Isaac Newton",
          "Isaac Newton", "Isaac Newton, born in 1643, was an English mathematician."}}},
       "Johannes Kepler",
       "Kepler was born in 1571 and Newton in 1643, so Kepler was born earlier."},
      {"What is the capital of the country in which Mount Kenya lies?",
       {{{"In which country does Mount Kenya lie?", "Mount Kenya lies in Kenya."},
         {"What is the capital of Kenya?", "The capital of Kenya is Nairobi."}}},
       "Nairobi"},
      {"Are the Baltic Sea and the Sea of Japan parts of the same ocean?",
       {{{"Of which ocean is the Baltic Sea a part?", "The Baltic Sea is a part of the Atlantic Ocean."},
         {"Of which ocean is the Sea of Japan a part?", "The Sea of Japan is a part of the Pacific Ocean."}}},
       "no"},
  }};
}

/// A worked example: the texts that its prompt holds, and the reply. Both end with a line end.
struct WorkedExample {
  std::string shown, reply;
};
/// Those of each purpose.
using Examples = std::map<std::string, std::vector<WorkedExample>, std::less<>>;

/// The same prompts with the first `shots` examples of each purpose before its first heading. A prompt that has a
/// heading for examples stays. Throws InputError for one without any heading.
inline rag::PromptSet demonstrated(const rag::PromptSet& prompts, const Examples& examples, std::size_t shots) {
  rag::PromptSet::Texts texts = prompts.texts();
  for (const auto& [purpose, own] : examples) {
    std::string& text = texts.at(purpose);
    if (text.find("### Examples") != text.npos) continue;
    const std::size_t heading = ('\n' + text).find("\n### ");
    if (heading == text.npos)
      throw InputError(purpose + ".txt", 0, "",
                       "has no heading (### ...) before which the examples of the option 'shots' can stand: add one, "
                       "such as ### Question, or leave shots out");
    std::string shown = "### Examples\n";
    for (std::size_t i = 0; i < std::min(shots, own.size()); ++i) shown += own[i].shown + own[i].reply + '\n';
    text.insert(heading, shown);
  }
  return {prompts.protocol(), std::move(texts)};
}

/// A text in the marks of a tag such as `<answer>`.
inline std::string tagged(const std::string& tag, const std::string& text) {
  return "<" + tag + "> " + text + " </" + tag + ">";
}

/// Writes examples in the form of a method's prompts: what its slots hold, each under its heading, and then the reply.
class ExampleWriter {
 public:
  using Kinds = std::vector<rag::SegmentKind>;

  /// `kinds`: the segments that a step of the method leaves in its history, in order.
  ExampleWriter(const rag::PromptSet& prompts, Kinds kinds) : prompts_(tails(prompts)), kinds_(std::move(kinds)) {}

  /// Adds an example for each of these purposes: a demonstration after `steps` of its steps. `open`: segments of the
  /// next step that stand in the history already. `more` replaces slots of the same name.
  void add(std::initializer_list<const char*> purposes, const Demonstration& shown, std::size_t steps,
           const std::string& reply, Slots more = Slots(), const Kinds& open = Kinds()) {
    rag::Transcript history;
    for (std::size_t i = 0; i < steps; ++i) append(history, shown.steps[i], kinds_);
    if (!open.empty()) append(history, shown.steps[steps], open);
    const Demonstration::Step& next = shown.steps[std::min<std::size_t>(steps, 1)];
    Slots slots = std::move(more);  // the first of a name is shown
    slots.emplace_back("question", rag::render_text(shown.question));
    slots.emplace_back("history", rag::render_history(history, *prompts_.protocol()));
    slots.emplace_back("query", rag::render_text(next.query));
    slots.emplace_back("documents", rag::render_documents(passages(next), *prompts_.protocol()));
    slots.emplace_back("gold", rag::render_text(shown.answer));
    slots.emplace_back("answer", rag::render_text(shown.answer));
    for (const char* purpose : purposes) {
      std::string text = prompts_.render(purpose, slots, Sampling())->shown();
      for (std::size_t at = 0; (at = text.find("\n### ", at)) != text.npos;) {
        text.erase(at + 1, 4);
        text.insert(text.find('\n', at + 1), ":");
      }
      examples[purpose].push_back({text.substr(1), reply + '\n'});
    }
  }
  /// A text of our own as a slot's value, with its marks.
  static rag::Rendering plain(std::string text) {
    rag::Rendering out;
    out.text = std::move(text);
    return out;
  }

  Examples examples;

 private:
  /// The prompts without what stands before their first heading.
  static rag::PromptSet tails(const rag::PromptSet& prompts) {
    rag::PromptSet::Texts texts = prompts.texts();
    for (auto& [purpose, text] : texts) text.erase(0, std::min(text.find("\n### "), text.size()));
    return {prompts.protocol(), std::move(texts)};
  }
  static Passages passages(const Demonstration::Step& step) { return {Passage("", step.title, step.text)}; }
  static void append(rag::Transcript& history, const Demonstration::Step& step, const Kinds& kinds) {
    using rag::SegmentKind;
    for (const SegmentKind kind : kinds) {
      if (kind == SegmentKind::documents) {
        history = history.append(rag::Segment(passages(step)));
        continue;
      }
      const std::string& words = kind == SegmentKind::thought        ? step.need
                                 : kind == SegmentKind::sub_question ? step.question
                                 : kind == SegmentKind::query        ? step.query
                                                                     : step.finding;
      history = history.append(rag::Segment(kind, rag::ModelText(words)));
    }
  }

  rag::PromptSet prompts_;
  Kinds kinds_;
};

inline Slots history_slots(const rag::Question& question, const rag::Transcript& history, const Protocol& protocol) {
  return {{"question", rag::render_text(question.text)}, {"history", rag::render_history(history, protocol)}};
}

inline std::string prompt_text(const rag::PromptSet& prompts, const std::string& purpose, const Slots& slots) {
  return prompts.render(purpose, slots, {})->messages.back().content;
}

/// A step as the reply to its prompt: the thought on lines of its own, then the text in the marks of its kind. Reading
/// it back gives the same step. All text is neutralised.
inline std::string reply_text(const Protocol& protocol, const rag::Action& action) {
  const Protocol::Tag& tag = *protocol.tag(rag::detail::role(action.kind));
  const std::string thought = action.thought.empty() ? "" : rag::detail::neutralise(action.thought) + '\n';
  return thought + tag.open + ' ' + rag::detail::neutralise(action.text) + ' ' + tag.close;
}

}  // namespace espalier::method::detail
