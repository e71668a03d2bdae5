#include <espalier/method/decex/face.hpp>
#include <espalier/output/tree_json.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "../core/shuffled_service.hpp"
#include "../output/small_tree.hpp"
#include "scripted.hpp"
#include <doctest/doctest.h>

#include <set>
#include <tuple>

namespace decex_test {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::testing;
using Options = method::DecExRagOptions;
using Environment = method::detail::DecExRagEnvironment;

TEST_CASE("siblings are asked together and in the order of the tree, however replies come") {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    std::vector<Prompt> asked;
    Traffic traffic{.hear = [&](const void* request) { asked.push_back(*static_cast<const Prompt*>(request)); }};
    const auto answer = [model = searcher()](const Prompt& prompt) mutable { return model({&prompt, 1}).front(); };
    (void)grow_decex_over({}, [&](Scheduler& scheduler) {
      return scheduler.model(shuffled<Prompt, Completion>(answer, seed, &traffic), Scheduler::unlimited);
    });
    for (std::size_t i = 1; i < asked.size(); ++i) {
      if (asked[i].sample() == 0 || asked[i].sample() >= 1U << 19) continue;  // the first one, or drawn again
      CHECK(asked[i].shared_body() == asked[i - 1].shared_body());
      CHECK(asked[i].sample() == asked[i - 1].sample() + 1);
    }
    CHECK(asked.size() > 20);
    const auto first = [&](const char* text) {
      return std::ranges::find_if(asked, [&](const Prompt& prompt) { return shows(prompt, text); }) - asked.begin();
    };
    CHECK(first("Which capital?") < first("Which city?"));
    CHECK(first("Which city?") < std::ssize(asked));
    CHECK(first("About bad") < first("About good"));
    CHECK(first("About good") < std::ssize(asked));
  }
}

TEST_CASE("the pruned search takes the text's path: own knowledge fails, the best query wins, the vote ends it") {
  // Layer 1: samples 0 and 2 agree on one sub-question, 1 differs; all rollouts from both end in Rome (0), so that with
  // two samples goes on. Own answers: two agree on Lyon, the third cannot be read. Reward 0 is not above 0.6, so
  // retrieval follows; "good" leads to Paris in every rollout. Layer 2: three of three vote for Paris.
  const rag::Tree tree = grow_decex({}, searcher());
  CHECK(drawing(tree) ==
        "1<0 sub_question 'Which capital?' 0 expanded\n"
        "2<0 sub_question 'Which city?' 0 pruned/not_best\n"
        "3<1 own_answer 'Lyon' 0 pruned/below\n"
        "4<1 own_answer 'no tag at all' - pruned/malformed\n"
        "5<1 query 'bad' 0 pruned/not_best\n"
        "6<1 query 'good' 100 expanded\n"
        "7<6 answer 'Paris' 100 terminal\n");
  CHECK(tree[1].prior == doctest::Approx(2.0 / 3));
  CHECK(tree[6].prior == doctest::Approx(2.0 / 3));
  CHECK(tree.skips.size() == 1);  // the sub-question that the vote made needless
  CHECK(tree.skips[0].node == 6);
  // Calls: 3 sub-questions; 3 own answers + 2 tries more for the one that cannot be read; 3 queries; 3 votes; one call
  // a rollout, 4 from each of 2 sub-questions, 1 own answer, 2 queries. Retrievals: one for each distinct query.
  CHECK(tree.ledger.by_purpose().at("sub_question").completions == 3);
  CHECK(tree.ledger.by_purpose().at("own_answer").completions == 5);
  CHECK(tree.ledger.by_purpose().at("sub_query").completions == 3);
  CHECK(tree.ledger.by_purpose().at("termination").completions == 3);
  CHECK(tree.ledger.by_purpose().at("rollout").completions == 20);
  CHECK(tree.ledger.total().completions == 34);
  CHECK(tree.ledger.total().prompt_tokens == 340);
  CHECK(tree.ledger.total().retrievals == 2);
}

