#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/seed.hpp>
#include <espalier/core/tree.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

namespace espalier {

/// What one search may cost. Engines look at it between steps, at costs that were merged in index order, so a budget is
/// overshot by what was under way; the ledger shows by how much. 0 = no limit.
///
/// Time is the one thing here that a search cannot know: `clock` tells it. A search that ended by its clock is replayed to
/// the byte by a budget whose `steps` are those that the tree recorded, or by a `timeout` that remembers.
///
/// Since every engine comes back here between its steps, this is also where a tree can be seen while it grows: `watch`.
struct Budget {
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  using Timeout = std::function<bool(Seed, std::uint64_t, bool)>;
  using Watch = std::function<void(const SearchFacts&)>;
  std::uint64_t calls = 0;          ///< completions
  std::uint64_t tokens = 0;         ///< input + output tokens
  std::uint64_t input_tokens = 0;   ///< (AirRAG's L_max)
  double seconds = 0;               ///< by `clock`, from the start of the search
  double usd = 0;                   ///< at the prices below
  double price_in = 0;              ///< a million input tokens
  double price_out = 0;             ///< a million output tokens
  std::uint64_t steps = unlimited;  ///< of an earlier search that its clock ended
  std::function<double()> clock{};  ///< seconds since any moment, never less than before
  /// timeout(seed of the tree, steps made, late) -> whether time is up; without one, time is up when it is late.
  Timeout timeout{};
  /// Is shown a tree between the steps of its search (after each simulation of a Monte-Carlo search): a Tree of the engine's
  /// types, until it returns.
  Watch watch{};

  void check() const {
    for (const auto& [name, value] : {std::pair("seconds", seconds), {"usd", usd}, {"price_in", price_in}, {"price_out", price_out}})
      if (!(value >= 0) || value > std::numeric_limits<double>::max()) bad_option(name, value, "0 or more");
    if (usd > 0 && !(price_in > 0 || price_out > 0)) bad_option("usd", usd, "0 without a price");
    if (seconds > 0 && !clock) bad_option("seconds", seconds, "0 without a clock");
  }
  [[nodiscard]] bool limited() const { return calls > 0 || tokens > 0 || input_tokens > 0 || seconds > 0 || usd > 0 || steps != unlimited; }
  /// What the clock shows; 0 without one.
  [[nodiscard]] double now() const { return seconds > 0 ? clock() : 0; }
  /// What these costs come to.
  [[nodiscard]] double price(const Costs& costs) const {
    return (price_in * static_cast<double>(costs.prompt_tokens) + price_out * static_cast<double>(costs.completion_tokens)) / 1e6;
  }
  /// Whether so much may still be spent besides what was, by all limits but that of time.
  [[nodiscard]] bool affords(Costs spent, const Costs& more) const {
    spent += more;
    return (calls == 0 || spent.completions <= calls) && (tokens == 0 || spent.prompt_tokens + spent.completion_tokens <= tokens) &&
           (input_tokens == 0 || spent.prompt_tokens <= input_tokens) && (usd == 0 || price(spent) <= usd);
  }
  /// What is left of a budget of which less than all is spent.
  [[nodiscard]] Budget after(const Costs& costs, double seconds_spent) const {
    Budget left = *this;
    if (calls > 0) left.calls -= costs.completions;
    if (tokens > 0) left.tokens -= costs.prompt_tokens + costs.completion_tokens;
    if (input_tokens > 0) left.input_tokens -= costs.prompt_tokens;
    if (usd > 0) left.usd -= price(costs);
    if (seconds > 0) left.seconds = std::max(seconds - seconds_spent, 1e-9);
    return left;
  }
  /// Shows a tree to `watch`, if there is one.
  void show(const SearchFacts& tree) const {
    if (watch) watch(tree);
  }
  /// Whether nothing more may be spent on a tree, after `steps_made` steps of a search that began at `began` by the clock.
  template <class Tree>
  [[nodiscard]] bool spent(const Tree& tree, std::uint64_t steps_made, double began = 0) const {
    show(tree);
    if (steps_made >= steps) return true;
    const Costs costs = tree.ledger.total();
    return (calls > 0 && costs.completions >= calls) || (tokens > 0 && costs.prompt_tokens + costs.completion_tokens >= tokens) ||
           (input_tokens > 0 && costs.prompt_tokens >= input_tokens) ||
           (usd > 0 && price(costs) >= usd) || (seconds > 0 && late(tree.seed, steps_made, now() - began >= seconds));
  }

 private:
  [[nodiscard]] bool late(Seed seed, std::uint64_t steps_made, bool over) const { return timeout ? timeout(seed, steps_made, over) : over; }
};

}  // namespace espalier
