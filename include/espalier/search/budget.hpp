#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/seed.hpp>
#include <espalier/core/tree.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace espalier {

/// What one search may cost. 0 = no limit. Engines check it between steps, against costs that were merged in index
/// order. So a search overshoots by what was under way, and the ledger shows by how much. A reply that cannot be read
/// is not drawn again once the budget is spent.
///
/// The search takes time from `clock` alone. A search that ended by its clock can be replayed to the byte: set `steps`
/// to the steps that the tree recorded, or give a `timeout` that remembers them.
struct Budget {
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  using Timeout = std::function<bool(Seed, std::uint64_t, bool)>;
  std::uint64_t calls = 0;          ///< completions
  std::uint64_t kept = 0;           ///< of `calls`, those that the search leaves for what follows it
  std::uint64_t tokens = 0;         ///< input + output tokens
  std::uint64_t input_tokens = 0;   ///< (AirRAG's L_max)
  double seconds = 0;               ///< by `clock`, from the start of the search
  double usd = 0;                   ///< at the prices below
  double price_in = 0;              ///< per million input tokens
  double price_out = 0;             ///< per million output tokens
  std::uint64_t steps = unlimited;  ///< steps of an earlier search that ended by its clock
  std::function<double()> clock{};  ///< seconds since any fixed moment, never decreasing
  /// timeout(seed of the tree, steps made, late) -> whether time is up. Without it, time is up when `late` is true.
  Timeout timeout{};

  void check() const {
    for (const auto& [name, value] :
         {std::pair("seconds", seconds), {"usd", usd}, {"price_in", price_in}, {"price_out", price_out}})
      if (!(value >= 0) || value > std::numeric_limits<double>::max()) bad_option(name, value, "0 or more");
    if (usd > 0 && !(price_in > 0 || price_out > 0)) bad_option("usd", usd, "0 without a price");
    if (seconds > 0 && !clock) bad_option("seconds", seconds, "0 without a clock");
  }
  [[nodiscard]] bool limited() const {
    return calls > 0 || tokens > 0 || input_tokens > 0 || seconds > 0 || usd > 0 || steps != unlimited;
  }
  /// The same budget. The search leaves this number of its completions for what follows.
  [[nodiscard]] Budget keeping(std::uint64_t completions) const {
    Budget other = *this;
    other.kept = completions;
    return other;
  }
  /// Starts a tree's search under this budget, and returns the clock's time.
  [[nodiscard]] double start(auto& tree) const {
    tree.ledger.refused = false;
    tree.ledger.calls_left = nullptr;
    if (!limited()) return 0;
    Budget limits = *this;
    limits.clock = nullptr, limits.timeout = nullptr;  // a tree keeps none of them
    tree.ledger.calls_left = [limits, earlier = before(tree).costs](Ledger::Costs all) {
      all += earlier;
      return limits.calls_left(all);
    };
    return now();
  }
  /// Ends a tree's search. It ended by this budget if the budget left a call out.
  static void end(auto& tree) {
    if (tree.ledger.refused) tree.ending = SearchFacts::Ending::budget;
  }
  /// The clock's time in seconds, 0 without a limit of seconds.
  [[nodiscard]] double now() const { return seconds > 0 ? clock() : 0; }
  /// The price of these costs, in the currency of the prices.
  [[nodiscard]] double price(const Ledger::Costs& costs) const {
    return (price_in * double(costs.prompt_tokens) + price_out * double(costs.completion_tokens)) / 1e6;
  }
  /// True if `more` can be spent on top of `spent`. Checks all limits except time.
  [[nodiscard]] bool affords(Ledger::Costs spent, const Ledger::Costs& more) const {
    spent += more;
    return (calls == 0 || spent.completions + kept <= calls) &&
           (tokens == 0 || spent.prompt_tokens + spent.completion_tokens <= tokens) &&
           (input_tokens == 0 || spent.prompt_tokens <= input_tokens) && (usd == 0 || price(spent) <= usd);
  }
  /// How many more completions may be asked after these costs.
  [[nodiscard]] std::uint64_t calls_left(const Ledger::Costs& all) const {
    if ((tokens > 0 && all.prompt_tokens + all.completion_tokens >= tokens) ||
        (input_tokens > 0 && all.prompt_tokens >= input_tokens) || (usd > 0 && price(all) >= usd))
      return 0;
    return calls > 0 ? calls - std::min(calls, all.completions + kept) : unlimited;
  }
  /// The costs of a tree, and of what its root state says was spent before it (state.spent_before() -> Spending).
  [[nodiscard]] static Ledger::Costs costs(const auto& tree) {
    Ledger::Costs all = tree.ledger.total();
    all += before(tree).costs;
    return all;
  }
  /// True if a step of so many completions may not begin after `steps_made` steps. `began`: the time at the start.
  [[nodiscard]] bool spent(const auto& tree, std::uint64_t steps_made, double began = 0,
                           std::uint64_t completions = 1) const {
    if (steps_made >= steps || tree.ledger.refused || calls_left(costs(tree)) < completions) return true;
    const bool late = seconds > 0 && now() - began + before(tree).seconds >= seconds;
    return seconds > 0 && timeout ? timeout(tree.seed, steps_made, late) : late;
  }
  /// True if a step of so many completions begins now, which is counted. Else the tree's search ends by this budget.
  [[nodiscard]] bool begin_step(auto& tree, double began, std::uint64_t completions = 1) const {
    if (spent(tree, tree.steps, began, completions)) tree.ending = SearchFacts::Ending::budget;
    const bool begins = tree.ending != SearchFacts::Ending::budget;
    tree.steps += begins;
    return begins;
  }

 private:
  [[nodiscard]] static Ledger::Spending before(const auto& tree) {
    if constexpr (requires { tree.state(tree.root()).spent_before(); }) return tree.state(tree.root()).spent_before();
    else return {};
  }
};

}  // namespace espalier
