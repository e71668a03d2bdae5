#pragma once

#include <espalier/method/registry.hpp>
#include <espalier/run/detail/configure.hpp>
#include <espalier/run/detail/services.hpp>
#ifdef ESPALIER_HAS_CURL
#include <espalier/backend/chat/openai_request.hpp>
#include <espalier/run/detail/known_servers.hpp>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// A prompt of a method that is tried, and what came of it.
struct TriedPrompt {
  Protocol::Purpose purpose;
  Ledger ledger = Ledger();
  bool read = false;                                   ///< whether the last reply could be read
  std::optional<BackendError> failure = std::nullopt;  ///< why there was none
};

/// A question in the middle of its search, and the two passages that settle it.
struct SampleQuestion {
  const char *question, *answer, *query, *step, *title, *text, *next_title, *next_text;
};
inline constexpr std::array<SampleQuestion, 4> sample_questions{
    {{"In which country was the author of Don Quixote born?", "Spain", "author of Don Quixote",
      "Miguel de Cervantes wrote Don Quixote.", "Don Quixote", "Don Quixote is a novel by Miguel de Cervantes.",
      "Miguel de Cervantes", "Miguel de Cervantes was born in Alcala de Henares, in Spain."},
     {"Which sea does the river that flows through Vienna reach?", "the Black Sea", "river that flows through Vienna",
      "The Danube flows through Vienna.", "Vienna", "Vienna is the capital of Austria and lies on the Danube.",
      "Danube", "The Danube rises in Germany and reaches the Black Sea in Romania."},
     {"Were Marie Curie and Nicolaus Copernicus born in the same country?", "yes", "birthplace of Marie Curie",
      "Marie Curie was born in Warsaw, in Poland.", "Marie Curie",
      "Marie Curie was a physicist and chemist who was born in Warsaw.", "Nicolaus Copernicus",
      "Nicolaus Copernicus was born in Torun, which is in Poland today."},
     {"In which year did the architect of the dome of Florence Cathedral die?", "1446",
      "architect of the dome of Florence Cathedral", "Filippo Brunelleschi built the dome.", "Florence Cathedral",
      "The dome of Florence Cathedral was built by Filippo Brunelleschi.", "Filippo Brunelleschi",
      "Filippo Brunelleschi was born in 1377 and died in 1446."}}};