TEST_CASE("own knowledge strictly above the threshold skips retrieval; at the threshold it does not") {
  Scripted model = searcher();
  model.on("own_answer", "t <answer>Paris is it</answer>");
  // The rollouts answer "Paris now": precision 1/2, recall 1, F1 2/3.
  model.on("rollout", "<answer>Paris now</answer>");
  const rag::Tree above = grow_decex({.threshold = 0.66}, model);
  REQUIRE(above.skips.size() == 2);
  CHECK(above.skips[0].kind == method::detail::DecExRagEnvironment::query);
  CHECK(above.ledger.total().retrievals == 0);
  const rag::Tree at = grow_decex({.threshold = 2.0 / 3}, model);
  CHECK(at.ledger.total().retrievals > 0);
}

TEST_CASE("two votes of three end the search, one does not, and an outvoted answer still gets its reward") {
  Scripted model = searcher();
  for (const std::uint32_t answers : {1U, 2U}) {
    model.on("termination", [answers](const Prompt& p) {
      return shows(p, "Sub-question 2") || p.sample() < answers
                 ? "<reasoning>r</reasoning><answer>Paris</answer>"
                 : "<reasoning>r</reasoning><question>Which river " + std::to_string(p.sample()) + "?</question>";
    });
    const rag::Tree tree = grow_decex({}, model);
    std::size_t outvoted = 0, rounds = 0;
    for (NodeId id = 1; id < tree.size(); ++id) {
      if (tree[id].reason == Reason::outvoted) {
        ++outvoted;
        CHECK(tree[id].evaluated == (tree[id].kind == method::detail::DecExRagEnvironment::answer));
      }
      if (tree[id].status == Status::terminal) rounds = tree.state(id).iterations();
    }
    CHECK(rounds == (answers == 2 ? 1 : 2));
    CHECK(outvoted == 1);
    // Sub-questions that the votes did not give are drawn again: 3 votes + 1 in layer 2, then 3 votes in layer 3.
    CHECK(tree.ledger.by_purpose().at("termination").completions == (answers == 2 ? 3 : 7));
  }
}

TEST_CASE("termination by mean F1 goes on where the majority would have stopped with a wrong answer") {
  Scripted model = searcher();
  model.on("termination", [](const Prompt& p) {
    if (shows(p, "Sub-question 2")) return "<reasoning>r</reasoning><answer>Paris</answer>";
    return p.sample() < 2 ? "<reasoning>r</reasoning><answer>Rome</answer>"
                          : "<reasoning>r</reasoning><question>Which city then?</question>";
  });
  const auto rounds = [&](Options::Termination termination) {
    const rag::Tree tree = grow_decex({.termination = termination}, model);
    for (NodeId id = 1; id < tree.size(); ++id)
      if (tree[id].status == Status::terminal) return tree.state(id).iterations();
    return 0U;
  };
  CHECK(rounds(Options::Termination::vote) == 1);
  CHECK(rounds(Options::Termination::mean_f1) == 2);
  CHECK(rounds(Options::Termination::vote_and_f1) == 2);
}

TEST_CASE("the mean of the answers is over samples: Paris, Paris, Rome are worth 0.667 and stop above 0.6") {
  Scripted model = searcher();
  model.on("termination",
           [](const Prompt& p) { return p.sample() < 2 ? "r <answer>Paris</answer>" : "r <answer>Rome</answer>"; });
  model.on("next_question", "t <question>Which city then?</question>");
  for (const auto termination : {Options::Termination::mean_f1, Options::Termination::vote_and_f1}) {
    const rag::Tree stops = grow_decex({.termination = termination}, model);
    CHECK(drawing(stops).ends_with("7<6 answer 'Paris' 100 terminal\n8<6 answer 'Rome' 0 pruned/not_best\n"));
    // Above 0.67 they do not pass. The prompt gives answers only, so a sub-question is asked for, up to T_max.
    const rag::Tree goes_on = grow_decex({.T_max = 2, .threshold = 0.67, .termination = termination}, model);
    CHECK(drawing(goes_on).find("7<6 answer 'Paris' 100 pruned/below\n"
                                "8<6 answer 'Rome' 0 pruned/below\n"
                                "9<6 sub_question 'Which city then?'") != std::string::npos);
    CHECK(goes_on.action(static_cast<NodeId>(goes_on.size() - 1)).forced);
    CHECK(goes_on.state(static_cast<NodeId>(goes_on.size() - 1)).iterations() == 2);
    CHECK(goes_on.ledger.by_purpose().at("next_question").completions == 3);
  }
}

