#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/core/nearest.hpp>
#include <espalier/method/method.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/detail/index_folder.hpp>
#include <espalier/run/detail/settings_table.hpp>
#include <espalier/run/detail/shard.hpp>
#include <espalier/sim/skills.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>

namespace espalier::run::detail {

/// Gives a method the preset and the options of the settings. The simulated model's skills and the lexical index's
/// parameters are in the same table. Keeps references to both. Throws std::invalid_argument for unknown or bad options.
inline void configure(const Settings& settings, method::Method& method, sim::Skills& skills, Lexical& lexical) {
  check_choices(settings);
  lexical = lexical_of(settings);
  const std::pair<const char*, double*> rates[] = {
      {"sim.recall", &skills.recall},       {"sim.decompose", &skills.decompose},
      {"sim.phrase", &skills.phrase},       {"sim.read", &skills.read},
      {"sim.stop", &skills.stop},           {"sim.hallucinate", &skills.hallucinate},
      {"sim.malformed", &skills.malformed}, {"sim.judge", &skills.judge}};
  for (const auto& [name, rate] : rates)
    method.options().add(name, *rate, "a rate of the simulated model", method::Range::between(0, 1));
  method.options()
      .add("bm25.k1", lexical.k1, "saturation of repeated words", method::Range::at_least(0))
      .add("bm25.b", lexical.b, "weight of a passage's length", method::Range::between(0, 1))
      .add("bm25.analyzer", lexical.analyzer, "what a word is", "simple, english-lucene");
  if (settings.preset == "paper") lexical = {0.9, 0.4, "english-lucene"};
  if (!settings.preset.empty()) method.preset(settings.preset);
  if (settings.protocol != "tags") method.options().set("protocol", settings.protocol);
  const std::string constrain = settings.constrain == "always" ? "on" : settings.constrain;
  if (constrain == "on" || constrain == "draft") method.options().set("constrain", constrain);
  for (const auto& [name, value] : settings.set) {
    if (name == "protocol" && settings.protocol != "tags" && value != settings.protocol)
      bad_option(name, value, "what --protocol says");
    if (name == "constrain" && constrain != "auto" && value != constrain)
      bad_option(name, value, "what --constrain says");
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
    const auto has_it = [&](const Settings::ModelFor& other) { return other.purpose == purpose; };
    if (!purpose.empty() && std::none_of(settings.model.others.begin(), settings.model.others.end(), has_it))
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

}  // namespace espalier::run::detail
