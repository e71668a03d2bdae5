#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/scheduler.hpp>
#include <espalier/method/method.hpp>
#include <espalier/run/detail/prompt_trial.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// The probes of `constrain = auto`, by purpose. They belong to no question.
class Probes {
 public:
  Probes() = default;
  /// As text() wrote them.
  explicit Probes(const std::string& text) {
    std::istringstream in(text);
    std::string purpose;
    Ledger::Costs costs;
    while (in >> purpose >> costs.completions >> costs.unread >> costs.prompt_tokens >> costs.completion_tokens)
      by_purpose[purpose] = costs;
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& [purpose, costs] : by_purpose)
      out += fmt::format("{}{} {} {} {} {}", out.empty() ? "" : " ", purpose, costs.completions, costs.unread,
                         costs.prompt_tokens, costs.completion_tokens);
    return out;
  }
  std::map<std::string, Ledger::Costs> by_purpose;
};

/// A purpose whose probes were asked.
struct Probed {
  static constexpr std::uint32_t count = 8;    ///< probes at most
  static constexpr std::uint32_t at_once = 2;  ///< probes side by side. None follows that cannot change the decision

  /// True if at least 0.95 of all probes can be read when all further ones can.
  [[nodiscard]] bool can_be_free() const {
    return 1 - static_cast<double>(ledger.total().unread) / static_cast<double>(count) >= 0.95;
  }

  Protocol::Purpose purpose;
  Ledger ledger = Ledger();
  std::optional<BackendError> failure = std::nullopt;
  bool constrained = false;  ///< too few free replies can be read, and one more was asked under the grammar
};

/// turn(number of probes that were answered).
using Turn = std::function<void(std::uint64_t)>;

/// Asks the probes of purposes that nobody has decided. Throws a failure that is not the model's.
inline std::vector<Probed> ask_probes(const std::vector<Protocol::Purpose>& purposes, Scheduler& scheduler,
                                      const method::Ports& ports, method::Method& method, const rag::PromptSet& prompts,
                                      const Turn& turn) {
  std::vector<Probed> all;
  for (const Protocol::Purpose& purpose : purposes) all.push_back({purpose});
  const auto tell = [&] {
    std::uint64_t done = 0;
    for (const Probed& one : all) done += one.ledger.total().completions;
    turn(done);
  };
  scheduler.on_turn(tell);
  const auto failure_of = [](const auto& reply) -> std::optional<BackendError> {
    if (reply.ok()) return std::nullopt;
    try {
      std::rethrow_exception(reply.error());
    } catch (const BackendError& failure) {
      return failure;
    }
  };
  // Draws the replies first ... last - 1 of some purposes.
  const auto draw = [&](const rag::Sampler& sampler, const std::vector<Probed*>& some, std::uint32_t first,
                        std::uint32_t last) {
    std::vector<Task<std::vector<rag::Sampler::Sample>>> draws;
    for (Probed* one : some)
      for (std::uint32_t n = first; n < last; ++n)
        draws.push_back(sampler.draw(one->purpose.name, sample_slots(one->purpose, *prompts.protocol(), n), 1,
                                     Context(Seed(1), n, &one->ledger)));
    const auto replies = scheduler.run_all(std::move(draws));
    for (std::size_t k = 0; k < replies.size(); ++k)
      if (auto failure = failure_of(replies[k])) some[k / (last - first)]->failure = std::move(failure);
    tell();
  };
  const auto answered = [&](bool free) {
    std::vector<Probed*> some;
    for (Probed& one : all)
      if (!one.failure && one.can_be_free() == free) some.push_back(&one);
    return some;
  };
  const rag::Sampler free = method.sampler(ports, prompts).drawing_once();
  for (std::uint32_t asked = 0; asked < Probed::count; asked += Probed::at_once)
    draw(free, answered(true), asked, asked + Probed::at_once);
  method.options().set("constrain", "on");  // holds for purposes without a decision
  const rag::Sampler constrained = method.sampler(ports, prompts).drawing_once();
  method.options().set("constrain", "off");
  const std::vector<Probed*> rest = answered(false);
  for (Probed* one : rest) one->constrained = true;
  draw(constrained, rest, 0, 1);
  return all;
}

}  // namespace espalier::run::detail