TEST_CASE("unreadable votes do not count: one answer beside two of them ends the search, and none at all asks on") {
  Scripted model = searcher();
  model.on("termination", [](const Prompt& p) { return p.sample() == 0 ? "r <answer>Paris</answer>" : "no tag"; });
  const rag::Tree one = grow_decex({}, model);
  CHECK(
      drawing(one).ends_with("7<6 answer 'Paris' 100 terminal\n8<6 answer 'no tag' - pruned/malformed\n9<6 answer 'no "
                             "tag' - pruned/malformed\n"));
  // One of three is not more than half of all samples: the answer is outvoted, and the search goes on.
  model.on("next_question", "t <question>Which city then?</question>");
  const rag::Tree of_all = grow_decex({.T_max = 2, .vote_over = Options::VoteOver::all}, model);
  CHECK(holds(drawing(of_all), "7<6 answer 'Paris' 100 pruned/outvoted\n"));
  CHECK(of_all.state(static_cast<NodeId>(of_all.size() - 1)).iterations() == 2);

  model.on("termination",
           [](const Prompt& p) { return shows(p, "Sub-question 2") ? "r <answer>Paris</answer>" : "no tag"; });
  const rag::Tree none = grow_decex({}, model);
  CHECK(none.state(static_cast<NodeId>(none.size() - 1)).iterations() == 2);
  CHECK(none.state(static_cast<NodeId>(none.size() - 1)).answer() == "Paris");
}

TEST_CASE("stop_pairs values the sub-questions that lose, so a pair can prefer to stop") {
  // Two votes of three stop with Paris. The third asks on; rollouts from there end in Rome. The two sub-questions more
  // that are drawn for the pair say the same. All votes to stop: the sub-question is asked for.
  for (const bool unanimous : {false, true}) {
    CAPTURE(unanimous);
    Scripted model = searcher();
    model.on("termination", [&](const Prompt& p) {
      return p.sample() < 2 || unanimous ? "r <answer>Paris</answer>" : "r <question>Which river?</question>";
    });
    model.on("next_question", "t <question>Which river?</question>");
    model.on("rollout", [](const Prompt& p) {
      return shows(p, "About good") && !shows(p, "Which river?") ? "<answer>Paris</answer>" : "<answer>Rome</answer>";
    });
    const auto stop_pairs = [](const rag::Tree& tree) {
      std::string rows;
      output::append_dpo_rows({tree, "decex", 7, "{}"}, method::decex_prompts(), {}, rows);
      return holds(rows, R"("decision":"termination","chosen_kind":"answer","rejected_kind":"sub_question")");
    };
    const rag::Tree cheap = grow_decex({}, model), full = grow_decex({.stop_pairs = true}, model);
    CHECK_FALSE(stop_pairs(cheap));
    CHECK(stop_pairs(full));
    CHECK(drawing(full).ends_with(
        "7<6 answer 'Paris' 100 terminal\n8<6 sub_question 'Which river?' 0 pruned/outvoted\n"));
    // Its cost: k draws where the votes gave no sub-question (2 more votes that say the same otherwise), n rollouts.
    CHECK(full.ledger.total().completions == cheap.ledger.total().completions + (unanimous ? 3 : 2) + 4);
  }
}

TEST_CASE("stop_pairs works with the mean reward too, and never values what the search would keep twice") {
  Scripted model = searcher();
  model.on("termination", [](const Prompt& p) {
    return p.sample() < 2 ? "r <answer>Paris</answer>" : "r <question>Which river?</question>";
  });
  for (const auto termination : {Options::Termination::mean_f1, Options::Termination::vote_and_f1}) {
    const rag::Tree tree = grow_decex({.termination = termination, .stop_pairs = true}, model);
    CHECK(drawing(tree).ends_with(
        "7<6 answer 'Paris' 100 terminal\n8<6 sub_question 'Which river?' 100 pruned/skipped\n"));
    CHECK(tree[8].visits == 1);
  }
}

TEST_CASE("three of five rollouts right are not above 0.6") {
  Scripted model = searcher();
  model.on("rollout",
           [](const Prompt& p) { return p.sample() < 3 ? "<answer>Paris</answer>" : "<answer>Rome</answer>"; });
  const rag::Tree tree = grow_decex({.n = 5}, model);
  CHECK(tree[3].mean() == 0.6);
  CHECK(tree[3].reason == Reason::below_threshold);
}

