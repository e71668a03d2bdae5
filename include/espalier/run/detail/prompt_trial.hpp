#pragma once

#include <espalier/method/registry.hpp>
#include <espalier/run/detail/configure.hpp>
#include <espalier/run/detail/services.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// What a model made of one prompt of a method.
struct TriedPrompt {
  std::string purpose;
  bool read = false;
  std::string reply;         ///< how it begins, if it could not be read, else empty
  std::uint64_t cut_at = 0;  ///< the max_tokens that ended such a reply, 0 = it ended by itself
  bool in_thought = false;   ///< that limit ended it inside a thought
  std::string error;         ///< why there was no reply
};

/// A question in the middle of its search.
struct SampleQuestion {
  const char *question, *answer, *query, *step;
  std::array<std::array<const char*, 2>, 2> passages;  ///< titles and texts
};
inline constexpr std::array<SampleQuestion, 4> sample_questions{
    {{"In which country was the author of Don Quixote born?",
      "Spain",
      "author of Don Quixote",
      "Miguel de Cervantes wrote Don Quixote.",
      {{{"Don Quixote", "Don Quixote is a novel by Miguel de Cervantes."},
        {"Miguel de Cervantes", "Miguel de Cervantes was born in Alcala de Henares, in Spain."}}}},
     {"Which sea does the river that flows through Vienna reach?",
      "the Black Sea",
      "river that flows through Vienna",
      "The Danube flows through Vienna.",
      {{{"Vienna", "Vienna is the capital of Austria and lies on the Danube."},
        {"Danube", "The Danube rises in Germany and reaches the Black Sea in Romania."}}}},
     {"Were Marie Curie and Nicolaus Copernicus born in the same country?",
      "yes",
      "birthplace of Marie Curie",
      "Marie Curie was born in Warsaw, in Poland.",
      {{{"Marie Curie", "Marie Curie was a physicist and chemist who was born in Warsaw."},
        {"Nicolaus Copernicus", "Nicolaus Copernicus was born in Torun, which is in Poland today."}}}},
     {"In which year did the architect of the dome of Florence Cathedral die?",
      "1446",
      "architect of the dome of Florence Cathedral",
      "Filippo Brunelleschi built the dome.",
      {{{"Florence Cathedral", "The dome of Florence Cathedral was built by Filippo Brunelleschi."},
        {"Filippo Brunelleschi", "Filippo Brunelleschi was born in 1377 and died in 1446."}}}}}};

/// One of the sample questions, as the prompts of a method show it. Slots of other names hold their name.
inline std::vector<std::pair<std::string, rag::Rendering>> sample_slots(const Protocol::Purpose& purpose,
                                                                        const Protocol& protocol,
                                                                        std::size_t which = 0) {
  using rag::ModelText, rag::Segment, rag::SegmentKind;
  const SampleQuestion& sample = sample_questions[which % sample_questions.size()];
  const auto& [first, second] = sample.passages;
  const Passages found{Passage("d1", first[0], first[1]), Passage("d2", second[0], second[1])};
  const std::string query = sample.query, step = sample.step, answer = sample.answer;
  const rag::Question question{"sample", sample.question};
  rag::State state = rag::State(question)
                         .with(Segment(SegmentKind::thought, ModelText("I need the author first.")))
                         .with(Segment(SegmentKind::query, ModelText(query)))
                         .with(Segment(found));
  if (protocol.tag("sub_answer")) state = state.with(Segment(SegmentKind::sub_answer, ModelText(step)));
  std::vector<std::pair<std::string, rag::Rendering>> slots{
      {"question", rag::render_text(question.text)},
      {"history", rag::render_history(state.transcript(), protocol)},
      {"documents", rag::render_documents(found, protocol)},
      {"query", rag::render_text(query)},
      {"step", rag::render_text(step)},
      {"candidates", rag::render_text("Candidate 1:\n" + step + "\nCandidate 2:\n" + answer + "\n")},
      {"gold", rag::render_text(answer)},
      {"answer", rag::render_text(answer)}};
  for (const std::string& slot : purpose.slots)
    slots.emplace_back(slot, rag::render_text(slot));  // the first of a name wins
  return slots;
}

/// Asks each prompt of the settings' method once, of the model and as the options say. A reply that cannot be read is
/// repaired where a run would do so, and not drawn again. Nothing is kept. `on_turn` is called between steps and may
/// throw. Throws std::invalid_argument for unknown or bad options.
inline std::vector<TriedPrompt> try_prompts(Settings settings, std::function<void()> on_turn = nullptr) {
  settings.set.emplace_back("resample", "0");
  settings.journal.keep = false;
  const auto made = method::make_method(settings.method);
  sim::Skills skills;
  Lexical lexical;
  configure(settings, *made, skills, lexical);
  const rag::PromptSet prompts = made->prompts(settings.prompts);
  Scheduler scheduler;
  if (on_turn) scheduler.on_turn(std::move(on_turn));
  const Services services(scheduler, settings, {}, skills, lexical, RunJournal(settings, {}, ""));
  const rag::Sampler sampler = made->sampler(services.ports, prompts);

  const std::vector<Protocol::Purpose>& purposes = prompts.protocol()->purposes;
  std::vector<Ledger> ledgers(purposes.size());
  std::vector<Task<std::vector<rag::Sampler::Sample>>> draws;
  for (std::size_t i = 0; i < purposes.size(); ++i) {
    auto slots = sample_slots(purposes[i], *prompts.protocol());
    draws.push_back(sampler.draw(purposes[i].name, std::move(slots), 1, Context(Seed(settings.seed), 0, &ledgers[i])));
  }
  const auto replies = scheduler.run_all(std::move(draws));
  std::vector<TriedPrompt> tried;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    TriedPrompt& one = tried.emplace_back();
    one.purpose = purposes[i].name;
    if (!replies[i].ok()) {
      try {
        std::rethrow_exception(replies[i].error());
      } catch (const BackendError& error) {
        one.error = error.what();
      }
      continue;
    }
    one.read = replies[i].value().front().reply.has_value();
    if (one.read) continue;
    const auto unread = ledgers[i].first_unread().find(one.purpose);
    one.reply = unread->second.text;
    one.cut_at = unread->second.cut_at;
    one.in_thought = unread->second.in_thought;
  }
  return tried;
}

}  // namespace espalier::run::detail
