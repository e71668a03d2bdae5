#include <espalier/method/decex/face.hpp>
#include <espalier/output/dpo.hpp>
#include <espalier/output/sft.hpp>

#include "../output/small_tree.hpp"
#include "scripted.hpp"
#include <doctest/doctest.h>

#include <set>
#include <tuple>

namespace decex_form_test {

using namespace espalier;
using namespace espalier::testing;
using Options = method::DecExRagOptions;
using Environment = method::detail::DecExRagEnvironment;

namespace {

constexpr auto policy = Options::Form::policy;

bool begins(const Prompt& prompt) { return shows(prompt, "(nothing yet)"); }

/// A trained policy: it knows its own prompts and no other. At the beginning it searches for "bad", for "good" and
/// answers "Rome", by its samples 0, 1 and 2. Its further samples search for "good". After "good" it answers "Paris",
/// after "bad" it answers "Rome".
Scripted trained() {
  Scripted model;
  model.on("rollout", [](const Prompt& p) {
    if (shows(p, "About good")) return "<think>g</think> <answer>Paris</answer>";
    if (!begins(p)) return "<answer>Rome</answer>";
    if (p.sample() == 0) return "<think>b</think> <search>bad</search>";
    return p.sample() == 2 ? "<answer>Rome</answer>" : "<think>t</think> <search>good</search>";
  });
  return model;
}

std::string pairs_of(const rag::Tree& tree) {
  std::string rows, out;
  output::append_dpo_rows({tree, "decex", 7, "{}"}, method::decex_prompts(), {}, rows);
  for (const Row& row : rows_of(rows))
    out += row.text("type") + '/' + row.text("decision") + ' ' + row.text("id").substr(3) + '\n';
  return out;
}

}  // namespace

TEST_CASE("the policy's own steps are the candidates, by hand: two queries beside an answer, then the answer") {
  // Layer 1: samples 0 to 2 are the queries "bad" and "good", and the answer "Rome". One vote of three does not stop,
  // but the answer gets its reward, 0. One query more is drawn, at index 5 = k + 2. It says "good" again. Two rollouts
  // each: "bad" ends in Rome, "good" in Paris. Layer 2: three votes of three for Paris.
  const rag::Tree tree = grow_decex({.n = 2, .form = policy}, trained());
  CHECK(drawing(tree) ==
        "1<0 query 'bad' 0 pruned/not_best\n"
        "2<0 query 'good' 100 expanded\n"
        "3<0 answer 'Rome' 0 pruned/outvoted\n"
        "4<2 answer 'Paris' 100 terminal\n");
  CHECK(tree[1].prior == doctest::Approx(1.0 / 3));
  CHECK(tree[2].prior == doctest::Approx(2.0 / 3));
  CHECK(tree[3].prior == doctest::Approx(1.0 / 3));
  REQUIRE(tree.skips.size() == 1);  // the queries that the vote made needless
  CHECK(tree.skips[0].node == 2);
  CHECK(tree.skips[0].kind == Environment::query);
  // Calls: 3 + 1 in layer 1, 2 rollouts of one step from each query, 3 in layer 2.
  CHECK(tree.ledger.by_purpose().size() == 2);
  CHECK(tree.ledger.by_purpose().at("rollout").completions == 11);
  CHECK(tree.ledger.total().retrievals == 2);
  // Search against answer, and search against search.
  CHECK(pairs_of(tree) == "decision/termination 2>3\nexecution/termination 2>1\n");
}

TEST_CASE("pairs and rows of the policy's steps have the prompts that the search asked") {
  std::set<std::string> asked;
  Scripted model = trained(), teller = trained();
  model.on("rollout", [&](const Prompt& p) {
    asked.insert(p.text());
    return teller(std::span<const Prompt>(&p, 1)).front().text;
  });
  const rag::Tree tree = grow_decex({.n = 2, .form = policy}, model);
  const output::TreeRecord record{tree, "decex", 7, "{}"};
  std::string sft, dpo;
  output::append_sft_rows(record, method::decex_prompts(), {}, sft);
  output::append_dpo_rows(record, method::decex_prompts(), {}, dpo);
  const auto rows = rows_of(sft), pairs = rows_of(dpo);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].text("completion") == "<think> t </think>\n<search> good </search>");
  CHECK(rows[1].text("completion") == "<think> g </think>\n<answer> Paris </answer>");
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].text("chosen_kind") == "query");
  CHECK(pairs[0].text("rejected_kind") == "answer");
  CHECK(pairs[0].text("chosen") == rows[0].text("completion"));
  CHECK(pairs[0].text("rejected") == "<answer> Rome </answer>");
  CHECK(pairs[1].text("rejected") == "<think> b </think>\n<search> bad </search>");
  for (const auto* table : {&rows, &pairs})
    for (const Row& row : *table) CHECK(asked.count(row.text("prompt")) == 1);
}

TEST_CASE("the first steps of the rollouts that valued a node are candidates below it: the same requests") {
  std::set<std::tuple<std::string, std::uint64_t, std::uint32_t>> requests;
  Scripted model = trained(), teller = trained();
  model.on("rollout", [&](const Prompt& p) {
    requests.emplace(p.text(), p.seed(), p.sample());
    return teller(std::span<const Prompt>(&p, 1)).front().text;
  });
  const rag::Tree tree = grow_decex({.n = 2, .form = policy}, model);
  // Layer 2 draws 3 samples, of which 2 are the rollouts' first steps. All 11 count.
  CHECK(tree.ledger.total().completions == 11);
  CHECK(requests.size() == 9);
}