TEST_CASE("after T_max rounds the answer is forced and flagged") {
  Scripted model = searcher();
  model.on("termination", [](const Prompt& p) {
    return "<reasoning>r</reasoning><question>More " + std::to_string(p.sample()) + "?</question>";
  });
  const rag::Tree tree = grow_decex({.T_max = 2}, model);
  std::size_t terminals = 0;
  for (NodeId id = 1; id < tree.size(); ++id) {
    if (tree[id].status != Status::terminal) continue;
    ++terminals;
    CHECK(tree.action(id).forced);
    CHECK(tree.state(id).iterations() == 2);
  }
  CHECK(terminals == 1);

  for (const auto& [once, temperature, calls] : {std::tuple("false", "0", 3), {"true", "0", 1}, {"true", "1", 3}}) {
    method::detail::DecExRagFace face;
    set(face, {{"T_max", "2"}, {"force_once", once}, {"sampling.forced_answer.temperature", temperature}});
    const rag::Tree grown = Prepared(face, model, nothing_found).grow();
    CHECK(grown.ledger.by_purpose().at("forced_answer").completions == calls);
  }
}

TEST_CASE("No-Pruning keeps the best execution of each decision, Full-Node everything without rollouts") {
  // Two layers. Layer 1: the best sub-question, then own answer | query. Layer 2: answer 'Paris' alone (all votes).
  const rag::Tree both = grow_decex({.T_max = 2, .search = Options::Search::no_pruning}, searcher());
  CHECK(drawing(both) ==
        "1<0 sub_question 'Which capital?' 0 expanded\n"
        "2<0 sub_question 'Which city?' 0 pruned/not_best\n"
        "3<1 own_answer 'Lyon' 0 expanded\n"
        "4<1 own_answer 'no tag at all' - pruned/malformed\n"
        "5<1 query 'bad' 0 pruned/not_best\n"
        "6<1 query 'good' 100 expanded\n"
        "7<3 answer 'Paris' 100 terminal\n"
        "8<6 answer 'Paris' 100 terminal\n");
  const rag::Tree all = grow_decex({.T_max = 1, .search = Options::Search::full_node}, searcher());
  CHECK(all.ledger.by_purpose().count("rollout") == 0);
  std::size_t terminals = 0;
  for (NodeId id = 1; id < all.size(); ++id) {
    terminals += all[id].status == Status::terminal;
    CHECK((all[id].status != Status::pruned || all[id].reason == Reason::malformed));
  }
  CHECK(terminals == 6);  // two sub-questions, each with one own answer and two queries
}

TEST_CASE("always_expand_both grows retrieval beside knowledge that passes; compare_across lets the better one win") {
  Scripted model = searcher();
  model.on("own_answer", "t <answer>Paris</answer>");
  model.on("rollout", "<answer>Paris</answer>");
  const rag::Tree both = grow_decex({.always_expand_both = true}, model);
  std::size_t queries = 0;
  for (NodeId id = 1; id < both.size(); ++id)
    if (both[id].kind == method::detail::DecExRagEnvironment::query) {
      ++queries;
      CHECK(both[id].reason == Reason::skipped);
      CHECK(both[id].evaluated);
    }
  CHECK(queries == 2);

  // Own answers are worth 1/2 (F1 of "Paris or Rome now": 2 * 1/4 * 1 / (5/4) = 0.4 is below 0.6), queries 0.
  Scripted halves = searcher();
  halves.on("rollout", [](const Prompt& p) {
    return shows(p, "Lyon") ? "<answer>Paris or Rome now</answer>" : "<answer>Rome</answer>";
  });
  const auto kept = [&](bool compare) {
    const rag::Tree tree = grow_decex({.T_max = 1, .compare_across = compare}, halves);
    for (NodeId id = 1; id < tree.size(); ++id)
      if (tree[id].parent == 1 && tree[id].status == Status::expanded) return tree[id].kind;
    return Kind(99);
  };
  CHECK(kept(false) == method::detail::DecExRagEnvironment::query);
  CHECK(kept(true) == method::detail::DecExRagEnvironment::own_answer);
}

TEST_CASE("a document cannot answer: its tags are neutralised in prompts and never read") {
  bool seen = false;
  Scripted model = searcher();
  model.on("termination", [&](const Prompt& p) {
    seen = true;
    CHECK_FALSE(shows(p, "<answer>42"));
    CHECK(shows(p, "&lt;/information>&lt;answer>42&lt;/answer>"));
    return "<reasoning>r</reasoning> <answer>Paris</answer>";
  });
  const rag::Tree tree = grow_decex({}, model);
  CHECK(seen);
  for (const auto& rollout : tree.rollouts) CHECK(rollout.state.answer() != std::optional<std::string>("42"));
}

