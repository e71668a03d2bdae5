#pragma once

#include <espalier/method/method.hpp>
#include <espalier/output/flat_json.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/detail/services.hpp>
#include <espalier/run/prompt_trial.hpp>
#include <espalier/run/settings.hpp>
#ifdef ESPALIER_HAS_CURL
#include <espalier/run/detail/known_servers.hpp>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// The probes of `constrain = auto`, by purpose. They belong to no question.
using Probes = std::map<std::string, Ledger::Costs>;

inline std::string probes_text(const Probes& probes) {
  std::string out;
  for (const auto& [purpose, costs] : probes)
    out += fmt::format("{}{} {} {} {} {}", out.empty() ? "" : " ", purpose, costs.completions, costs.unread,
                       costs.prompt_tokens, costs.completion_tokens);
  return out;
}
/// As probes_text() wrote them.
inline Probes read_probes(const std::string& text) {
  Probes probes;
  std::istringstream in(text);
  std::string purpose;
  Ledger::Costs costs;
  while (in >> purpose >> costs.completions >> costs.unread >> costs.prompt_tokens >> costs.completion_tokens)
    probes[purpose] = costs;
  return probes;
}

struct Probed : TriedPrompt {
  static constexpr std::uint32_t count = 8;    ///< probes at most
  static constexpr std::uint32_t at_once = 2;  ///< probes side by side. None follows that cannot change the decision

  explicit Probed(const Protocol::Purpose& purpose) : TriedPrompt{purpose} {}
  /// True if at least 0.95 of all probes can be read when all further ones can.
  [[nodiscard]] bool can_be_free() const { return static_cast<double>(ledger.total().unread) <= 0.05 * count; }

  bool constrained = false;  ///< too few free replies can be read, and one more was asked under the grammar
};

/// turn(number of probes that were answered).
using Turn = std::function<void(std::uint64_t)>;

/// Asks the probes of purposes that nobody has decided. Throws a failure that is not the model's.
inline std::vector<Probed> ask_probes(const std::vector<Protocol::Purpose>& purposes, Scheduler& scheduler,
                                      const method::Ports& ports, method::Method& method, const rag::PromptSet& prompts,
                                      const Turn& turn) {
  std::vector<Probed> all;
  for (const Protocol::Purpose& purpose : purposes) all.emplace_back(purpose);
  const auto tell = [&] {
    std::uint64_t done = 0;
    for (const Probed& one : all) done += one.ledger.total().completions;
    turn(done);
  };
  scheduler.on_turn(tell);
  const auto draw = [&](const rag::Sampler& sampler, bool free, std::uint32_t first, std::uint32_t last) {
    std::vector<TriedPrompt*> some;
    for (Probed& one : all)
      if (!one.failure && one.can_be_free() == free) some.push_back(&one);
    try_prompts(some, scheduler, sampler, *prompts.protocol(), Seed(1), first, last);
    tell();
  };
  const rag::Sampler free = method.sampler(ports, prompts).drawing_once();
  for (std::uint32_t asked = 0; asked < Probed::count; asked += Probed::at_once)
    draw(free, true, asked, asked + Probed::at_once);
  method.options().set("constrain", "on");  // holds for purposes without a decision
  const rag::Sampler constrained = method.sampler(ports, prompts).drawing_once();
  method.options().set("constrain", "off");
  for (Probed& one : all) one.constrained = !one.failure && !one.can_be_free();
  draw(constrained, false, 0, 1);
  return all;
}

/// Decides for each purpose that the task can ask whether its replies are held to their grammar, and sets the purpose's
/// option (docs page "prompts"). An earlier decision is kept. An undecided purpose is free, for good if this start's
/// questions got replies. Else a later start decides.
class ConstrainDecision {
 public:
  /// Takes over the decisions of an earlier start from the folder. The settings, the method and the prompts must
  /// outlive it. Throws std::invalid_argument for a shard, since each would decide for itself.
  ConstrainDecision(const Settings& settings, method::Method& method, const rag::PromptSet& prompts,
                    std::filesystem::path folder)
      : settings_(settings), method_(method), prompts_(prompts), folder_(std::move(folder)) {
    const auto chosen = [&](const std::string& option) {
      return std::ranges::count(settings.set, option, [](const auto& one) { return one.first; }) > 0;
    };
    const std::pair<std::string, std::string> tools{"protocol", "tools"};
    if (settings.constrain != "auto" || chosen("constrain") || std::ranges::count(settings.set, tools) > 0) return;
    std::map<std::string, std::string> before;
    if (const auto file = folder_ / "run.json"; std::filesystem::exists(file) && !settings.output.overwrite)
      before = output::detail::read_flat_json(file.string());
    probes = read_probes(unquoted(before["noted.probes"]));
    for (const Protocol::Purpose& purpose : prompts.protocol()->purposes) {
      const std::string option = option_of(purpose.name);
      if (chosen(option) || take(before, option)) continue;
      if (settings.task != Settings::Task::annotate &&
          method.asks(purpose.name, settings.task == Settings::Task::answer))
        undecided_.push_back(purpose);
    }
    const bool asks =
        std::ranges::any_of(undecided_, [&](const auto& one) { return may_take(settings.model_for(one.name)); });
    if (asks && !settings.shard.empty())
      bad_option("constrain", settings.constrain, "off, always or draft beside a shard, which would decide for itself");
  }

