#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/nearest.hpp>
#include <espalier/method/method.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/detail/retrievers.hpp>
#include <espalier/run/index_folder.hpp>
#include <espalier/run/run_record.hpp>
#include <espalier/run/settings.hpp>
#include <espalier/run/settings_table.hpp>
#include <espalier/sim/skills.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::run::detail {

/// Gives a method the preset and the options of the settings. A run's own options are in the same table. Keeps
/// references to all of them. Throws std::invalid_argument for bad options.
inline void configure(Settings& settings, method::Method& method, sim::Skills& skills, Lexical& lexical) {
  check_choices(settings);
  lexical = lexical_of(settings);
  add_run_options(method.options(), settings.model, skills, lexical);
  if (settings.preset == "paper") lexical = {0.9, 0.4, "english-lucene"};
  if (!settings.preset.empty()) method.preset(settings.preset);
  if (!settings.prune.empty()) method.options().set("prune", settings.prune);
  if (!settings.given.prune.empty()) method.options().prune_by(settings.given.prune);
  const std::string constrain = settings.constrain == "always" ? "on" : settings.constrain;
  if (constrain == "on" || constrain == "draft") method.options().set("constrain", constrain);
  for (const auto& [name, value] : settings.set) {
    if (name == "constrain" && constrain != "auto" && value != constrain)
      bad_option(name, value, "what --constrain says");
    if (name == "prune" && !settings.prune.empty() && value != settings.prune)
      bad_option(name, value, "what --prune says");
    method.options().set(name, value);
  }
  if (settings.execution.in_flight == 0) bad_option("in-flight", settings.execution.in_flight, "1 or more");
  (void)backend::detail::server_named(settings.servers.kind);
  (void)Shard(settings.shard);
  check_index(settings, lexical);
  skills.check();
  method.check();
  const std::shared_ptr<const Protocol> protocol = method.prompts().protocol();
  for (const Settings::ModelFor& other : settings.model.others)
    if (!protocol->purpose(other.purpose))
      throw std::invalid_argument(
          fmt::format("option 'model-for': {} has no purpose '{}'{}", settings.method, other.purpose,
                      espalier::detail::did_you_mean(
                          other.purpose, protocol->purposes | std::views::transform(&Protocol::Purpose::name))));
  for (const std::string& endpoint : settings.model.endpoints) {
    const std::string purpose = Settings::purpose_of(endpoint);
    if (settings.model_for(purpose).purpose != purpose)
      throw std::invalid_argument(fmt::format("option 'endpoint': no model was given for the purpose '{}'", purpose));
  }
}

/// Throws std::invalid_argument where a method looks something up and there is nothing to search.
inline void check_searchable(const Settings& settings, const method::Method& method) {
  const bool searches_now = settings.task != Settings::Task::annotate && !settings.journal.replay && method.retrieves();
  if (searches_now && settings.retriever.corpus.empty() && settings.retriever.index.empty() &&
      !is_url(settings.retriever.source) && settings.retriever.source != Settings::GivenBackends::source)
    throw std::invalid_argument(fmt::format(
        "{} searches, and there is nothing to search: name a --corpus, an --index or the URL of a --retriever",
        settings.method));
}

/// The given backends whose names are their fingerprints, so that a replay can do without them: "model, retriever".
inline std::string given_by_name(const Settings::GivenBackends& given) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const auto& [source, model] : given.models)
    if (model.by_name) add("model" + source.substr(std::string_view(Settings::GivenBackends::source).size()));
  if (given.retriever && given.retriever->by_name) add("retriever");
  if (given.encoder && given.encoder->by_name) add("encoder");
  if (given.values && given.values->by_name) add("values");
  if (!given.prune.empty()) add("prune");
  return names;
}

/// Everything that decides the result of a run.
inline RunRecord describe(const Settings& settings, method::Method& method, const rag::PromptSet& prompts) {
  RunRecord record;
  record.add_text("task", settings.task != Settings::Task::answer ? "expand" : "answer");
  record.add_text("method", settings.method);
  record.add("seed", std::to_string(settings.seed));
  record.add("limit", std::to_string(settings.limit));
  record.add_text("shard", settings.shard);
  Hasher texts;
  for (const auto& [purpose, text] : prompts.texts()) texts.add(purpose).add(text);
  record.add_text("inputs.questions", hash_file(settings.questions).hex());
  record.add_text("inputs.corpus", settings.retriever.corpus.empty() ? "" : hash_file(settings.retriever.corpus).hex());
  if (!settings.retriever.index.empty())
    record.add_text("inputs.index",
                    IndexFolder(settings.retriever.index)
                        .hash(settings.retriever.source == "dense" || settings.retriever.source == "hybrid"));
  if (const std::string file = faiss_file(settings); !file.empty())
    record.add_text("inputs.retriever", hash_file(file).hex());
  record.add_text("inputs.prompts", texts.finish().hex());
  record.add_text("inputs.value_head", settings.values.head().empty() ? "" : hash_file(settings.values.head()).hex());
  record.add_text("model.name", settings.model.url == "simulated" ? "simulated" : settings.model.name);
  record.add_text("model.revision", settings.model.revision);
  record.add_text("model.api", settings.model.api);
  record.add_text("model.extra_body", settings.model.extra_body);
  std::string others;
  for (const Settings::ModelFor& other : settings.model.others)
    others +=
        (others.empty() ? "" : ", ") + other.purpose + "=" + (other.model == "simulated" ? other.model : other.name);
  record.add_text("model.for", others);
  record.add_text("retriever.kind", is_url(settings.retriever.source) ? "remote" : settings.retriever.source);
  record.add_text("retriever.name", settings.retriever.name);
  record.add_text("retriever.reranker", settings.retriever.reranker.empty() ? "" : settings.retriever.reranker_name);
  record.add("retriever.rerank_depth",
             settings.retriever.reranker.empty() ? "0" : std::to_string(settings.retriever.rerank_depth));
  record.add_text("encoder.name", settings.encoder.name);
  record.add_text("encoder.profile", settings.encoder.profile);
  record.add_text("value.name", settings.values.served() ? settings.values.name : "");
  for (const auto& option : method.options().help()) record.add("options." + option[0], option[1]);
  const std::pair<const char*, const std::string&> files[] = {{"questions", settings.questions},
                                                              {"corpus", settings.retriever.corpus},
                                                              {"index", settings.retriever.index},
                                                              {"prompts", settings.prompts},
                                                              {"journal", settings.journal.file}};
  for (const auto& [name, file] : files)
    record.note(name, file.empty() ? file : std::filesystem::absolute(file).lexically_normal().string());
  if (const std::string named = given_by_name(settings.given); !named.empty()) record.note("given", named);
  return record;
}

}  // namespace espalier::run::detail