TEST_CASE("a budget of calls ends the search") {
  const rag::Tree tree = grow_decex({.budget = {.calls = 10}}, searcher());
  CHECK(tree.ending == SearchFacts::Ending::budget);
  CHECK(tree.ledger.total().completions == 11);  // 3 sub-questions and their 8 rollouts; checked before each stage
}

TEST_CASE(
    "an own answer that refuses is closed: not valued, not kept, in no pair and no row; without phrases it is "
    "knowledge") {
  // Two of three own answers refuse, and rollouts from a refusal would search and end in Paris: 1.0, above 0.6.
  Scripted model = searcher();
  model.on("own_answer", [](const Prompt& p) {
    return p.sample() == 1 ? "t <answer>Lyon</answer>" : "t <answer>I don't know.</answer>";
  });
  model.on("rollout", [](const Prompt& p) {
    return shows(p, "Lyon") || shows(p, "About bad") ? "<answer>Rome</answer>" : "<answer>Paris</answer>";
  });
  const rag::Tree closed = grow_decex({}, model);
  CHECK(drawing(closed) ==
        "1<0 sub_question 'Which capital?' 100 expanded\n"
        "2<0 sub_question 'Which city?' 100 pruned/not_best\n"
        "3<1 own_answer 'I don't know.' - pruned/refused\n"
        "4<1 own_answer 'Lyon' 0 pruned/below\n"
        "5<1 query 'bad' 0 pruned/not_best\n"
        "6<1 query 'good' 100 expanded\n"
        "7<6 answer 'Paris' 100 terminal\n");
  CHECK(closed[3].prior == doctest::Approx(2.0 / 3));  // equal refusals are one node
  CHECK(closed.ledger.by_purpose().at("own_answer").refused == 2);
  CHECK(closed[3].visits == 0);
  CHECK(closed.ledger.by_purpose().at("rollout").completions == 20);  // 2 sub-questions, Lyon and 2 queries: 4 each
  const auto rows = [](const rag::Tree& tree) {
    std::string out;
    output::append_sft_rows({tree, "decex", 7, "{}"}, method::decex_prompts(), {}, out);
    output::append_dpo_rows({tree, "decex", 7, "{}"}, method::decex_prompts(), {}, out);
    return out;
  };
  CHECK_FALSE(holds(rows(closed), "don't know"));
  CHECK(holds(rows(closed), R"("chosen_kind":"query","rejected_kind":"own_answer")"));  // over Lyon

  const rag::Tree letter = grow_decex({.refusals = ""}, model);
  CHECK(letter[3].status == Status::expanded);
  CHECK(holds(rows(letter), "From memory, the answer is I don't know."));
}

TEST_CASE("the preset of the paper keeps the closed refusals") {
  const auto refusals = [](method::Method& face) {
    for (const auto& [option, value, allowed, help, type] : face.options().help())
      if (option == "refusals") return value;
    return std::string();
  };
  method::detail::DecExRagFace face, paper;
  paper.preset("paper");
  CHECK(refusals(paper).find("don't know") != std::string::npos);
  CHECK(refusals(paper) == refusals(face));
}

TEST_CASE("the policy loop of `answer` searches T_max times, then it must answer") {
  Scripted model;
  model.on("rollout", "<search>more</search>").on("forced_answer", "<answer>Paris</answer>");
  method::detail::DecExRagFace face;
  face.options().set("T_max", "2");
  const rag::Tree tree = Prepared(face, model, nothing_found).answer();
  CHECK(tree.ledger.total().retrievals == 2);
  CHECK(tree.action(static_cast<NodeId>(tree.size() - 1)).forced);
}

TEST_CASE("a reward that needs no gold grows trees without it") {
  method::detail::DecExRagFace face;
  CHECK(face.needs_gold());
  face.options().set("reward", "agreement");
  CHECK_FALSE(face.needs_gold());
}