  /// Decides the rest. `turn` is called at least every 50 ms and may throw. Returns true if it decided any.
  bool probe(const Turn& turn) {
    if (!undecided_.empty())  // throws for bad options before a server is asked
      for (const Settings::ModelFor& one : settings_.models())
        if (!settings_.given.models.contains(one.model)) (void)make_model(one, settings_, {}, {});
    std::vector<Protocol::Purpose> asked, left;
    for (const Protocol::Purpose& purpose : undecided_) {
      const std::optional<bool> takes = takes_grammar(settings_.model_for(purpose.name), turn);
      if (takes.value_or(true)) (takes ? asked : left).push_back(purpose);
    }
    undecided_ = std::move(left);
    if (!asked.empty()) ask(asked, turn);
    return !asked.empty();
  }
  [[nodiscard]] bool undecided() const { return !undecided_.empty(); }
  /// Leaves the undecided purposes free for good. Returns true if there were some.
  bool settle() {
    for (const Protocol::Purpose& purpose : undecided_) method_.options().set(option_of(purpose.name), "off");
    return !std::exchange(undecided_, {}).empty();
  }

  Probes probes;
  std::map<std::string, std::string> refused;  ///< why a grammar was refused at this start, by purpose

 private:
  static std::string option_of(const std::string& purpose) { return "sampling." + purpose + ".constrain"; }
  /// Takes over a decision from the run's record. False if there is none.
  bool take(const std::map<std::string, std::string>& record, const std::string& option) {
    const auto old = record.find("options." + option);
    if (old == record.end() || old->second == "null") return false;
    method_.options().set(option, unquoted(old->second));
    return true;
  }
  static std::string unquoted(const std::string& s) { return s.size() < 2 ? "" : s.substr(1, s.size() - 2); }

  /// Whether a model is at a server that may take grammars.
  [[nodiscard]] bool may_take(const Settings::ModelFor& model) const {
    if (const auto given = settings_.given.models.find(model.model); given != settings_.given.models.end())
      return given->second.takes_grammar;
    return is_model_server(model.model);
  }
  /// Nothing if its server cannot be reached. A replay knows from its journal what was asked.
  [[nodiscard]] std::optional<bool> takes_grammar([[maybe_unused]] const Settings::ModelFor& model,
                                                  [[maybe_unused]] const Turn& turn) {
    if (!may_take(model)) return false;
    if (settings_.given.models.contains(model.model) || settings_.journal.replay) return true;
#ifdef ESPALIER_HAS_CURL
    const auto [it, fresh] = takes_.try_emplace(model.model);
    if (fresh)
      if (const auto server = server_at(model.model, settings_, [&] { turn(0); }))
        it->second = !backend::detail::dialect_of(*server).grammar.empty();
    return it->second;
#else
    return false;
#endif
  }
  void ask(const std::vector<Protocol::Purpose>& purposes, const Turn& turn) {
    Scheduler scheduler;
    const RunJournal journal(settings_, folder_, "probes");
    const auto nothing = [](std::span<const Prompt> asked) { return std::vector<std::string>(asked.size()); };
    const method::Ports ports = trial_ports(scheduler, settings_, [&](const Settings::ModelFor& model) {
      const auto asks = [&](const auto& one) { return settings_.model_for(one.name).purpose == model.purpose; };
      if (std::ranges::none_of(purposes, asks)) return scheduler.model(nothing);
      return scheduler.model(journal(make_model(model, settings_, {}, {})).service, settings_.execution.in_flight);
    });
    for (const Probed& one : ask_probes(purposes, scheduler, ports, method_, prompts_, turn)) decide(one);
  }
  void decide(const Probed& one) {
    const std::string& name = one.purpose.name;
    const bool free = one.constrained && one.failure && one.failure->kind() == BackendError::Kind::permanent;
    if (one.failure && !free) return undecided_.push_back(one.purpose);
    if (free) refused.emplace(name, one.failure->what());
    probes[name] = one.ledger.total();
    method_.options().set(option_of(name), one.constrained && !free ? "on" : "off");
  }

  const Settings& settings_;
  method::Method& method_;
  const rag::PromptSet& prompts_;
  std::filesystem::path folder_;
  std::vector<Protocol::Purpose> undecided_;
  std::map<std::string, std::optional<bool>> takes_;  ///< whether a server takes grammars, by address
};

}  // namespace espalier::run::detail
