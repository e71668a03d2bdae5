#pragma once

#include <espalier/run/index_folder.hpp>
#include <espalier/run/method.hpp>
#include <espalier/run/settings.hpp>
#include <espalier/sim/skills.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace espalier::run {

/// Gives a method the preset and the options of the settings, and with it the simulated model's skills and the lexical
/// index's parameters, which stand in the same table. Keeps references to both. Throws std::invalid_argument for unknown or bad options.
inline void configure(const Settings& settings, Method& method, sim::Skills& skills, Lexical& lexical) {
  lexical = lexical_of(settings);
  const std::pair<const char*, double*> rates[] = {{"sim.recall", &skills.recall}, {"sim.decompose", &skills.decompose},
                                                   {"sim.phrase", &skills.phrase}, {"sim.read", &skills.read},
                                                   {"sim.stop", &skills.stop},     {"sim.hallucinate", &skills.hallucinate},
                                                   {"sim.malformed", &skills.malformed}, {"sim.judge", &skills.judge}};
  for (const auto& [name, rate] : rates) method.options().add(name, *rate, "a rate of the simulated model", "0 to 1");
  method.options()
      .add("bm25.k1", lexical.k1, "saturation of repeated words", "0 or more")
      .add("bm25.b", lexical.b, "weight of a passage's length", "0 to 1")
      .add("bm25.analyzer", lexical.analyzer, "what a word is", "simple, english-lucene");
  if (settings.preset == "paper") lexical = {0.9, 0.4, "english-lucene"};
  if (!settings.preset.empty()) method.preset(settings.preset);
  for (const auto& [name, value] : settings.set) method.options().set(name, value);
  if (settings.in_flight == 0) bad_option("in-flight", settings.in_flight, "1 or more");
  check_index(settings, lexical);
  skills.check();
  method.check();
  for (const ModelFor& other : settings.models)
    if (!method.prompts().protocol()->purpose(other.purpose))
      throw std::invalid_argument("option 'model-for': " + settings.method + " has no purpose '" + other.purpose + "'");
  for (const std::string& endpoint : settings.endpoints) {
    const std::string purpose = Settings::purpose_of(endpoint);
    const auto has_it = [&](const ModelFor& other) { return other.purpose == purpose; };
    if (!purpose.empty() && std::none_of(settings.models.begin(), settings.models.end(), has_it))
      throw std::invalid_argument("option 'endpoint': no model was given for the purpose '" + purpose + "'");
  }
}

}  // namespace espalier::run
