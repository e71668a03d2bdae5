#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/llm/prompt.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace espalier::sim {

/// What a simulated model is good at, as rates in [0, 1]. They hold at temperature 1 unless said otherwise.
struct Skills {
  double recall = 0.45;      ///< share of facts it knows from memory, fixed for each fact
  double decompose = 0.9;    ///< asks a useful next sub-question
  double phrase = 0.9;       ///< a query names subject and relation. On failure it drops the subject
  double read = 0.92;        ///< finds a fact that a document shows
  double stop = 0.9;         ///< stops exactly when it has everything it needs
  double hallucinate = 0.3;  ///< invents a missing value, instead of searching or saying so
  double malformed = 0.01;   ///< a reply lacks its tags
  std::uint64_t seed = 1;    ///< another seed is another model, which knows other facts and fails elsewhere
  double judge = 0.85;       ///< a number, verdict or preference is not drawn at random, at any temperature. Also the
                             ///< share of facts that it recognises as a judge, if that is more than `recall`

  /// All rates with their names.
  static std::array<std::pair<std::string_view, double Skills::*>, 8> rates() {
    return {{{"recall", &Skills::recall},
             {"decompose", &Skills::decompose},
             {"phrase", &Skills::phrase},
             {"read", &Skills::read},
             {"stop", &Skills::stop},
             {"hallucinate", &Skills::hallucinate},
             {"malformed", &Skills::malformed},
             {"judge", &Skills::judge}}};
  }
  void check() const {
    for (const auto& [name, rate] : rates())
      if (!(this->*rate >= 0 && this->*rate <= 1)) bad_option(name, this->*rate, "0 ... 1");
  }
};

namespace detail {

/// The random draws of one request. Every draw is a function of (request, model seed, label), so the same request gives
/// the same reply. Only the purpose, the slots and the sampling of a prompt count, and not its words.
class Draws {
 public:
  Draws(const Prompt& prompt, std::uint64_t seed)
      : state_(Hasher().add(identity(prompt)).add(seed).finish().low), temperature_(prompt.sampling().temperature) {}

  /// A random number for `label` and `number`.
  [[nodiscard]] std::uint64_t pick(std::string_view label, std::uint64_t number = 0) const {
    return Hasher().add(state_).add(label).add(number).finish().low;
  }
  /// Whether an event of rate `rate` happens. The likelier case at temperature 0, linearly the rate from 1 on.
  [[nodiscard]] bool happens(std::string_view label, double rate, std::uint64_t number = 0) const {
    return uniform(label, number) < at_temperature(rate);
  }
  /// Whether a skill succeeds. Like happens(), but above temperature 1 the chance falls, by a fifth at 2.
  [[nodiscard]] bool succeeds(std::string_view label, double rate, std::uint64_t number = 0) const {
    return uniform(label, number) * (1 + std::max(temperature_ - 1, 0.0) / 4) < at_temperature(rate);
  }
  /// A number in [0, 1).
  [[nodiscard]] double uniform(std::string_view label, std::uint64_t number = 0) const {
    return static_cast<double>(pick(label, number) >> 11) * 0x1p-53;
  }
  /// One of `count` wordings. At temperature 0 it is the first, and others become more frequent with temperature.
  [[nodiscard]] std::size_t wording(std::string_view label, std::size_t count) const {
    if (uniform(label, 1) >= 0.7 * std::min(temperature_, 1.0)) return 0;
    return static_cast<std::size_t>(pick(label, 2) % count);
  }

 private:
  [[nodiscard]] double at_temperature(double rate) const {
    const double likelier = rate > 0.5 ? 1 : 0;
    return temperature_ >= 1 ? rate : likelier + (rate - likelier) * temperature_;
  }
  static Hash identity(const Prompt& prompt) {
    const PromptBody& body = prompt.body();
    if (!body.protocol || body.spans.empty()) return prompt.key();
    Hasher h;
    h.add(body.protocol->method).add(body.purpose).add(std::uint64_t(body.after));
    for (const PromptBody::Span& span : body.spans)
      h.add(span.name).add(std::string_view(body.shown()).substr(span.begin, span.end - span.begin));
    h.add(body.sampling.temperature).add(body.sampling.top_p).add(std::uint64_t(body.sampling.top_k));
    if (!prompt.greedy()) h.add(prompt.seed()).add(std::uint64_t(prompt.sample()));
    return h.finish();
  }

  std::uint64_t state_;
  double temperature_;
};

}  // namespace detail

}  // namespace espalier::sim
