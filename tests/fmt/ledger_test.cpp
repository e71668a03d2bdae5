#include <espalier/fmt/ledger.hpp>

#include <doctest/doctest.h>

namespace ledger_test {

using espalier::Accounts;
using espalier::Ledger;
using Costs = espalier::Ledger::Costs;

TEST_CASE("costs print on one line, and unread completions where there are some") {
  CHECK(fmt::format("{}", Costs{12, 3400, 500, 3}) ==
        "completions 12, prompt tokens 3400, completion tokens 500, retrievals 3");
  CHECK(fmt::format("{}", Costs{12, 3400, 500, 3, 2, 1}) ==
        "completions 12, prompt tokens 3400, completion tokens 500, retrievals 3, unread 2 (cut 1)");
  CHECK(fmt::format("{}", Costs{12, 3400, 500, 3, 2, 1, 4, 5, 6, 3, 7}) ==
        "completions 12, prompt tokens 3400, completion tokens 500, retrievals 3, unread 2 (cut 1), cut but read 4, "
        "refused 5, repairs 6 (read 3), constrained 7");
}

TEST_CASE("a ledger prints its total and the completions of each purpose") {
  Ledger ledger;
  CHECK(fmt::format("{}", ledger) == "completions 0, prompt tokens 0, completion tokens 0, retrievals 0");
  ledger["rollout"] = {12, 3400, 500, 3};
  ledger["end\n\x1b[0m"] = {6, 900, 60, 0};
  CHECK(fmt::format("{}", ledger) ==
        "completions 18, prompt tokens 4300, completion tokens 560, retrievals 3; completions by purpose: "
        "end\\n\\x1b[0m 6, rollout 12");
}

TEST_CASE("accounts print the sum and its parts") {
  Accounts accounts;
  accounts.logical = 20, accounts.paid_applied = 12, accounts.cached = 5, accounts.shared = 2, accounts.failed = 1;
  accounts.paid_cancelled = 3, accounts.paid_failed = 4, accounts.requests = 9;
  CHECK(fmt::format("{}", accounts) ==
        "logical 20: paid 12, cached 5, shared 2, failed 1; paid for nothing 7; requests 9");
}

TEST_CASE("all take a width, as texts do") {
  CHECK(fmt::format("[{:>40.13}]", Costs{7}) == "[                           completions 7]");
}

}  // namespace ledger_test