TEST_CASE("curtailed rollouts stop when the decision is certain: the same tree for 14 rollouts in place of 20") {
  // Sub-questions: all end in Rome. Each of the two can still be best until both have 0 of 4. The own answer: 0 of 2 is
  // at most 1/2, which is not above 0.6. Queries: "good" has more samples, so it goes first, and after 4 of 4 "bad"
  // cannot win: it draws none.
  const rag::Tree tree = grow_decex({.curtail = Options::Curtail::exact}, searcher());
  std::string complete = drawing(grow_decex({}, searcher()));
  complete.replace(complete.find("'bad' 0"), 7, "'bad' -");
  CHECK(drawing(tree) == complete);
  CHECK(tree.ledger.by_purpose().at("rollout").completions == 14);
  // Pairs need complete rollouts: the sub-questions are equal, "bad" has none, and Lyon 2 of 4.
  const auto pairs = [&](std::uint32_t rollouts) {
    std::string out;
    output::append_dpo_rows({tree, "decex", 7, "{}"}, method::decex_prompts(), {.rollouts = rollouts}, out);
    return std::count(out.begin(), out.end(), '\n');
  };
  CHECK(pairs(0) == 1);  // "good" over own knowledge
  CHECK(pairs(4) == 0);
}

TEST_CASE("curtailed searches choose what complete ones choose") {
  using Search = Options::Search;
  const auto chosen = [](const rag::Tree& tree) {
    std::string out;
    for (NodeId id = 1; id < tree.size(); ++id)
      if (tree[id].status == Status::expanded || tree[id].status == Status::terminal)
        out += std::string(rag::name(tree.action(id).kind)) + " " + tree.action(id).text + "\n";
    return out;
  };
  std::uint64_t drawn = 0, complete = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const auto chance = [seed](const Prompt& p, std::uint64_t of) {
      std::uint64_t h = (seed + 1) * 0x9e3779b97f4a7c15ULL + p.sample();
      for (const char c : p.text()) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
      return (h ^ (h >> 29)) % of;
    };
    Scripted model;
    model.on("sub_question",
             [=](const Prompt& p) { return "t <question>Which " + std::to_string(chance(p, 4)) + "?</question>"; });
    model.on("own_answer", [=](const Prompt& p) {
      return chance(p, 2) ? std::string("t <answer>Paris</answer>")
                          : "t <answer>Lyon " + std::to_string(chance(p, 3)) + "</answer>";
    });
    model.on("sub_query", [=](const Prompt& p) { return "query " + std::to_string(chance(p, 4)); });
    model.on("termination", [=](const Prompt& p) {
      return "<reasoning>r</reasoning>" + (chance(p, 3)
                                               ? "<question>Which " + std::to_string(chance(p, 5)) + "?</question>"
                                               : "<answer>Paris</answer>");
    });
    model.on("forced_answer", "<answer>Paris</answer>");
    model.on("rollout", [=](const Prompt& p) -> std::string {
      static constexpr const char* replies[] = {"<answer>Paris</answer>", "<answer>Paris now</answer>",
                                                "<answer>Rome</answer>", "<answer>Paris</answer>", "no tag"};
      return replies[chance(p, 5)];
    });
    for (const Search search : {Search::pruned, Search::no_pruning}) {
      const rag::Tree all = grow_decex({.search = search}, model);
      const rag::Tree some = grow_decex({.search = search, .curtail = Options::Curtail::exact}, model);
      REQUIRE(chosen(some) == chosen(all));
      drawn += some.ledger.total().completions;
      complete += all.ledger.total().completions;
    }
  }
  CHECK(drawn < complete);
}

TEST_CASE("halving draws less, and only its choice goes on") {
  // Sub-questions: all end in Rome. Own answer: 0 of 2. Queries: "good" has 3 of 3 before "bad" has one of 3 right.
  const rag::Tree tree = grow_decex({.curtail = Options::Curtail::halving}, searcher());
  std::size_t best = 0;
  for (NodeId id = 1; id < tree.size(); ++id)
    best += tree.action(id).kind == rag::SegmentKind::query && tree.action(id).text == "good" &&
            tree[id].status == Status::expanded;
  CHECK(best == 1);
  // Two candidates: 4 of 8 rollouts. Own answer: 2 of 4
  CHECK(tree.ledger.by_purpose().at("rollout").completions == 4 + 2 + 4);
}