TEST_CASE("the policy may stop at once, and stop_pairs then values the search that it did not make") {
  Scripted model = trained();
  model.on("rollout", [](const Prompt& p) {
    if (!begins(p)) return "<answer>Rome</answer>";
    return p.sample() < 2 ? "<answer>Paris</answer>" : "<search>bad</search>";
  });
  const rag::Tree cheap = grow_decex({.n = 2, .form = policy}, model);
  CHECK(drawing(cheap) == "1<0 answer 'Paris' 100 terminal\n2<0 query 'bad' - pruned/outvoted\n");
  CHECK(cheap.ledger.total().completions == 3);
  CHECK(pairs_of(cheap).empty());
  // Two samples more for the queries, which say the same, and two rollouts.
  const rag::Tree full = grow_decex({.n = 2, .form = policy, .stop_pairs = true}, model);
  CHECK(drawing(full) == "1<0 answer 'Paris' 100 terminal\n2<0 query 'bad' 0 pruned/outvoted\n");
  CHECK(full.ledger.total().completions == 7);
  CHECK(pairs_of(full) == "decision/termination 1>2\n");
}

TEST_CASE("termination by mean F1 searches on where the policy's majority would stop with a wrong answer") {
  Scripted model = trained();
  model.on("rollout", [](const Prompt& p) {
    if (!begins(p)) return "<answer>Paris</answer>";
    return p.sample() < 2 ? "<answer>Rome</answer>" : "<search>good</search>";
  });
  CHECK(drawing(grow_decex({.form = policy}, model)) ==
        "1<0 answer 'Rome' 0 terminal\n2<0 query 'good' - pruned/outvoted\n");
  for (const auto termination : {Options::Termination::mean_f1, Options::Termination::vote_and_f1}) {
    const rag::Tree tree = grow_decex({.termination = termination, .form = policy}, model);
    CHECK(drawing(tree) ==
          "1<0 answer 'Rome' 0 pruned/below\n2<0 query 'good' 100 expanded\n3<2 answer 'Paris' 100 terminal\n");
    CHECK(pairs_of(tree) == "decision/termination 2>1\n");
  }
}

TEST_CASE("a policy that only answers keeps its answer, also where all its answers fail") {
  Scripted model;
  model.on("rollout", "<answer>Rome</answer>");
  const rag::Tree tree = grow_decex({.termination = Options::Termination::mean_f1, .form = policy}, model);
  CHECK(drawing(tree) == "1<0 answer 'Rome' 0 pruned/below\n");
  CHECK(tree.ledger.total().completions == 6);  // three more in the hope of a search
  CHECK(output::best_answer(tree)->text == "Rome");
}

TEST_CASE("after T_max searches the policy must answer") {
  Scripted model;
  model.on("rollout", [](const Prompt& p) { return "<search>more " + std::to_string(p.sample() % 3) + "</search>"; });
  model.on("forced_answer", "<answer>Paris</answer>");
  const rag::Tree tree = grow_decex({.n = 1, .T_max = 2, .form = policy, .rollout_rounds = 2}, model);
  const auto last = static_cast<NodeId>(tree.size() - 1);
  CHECK(tree.action(last).forced);
  CHECK(tree[last].status == Status::terminal);
  CHECK(tree.state(last).retrievals() == 2);
}

TEST_CASE("the other modes of search hold in the policy's form") {
  const rag::Tree both = grow_decex({.n = 2, .search = Options::Search::no_pruning, .form = policy}, trained());
  CHECK(drawing(both) ==
        "1<0 query 'bad' 0 pruned/not_best\n"
        "2<0 query 'good' 100 expanded\n"
        "3<0 answer 'Rome' 0 terminal\n"
        "4<2 answer 'Paris' 100 terminal\n");
  const rag::Tree all = grow_decex({.search = Options::Search::full_node, .form = policy}, trained());
  CHECK(drawing(all) ==
        "1<0 query 'bad' - expanded\n"
        "2<0 query 'good' - expanded\n"
        "3<0 answer 'Rome' 0 terminal\n"
        "4<1 answer 'Rome' 0 terminal\n"
        "5<2 answer 'Paris' 100 terminal\n");
}

TEST_CASE("an unreadable step of the policy is closed and has no vote") {
  Scripted model = trained();
  model.on("rollout", [](const Prompt& p) { return p.sample() == 0 ? "<answer>Paris</answer>" : "hm"; });
  CHECK(drawing(grow_decex({.n = 1, .form = policy}, model)) ==
        "1<0 answer 'Paris' 100 terminal\n2<0 answer 'hm' - pruned/malformed\n3<0 answer 'hm' - pruned/malformed\n");
}

TEST_CASE("the option is shown where it is used, and nowhere else") {
  method::detail::DecExRagFace face;
  CHECK(face.options().json().find("\"form\"") == std::string::npos);
  face.options().set("form", "policy");
  CHECK(face.options().json().find("\"form\":\"policy\"") != std::string::npos);
  CHECK_THROWS_WITH_AS(face.options().set("form", "own"), "option 'form' is own, allowed: prompts, policy",
                       std::invalid_argument);
}

}  // namespace decex_form_test