/// One of the sample questions, as the prompts of a method show it. Slots of other names hold their name.
inline rag::PromptSet::Slots sample_slots(const Protocol::Purpose& purpose, const Protocol& protocol,
                                          std::size_t which = 0) {
  using rag::ModelText, rag::Segment, rag::SegmentKind;
  const SampleQuestion& sample = sample_questions[which % sample_questions.size()];
  const Passages found{Passage("d1", sample.title, sample.text), Passage("d2", sample.next_title, sample.next_text)};
  const std::string query = sample.query, step = sample.step, answer = sample.answer;
  const rag::Question question{"sample", sample.question};
  rag::State state = rag::State(question)
                         .with(Segment(SegmentKind::thought, ModelText("I need the author first.")))
                         .with(Segment(SegmentKind::query, ModelText(query)))
                         .with(Segment(found));
  if (protocol.tag("sub_answer")) state = state.with(Segment(SegmentKind::sub_answer, ModelText(step)));
  rag::PromptSet::Slots slots{
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

/// Asks each prompt about the sample questions `first` to `last` - 1. Throws a failure that is not the model's.
inline void try_prompts(const std::vector<TriedPrompt*>& prompts, Scheduler& scheduler, const rag::Sampler& sampler,
                        const Protocol& protocol, Seed seed, std::uint32_t first = 0, std::uint32_t last = 1) {
  std::vector<Task<std::vector<rag::Sampler::Sample>>> draws;
  for (TriedPrompt* one : prompts)
    for (std::uint32_t n = first; n < last; ++n)
      draws.push_back(
          sampler.draw(one->purpose.name, sample_slots(one->purpose, protocol, n), 1, Context(seed, n, &one->ledger)));
  const auto replies = scheduler.run_all(std::move(draws));
  for (std::size_t i = 0; i < replies.size(); ++i) {
    TriedPrompt& one = *prompts[i / (last - first)];
    try {
      one.read = replies[i].value().front().reply.has_value();
    } catch (const BackendError& failure) {
      one.failure = failure;
    }
  }
}

/// The ports of a trial. port(model) makes those of the models, and nothing is looked up.
method::Ports trial_ports(Scheduler& scheduler, const Settings& settings, auto port) {
  const auto no_passages = [](std::span<const Query> asked) { return std::vector<Passages>(asked.size()); };
  method::Ports ports(port(settings.models().front()), scheduler.retriever(no_passages));
  for (const auto& other : settings.model.others) ports.models.insert_or_assign(other.purpose, port(other));
  return ports;
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
  std::vector<TriedPrompt> tried;
  for (const Protocol::Purpose& purpose : prompts.protocol()->purposes) tried.push_back({purpose});
  std::vector<TriedPrompt*> all;
  for (TriedPrompt& one : tried) all.push_back(&one);
  try_prompts(all, scheduler, made->sampler(services.ports, prompts), *prompts.protocol(), Seed(settings.seed));
  return tried;
}

#ifdef ESPALIER_HAS_CURL

/// A model that writes each prompt as a request and sends none. Throws BackendError where its server cannot be asked.
class WrittenOnly {
 public:
  /// The settings must outlive it. With a `turn` a server of an unknown kind is asked for it, if need be.
  WrittenOnly(const Settings& settings, std::string url, std::function<void()> turn)
      : settings_(settings), url_(std::move(url)), turn_(std::move(turn)) {}

  std::vector<std::string> operator()(std::span<const Prompt> prompts) {
    for (std::size_t i = 0; i < prompts.size() && is_model_server(url_); ++i) write(prompts.subspan(i, 1));
    return std::vector<std::string>(prompts.size());
  }

 private:
  void write(std::span<const Prompt> prompt) {
    if (!server_) server_ = known_server(url_, settings_);
    try {
      return write(prompt, server_.value_or(backend::Server::other));
    } catch (const BackendError&) {
      if (server_) throw;
    }
    if (turn_) server_ = server_at(url_, settings_, turn_);
    if (server_) write(prompt, *server_);
  }
  void write(std::span<const Prompt> prompt, backend::Server server) const {
    backend::detail::OpenAiRequest request("-", settings_.model.api == "chat", settings_.model.extra_body,
                                           settings_.servers.stream, settings_.model.thinking);
    (void)request.write(prompt, backend::detail::dialect_of(server));
  }

  const Settings& settings_;
  std::string url_;
  std::function<void()> turn_;
  std::optional<backend::Server> server_;
};

/// Throws std::invalid_argument if a prompt that the task can ask cannot be sent to its server, such as one with a
/// grammar. All questions would stay open. `turn` is called while a server is asked what it is. null = none is asked.
inline void check_servers(const Settings& settings, const method::Method& method,
                          const std::function<void()>& turn = nullptr) {
  const auto asks = [](const Settings::ModelFor& one) { return is_model_server(one.model); };
  if (std::ranges::none_of(settings.models(), asks)) return;
  if (settings.task == Settings::Task::annotate || settings.journal.replay) return;
  Scheduler scheduler;
  const method::Ports ports = trial_ports(scheduler, settings, [&](const Settings::ModelFor& one) {
    return scheduler.model(WrittenOnly(settings, one.model, turn));
  });
  const rag::PromptSet prompts = method.prompts();
  const rag::Sampler sampler = method.sampler(ports, prompts).drawing_once();
  for (const Protocol::Purpose& purpose : prompts.protocol()->purposes) {
    if (!method.asks(purpose.name, settings.task == Settings::Task::answer)) continue;
    TriedPrompt tried{purpose};
    try_prompts({&tried}, scheduler, sampler, *prompts.protocol(), Seed(1));
    if (tried.failure)
      throw std::invalid_argument(
          fmt::format("{} cannot ask its prompt '{}': {}", settings.method, purpose.name, tried.failure->what()));
  }
}

#else

/// Without a client no server is asked.
inline void check_servers(const Settings&, const method::Method&, const std::function<void()>& = nullptr) {}

#endif

}  // namespace espalier::run::detail