TEST_CASE("curtailing is refused where a value is more than its own rollouts") {
  CHECK_THROWS_WITH_AS(grow_decex({.compare_across = true, .curtail = Options::Curtail::exact}, searcher()),
                       "option 'compare_across' is true, allowed: false with curtail", std::invalid_argument);
  method::detail::DecExRagFace face;
  face.options().set("curtail", "halving");
  face.options().set("reward", "agreement");
  CHECK_THROWS_WITH_AS(
      face.check(), "option 'reward' is agreement, allowed: another one with curtail: it has no value for one rollout",
      std::invalid_argument);
}

TEST_CASE("bad options are refused by name") {
  CHECK_THROWS_WITH_AS(grow_decex({.k = 0}, searcher()), "option 'k' is 0, allowed: 1 or more", std::invalid_argument);
  CHECK_THROWS_WITH_AS(grow_decex({.threshold = 7}, searcher()), "option 'threshold' is 7.000000, allowed: 0 to 1",
                       std::invalid_argument);
}

namespace {

/// Everything that one set of trees would put into trees.jsonl.
std::string grown(const sim::World& world, std::uint64_t seed, std::size_t in_flight, auto make_model,
                  const method::DecExRagOptions& options) {
  Scheduler scheduler;
  const ModelPort model = scheduler.model(make_model(), in_flight);
  const RetrieverPort retriever = scheduler.retriever(backend::Bm25(testing::passages_of(world)), in_flight);
  const rag::Environment loop(rag::Sampler(model, method::decex_prompts(), {.sampling = {.temperature = 0.7}}),
                              retriever, {});
  method::DecExRag search(options, loop, rag::F1());
  std::vector<Task<rag::Tree>> searches;
  for (const auto& example : world.examples()) searches.push_back(search(rag::State(example), seed));
  std::string lines;
  for (const rag::Tree& tree : scheduler.run(std::move(searches)))
    output::append_tree({tree, "decex", seed, "{}"}, lines);
  return lines;
}

}  // namespace

TEST_CASE("trees have the same bytes for any batch limit and any order of completion") {
  const sim::World world({.passages = 120, .questions = 8, .seed = 3});
  const sim::Model model(world.examples());
  using enum method::DecExRagOptions::Form;
  using enum method::DecExRagOptions::Curtail;
  std::vector<std::pair<std::uint64_t, method::DecExRagOptions>> cases;
  for (const auto& [seed, form] : {std::pair(1U, prompts), {2U, prompts}, {3U, prompts}, {1U, policy}, {2U, policy}})
    cases.emplace_back(seed, method::DecExRagOptions{.n = 2, .form = form});
  for (const auto curtail : {exact, halving}) cases.emplace_back(1U, method::DecExRagOptions{.curtail = curtail});
  for (const auto& [seed, options] : cases) {
    const std::string reference = grown(world, seed, 1000, [&] { return model; }, options);
    CHECK(grown(world, seed, 1, [&] { return model; }, options) == reference);
    CHECK(grown(world, seed, 7, [&] { return model; }, options) == reference);
    for (const std::size_t in_flight : {1U, 7U, 64U}) {
      const auto shuffled = [&, seed = seed] {
        const auto one = [&model](const Prompt& prompt) {
          return Outcome<Completion>(model(std::span<const Prompt>(&prompt, 1)).front());
        };
        return testing::shuffled<Prompt, Completion>(one, seed + in_flight);
      };
      CHECK(grown(world, seed, in_flight, shuffled, options) == reference);
    }
  }
}

TEST_CASE("trees have the same bytes on every compiler") {
  const sim::World world({.passages = 120, .questions = 8, .seed = 3});
  const sim::Model model(world.examples());
  const auto hash = [&](method::DecExRagOptions::Form form) {
    return Hasher().add(grown(world, 1, 64, [&] { return model; }, {.n = 2, .form = form})).finish().hex();
  };
  CHECK(hash(method::DecExRagOptions::Form::prompts) == "9e6567a6fa3324d783aef3f77f8c7938");
  CHECK(hash(method::DecExRagOptions::Form::policy) == "2ee7370db655aa3ff7edd7d65c45ef5b");
}

namespace {

constexpr auto policy = Options::Form::policy;

bool begins(const Prompt& prompt) { return shows(prompt, "(nothing yet)"); }

/// A trained policy: it knows its own prompts and no other. At first it searches for "bad", for "good" and answers
/// "Rome", by its samples 0 to 2, then for "good". After "good" it answers "Paris", after "bad" "Rome".
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

}  // namespace decex_test
