#include <espalier/method/airrag/face.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "scripted.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

namespace airrag_test {

using namespace espalier;
using namespace espalier::detail;
using method::AirRagOptions;
using namespace espalier::testing;
using rag::SegmentKind;
using namespace espalier::method::detail;

namespace {

std::vector<Passages> documents(std::span<const Query> queries) {
  std::vector<Passages> answers;
  for (const Query& query : queries) {
    answers.push_back(
        {Passage("d-" + query.text, "T", "<answer>42</answer>", 1), Passage("every", "E", "found each time", 0.5)});
    answers.back().push_back(answers.back().back());
  }
  return answers;
}

/// One tree of a variant, chosen from, as a run makes it.
rag::Tree grow(method::detail::AirRagFace::Variant variant, std::map<std::string, std::string> set,
               std::function<std::vector<Completion>(std::span<const Prompt>)> model, bool with_gold = false,
               std::function<std::vector<Embedding>(std::span<const EncodeRequest>)> encoder = nullptr) {
  method::detail::AirRagFace method(variant);
  testing::set(method, set);
  rag::Example example;
  example.question = {"q1", "Capital of the home of Ada?"};
  example.gold = {"Paris", "Zanzibar"};
  Prepared prepared(method, std::move(model), documents, encoder);
  return with_gold ? prepared.grow(example) : prepared.answer(example);
}
constexpr auto full = method::detail::AirRagFace::Variant::full;
constexpr auto lite = method::detail::AirRagFace::Variant::lite;
constexpr auto blender = method::detail::AirRagFace::Variant::blender;

Scripted script() {
  Scripted model;
  model.on("say", "Where is Ada's home?\nWhat is the capital of that?").on("da", "Answer: Lyon");
  model.on("ra", [](const Prompt& p) { return std::string(holds(*p.slot("query"), "Ada") ? "In France." : "Paris."); });
  model.on("qt", [](const Prompt& p) {
    return std::string(holds(p.text(), "### Next query\nWhat is the capital of that?") ? "Capital of France?" : "None");
  });
  model.on("sa", [](const Prompt& p) { return holds(*p.slot("history"), "Paris") ? "Answer: Paris" : "Answer: Rome"; });
  model.on("refine", "Answer: Paris, France").on("process_reward", "<score> 0.5 </score>");
  model.on("answer", "Nice").on("next", "So the final answer is: Lille");  // of the methods that Blender adds
  return model;
}

std::string story(const rag::State& state) {
  std::string out;
  for (const rag::Segment* segment : state.transcript().segments()) {
    out += (out.empty() ? "" : " | ") + std::string(rag::name(segment->kind()));
    if (!segment->documents()) out += " " + segment->words();
    else out += " " + segment->documents()->front().id();
  }
  return out;
}

/// The kinds that are legal after these segments.
std::vector<Kind> legal(const AirRagOptions& options, const std::vector<std::pair<SegmentKind, std::string>>& steps) {
  Scheduler scheduler;
  const rag::Environment loop(rag::Sampler(scheduler.model(Scripted()), method::airrag_prompts(), {}),
                              scheduler.retriever(documents), {});
  rag::State state(rag::Question{"q", "Q?"});
  for (const auto& [kind, text] : steps) state = state.with(rag::Segment(kind, rag::ModelText(text)));
  return AirRagEnvironment(loop, options).kinds(state);
}
using Kinds = std::vector<Kind>;
constexpr Kind say = AirRagEnvironment::say, da = AirRagEnvironment::da, ra = AirRagEnvironment::ra,
               qt = AirRagEnvironment::qt, sa = AirRagEnvironment::sa;

NodeId selected(const rag::Tree& tree) {
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.annotation("selected", id) == 1) return id;
  return no_node;
}

}  // namespace

TEST_CASE("the legality of the five actions, by hand (AirRAG, section 3.1)") {
  const std::pair<SegmentKind, std::string> split{SegmentKind::queries, "a\nb"}, none{SegmentKind::queries, "None."},
      response{SegmentKind::sub_answer, "r"};
  CHECK(legal({}, {}) == Kinds{say, da});
  CHECK(legal({}, {split}) == Kinds{ra, qt});
  CHECK(legal({}, {none}) == Kinds{ra, qt});
  CHECK(legal({}, {split, response}) == Kinds{qt});        // b waits
  CHECK(legal({}, {split, response, none}) == Kinds{ra});  // b as it is
  CHECK(legal({}, {split, response, none, response}) == Kinds{qt, sa});
  CHECK(legal({}, {split, response, none, response, none}) == Kinds{sa});  // nothing new
  CHECK(legal({}, {split, response, none, response, {SegmentKind::queries, "c"}}) == Kinds{ra});
  CHECK(legal({}, {none, none}) == Kinds{ra});
  CHECK(legal({}, {{SegmentKind::own_answer, "x"}}) == Kinds{sa});
  CHECK(legal({}, {none, response, {SegmentKind::answer, "x"}}).empty());
  CHECK(legal({.lite = true}, {}) == Kinds{ra, qt});
  CHECK(legal({.lite = true}, {none}) == Kinds{ra});
  CHECK(legal({.lite = true}, {response}) == Kinds{qt, sa});
  CHECK(legal({.max_pairs = 1}, {split, response}) == Kinds{sa});  // no retrievals left for b
  CHECK(legal({.max_depth = 3}, {split, response}) == Kinds{sa});
  std::vector<std::pair<SegmentKind, std::string>> longest{split};
  for (int i = 0; i < 4; ++i) longest.insert(longest.end(), {response, {SegmentKind::queries, "c\nd"}});
  CHECK(legal({}, longest) == Kinds{sa});  // 1 + 2 * 4 + 1 actions
}

TEST_CASE("one rollout, worked out by hand: analysis, the queue, transformation with what was found, summary") {
  const rag::Tree tree = grow(full, {}, script());
  // the root's two children, then the steps of the one rollout from the first: RA, QT, RA, QT, SA
  REQUIRE(tree.size() == 8);
  CHECK(testing::kinds(tree, {1, 2}) == "queries own_answer");
  CHECK(tree.path(7) == std::vector<NodeId>{0, 1, 3, 4, 5, 6, 7});
  CHECK(testing::kinds(tree, {3, 4, 5, 6, 7}) == "sub_answer queries sub_answer queries answer");
  CHECK(tree[7].status == Status::terminal);
  CHECK(story(tree.state(7)) ==
        "queries Where is Ada's home?\nWhat is the capital of that? | query Where is Ada's home? | documents d-Where "
        "is Ada's home? | sub_answer In France. | "
        "queries Capital of France? | query Capital of France? | documents d-Capital of France? | sub_answer Paris. | "
        "queries None | answer Paris");
  CHECK(selected(tree) == 7);
  CHECK(output::best_answer(tree)->text == "Paris");
  CHECK(tree.ledger.total().completions == 7);  // say, da, ra, qt, ra, qt, sa
  CHECK(tree.ledger.total().retrievals == 2);
}

TEST_CASE("an answer is worth its agreement with the answers so far, worked out by hand") {
  const rag::Tree tree = grow(full, {{"rollouts", "2"}}, script());
  // Paris agrees with itself; then Rome, from the direct answer, with itself and not with Paris
  CHECK(tree.rollouts[0].value == 1);
  CHECK(*tree.rollouts[1].state.answer() == "Rome");
  CHECK(tree.rollouts[1].value == doctest::Approx(0.5));
  CHECK(tree[0].total == doctest::Approx(1.5));
  CHECK(grow(full, {{"rollouts", "2"}, {"terminal_reward", "zero"}}, script())[0].total == 0);
  const rag::Tree gold = grow(full, {{"rollouts", "2"}}, script(), true);
  CHECK(gold.rollouts[0].value == 1);
  CHECK(gold.rollouts[1].value == 0);
}

TEST_CASE("UCT, worked out by hand (Eq. 1), and what the third simulation does of it") {
  const rag::Tree two = grow(full, {{"rollouts", "2"}}, script());
  const Uct uct({.w = 1.4142135623730951});
  CHECK(uct(two[0], two[1]) == doctest::Approx(2.1774100226));  // 1 / 1 + sqrt(2) sqrt(ln 2 / 1)
  CHECK(uct(two[0], two[2]) == doctest::Approx(1.6774100226));
  const rag::Tree three = grow(full, {{"rollouts", "3"}}, script());
  CHECK(three[three.rollouts[2].node].parent == 1);
  // it comes to the answer of the first by the same steps, which count once: Paris and Rome, and not Paris, Rome, Paris
  CHECK(three.rollouts[2].value == doctest::Approx(0.5));
}

TEST_CASE("an answer is worth the cosine of its embedding with those so far, or a reward model's score") {
  const auto encoder = [](std::span<const EncodeRequest> texts) {
    std::vector<Embedding> all;
    for (const auto& text : texts) all.push_back(text.text == "Rome" ? Embedding{1, 1} : Embedding{1, 0});
    return all;
  };
  const rag::Tree embedded =
      grow(full, {{"rollouts", "2"}, {"terminal_reward", "embedding"}}, script(), false, encoder);
  CHECK(embedded.rollouts[0].value == doctest::Approx(1));
  CHECK(embedded.rollouts[1].value == doctest::Approx((1 + 0.70710678) / 2));
  CHECK_THROWS_WITH_AS(grow(full, {{"terminal_reward", "embedding"}}, script()),
                       "option 'terminal_reward' is embedding, allowed: another reward where there is no encoder",
                       std::invalid_argument);
  const rag::Tree judged = grow(full, {{"rollouts", "2"}, {"terminal_reward", "reward_model"}}, script());
  CHECK(judged[0].total == doctest::Approx(0.5 + 0.5));
  CHECK(judged.ledger.by_purpose().at("process_reward").completions == 2);
  for (const char* text : {"<score>85/100</score>", "<score>7.5</score>", "<score>nan</score>", "good"}) {
    CAPTURE(text);
    const rag::Tree unread =
        grow(full, {{"terminal_reward", "reward_model"}, {"sampling.process_reward.temperature", "0.5"}},
             script().on("process_reward", text));
    CHECK(unread[1].reason == Reason::malformed);  // and no zero
    CHECK(unread[0].visits == 0);
    CHECK(unread.ledger.by_purpose().at("process_reward").completions == 3);
  }
}

TEST_CASE("a descent makes its steps nodes at once: nothing is drawn twice") {
  const auto count = [](const char* simulation) {
    const rag::Tree tree = grow(full, {{"rollouts", "9"}, {"simulation", simulation}}, script());
    CHECK(selected(tree) != no_node);
    return std::pair(tree.ledger.total().completions, tree.size() - 1);
  };
  const auto [descended, nodes] = count("descent");
  CHECK(descended == nodes);  // each completion is a node
  const auto [straight, fewer] = count("straight");
  CHECK(straight > fewer);  // steps of simulations are drawn again once they are selected
  // the order of actions falls by lot for each path, and always the same
  std::set<std::vector<Kind>> orders;
  for (const char* text : {"a", "b", "c", "d", "e", "f", "g", "h"})
    orders.insert(legal({.simulation = AirRagOptions::Simulation::descent}, {{SegmentKind::queries, text}}));
  CHECK(orders == std::set<std::vector<Kind>>{{ra, qt}, {qt, ra}});
}

TEST_CASE("analysis and transformation are sampled more freely with q_div, unless an option of their own says how") {
  const auto sampled = [](std::map<std::string, std::string> set) {
    std::map<std::string, std::array<double, 3>> seen;
    Scripted model = script();
    for (const char* purpose : {"say", "qt", "ra"})
      model.on(purpose, [&seen](const Prompt& p) {
        seen[p.purpose()] = {p.sampling().temperature, p.sampling().top_p, double(p.sampling().top_k)};
        return std::string("None");
      });
    grow(full, std::move(set), model);
    return seen;
  };
  using Three = std::array<double, 3>;
  const auto plain = sampled({{"rollouts", "4"}}),
             varied = sampled({{"rollouts", "4"}, {"q_div", "true"}, {"sampling.qt.temperature", "0.9"}});
  for (const auto& [purpose, sampling] : plain) CHECK(sampling == Three{0.7, 0.8, 50});
  CHECK(varied.at("say") == Three{1, 1, 50});
  CHECK(varied.at("qt") == Three{0.9, 1, 50});
  CHECK(varied.at("ra") == Three{0.7, 0.8, 50});
}

TEST_CASE("a passage that several retrievals found is shown once, and the query stands beside its response") {
  std::string shown, history;
  Scripted model = script();
  model.on("sa", [&](const Prompt& p) {
    shown = p.slot("documents").value_or("");
    history = p.slot("history").value_or("");
    return std::string("Answer: Paris");
  });
  grow(full, {}, model);
  CHECK(shown ==
        "Doc 1(Title: T) &lt;answer>42&lt;/answer>\nDoc 2(Title: E) found each time\nDoc 3(Title: T) "
        "&lt;answer>42&lt;/answer>\n");
  CHECK(history == "Query: Where is Ada's home?\nResponse: In France.\nQuery: Capital of France?\nResponse: Paris.\n");
}

TEST_CASE(
    "a model that always finds something new to ask takes ten actions at most, and one that analyses nothing asks the "
    "question") {
  Scripted model = script();
  model.on("say", "a\nb\nc\nd\ne\nf").on("qt", "g\nh");
  const rag::Tree first = grow(full, {}, model);
  CHECK(first.path(selected(first)).size() == 1 + 9);  // SAY, RA, QT, RA, QT, RA, QT, RA, SA
  CHECK(first.ledger.total().retrievals == 4);
  std::size_t longest = 0;
  const rag::Tree many = grow(full, {{"rollouts", "30"}}, model);
  for (const NodeId id : method::detail::candidates_of(many)) longest = std::max(longest, many.path(id).size());
  CHECK(longest == 1 + 10);  // with a transformation before each retrieval
  const rag::Tree plain = grow(full, {}, script().on("say", "None"));
  CHECK(story(plain.state(selected(plain))).find("queries None | query Capital of the home of Ada? | documents") == 0);
}

TEST_CASE("candidates are ordered as simulations came to them; the first of equals is the answer") {
  // the first simulation goes on from RA, the second from QT; what the third grows below RA was there before
  Scripted model = script();
  model.on("qt", "Which?").on("ra", "r").on("sa", [](const Prompt& p) {
    return p.slot("history")->starts_with("Query: Capital") ? "Answer: one" : "Answer: two";
  });
  const rag::Tree tree = grow(lite, {{"rollouts", "6"}}, model);
  std::vector<std::string> answers;
  for (const NodeId id : method::detail::candidates_of(tree)) answers.push_back(*tree.state(id).answer());
  REQUIRE(answers.size() >= 2);
  CHECK(answers[0] == "one");
  CHECK(answers[1] == "two");
  CHECK(tree.annotation("candidate", method::detail::candidates_of(tree)[1]) == 2);
  const rag::Tree pair = grow(lite, {{"rollouts", "2"}}, model);
  CHECK(output::best_answer(pair)->text == "one");  // both agree with one half of all
  // what no simulation came to is a candidate, and the last one
  const rag::Tree both = grow(full, {{"da_terminal", "true"}}, script());
  const auto ends = method::detail::candidates_of(both);
  REQUIRE(ends.size() == 2);
  CHECK(*both.state(ends[0]).answer() == "Paris");
  CHECK(*both.state(ends[1]).answer() == "Lyon");
  CHECK(output::best_answer(both)->text == "Paris");
}

TEST_CASE("Blender keeps one budget; what it cannot ask it compares by words") {
  const rag::Tree all = grow(blender, {{"max_calls", "100"}}, script());
  CHECK(all.ending == SearchFacts::Ending::done);
  CHECK(all.ledger.total().completions == 11);  // 7, 1, 1, 1 and the summary
  const rag::Tree some = grow(blender, {{"max_calls", "8"}}, script());
  CHECK(some.ending == SearchFacts::Ending::budget);
  CHECK(some.ledger.total().completions == 8);  // AirRAG and standard RAG
  CHECK(output::best_answer(some)->text == "Paris");
  const rag::Tree none = grow(blender, {{"l_max", "1"}}, script());
  CHECK(none.ledger.total().prompt_tokens == 10);  // the answer that no budget takes away
  CHECK(grow(full, {{"max_calls", "7"}}, script()).ending == SearchFacts::Ending::done);
}

TEST_CASE("no prompt of a search shows the gold answer, and the answer asks for none") {
  std::string all;
  Scripted model = script();
  for (const char* purpose : {"say", "da", "ra", "qt", "sa", "refine", "process_reward"})
    model.on(purpose, [&all, rule = script()](const Prompt& p) mutable {
      all += p.text();
      return rule(std::span<const Prompt>(&p, 1)).front().text;
    });
  grow(blender, {{"rollouts", "8"}}, model, true);
  grow(full, {{"rollouts", "8"}, {"choice", "reward_model"}}, model, false);
  CHECK(all.size() > 1000);
  CHECK(all.find("Zanzibar") == std::string::npos);
}

TEST_CASE("samples are counted by action, and equal ones merge") {
  Scripted model = script();
  model.on("da", [](const Prompt& p) { return p.sample() == 0 ? "Answer: Lyon" : "Answer: the lyon!"; });
  const rag::Tree tree = grow(full, {{"n_say", "3"}, {"n_da", "2"}}, model);
  CHECK(tree.ledger.by_purpose().at("say").completions == 3);
  CHECK(tree.ledger.by_purpose().at("da").completions == 2);
  CHECK(tree.ledger.by_purpose().at("sa").completions == 1);
  CHECK(tree.children(0).size() == 2);
  CHECK(grow(full, {{"da_terminal", "true"}}, script())[2].status == Status::terminal);
}

TEST_CASE("the answer is chosen by words, by embeddings, by a summary or by a reward model, worked out by hand") {
  Scripted model = script();
  model.on("sa", "Answer: Lyon").on("da", [](const Prompt& p) {
    return p.sample() == 0 ? "Answer: Rome" : p.sample() == 1 ? "Answer: Paris France" : "Answer: Paris";
  });
  const auto encoder = [](std::span<const EncodeRequest> texts) {
    std::vector<Embedding> all;
    for (const auto& [text, role] : texts)
      all.push_back(text == "Lyon"    ? Embedding{1, 0}
                    : text == "Rome"  ? Embedding{1, 1}
                    : text == "Paris" ? Embedding{0.5F, 1}
                                      : Embedding{0, 1});
    return all;
  };
  const auto chosen = [&](const char* how) {
    return grow(full, {{"n_da", "3"}, {"da_terminal", "true"}, {"choice", how}}, model, false, encoder);
  };
  const auto answer = [&](const char* how) { return output::best_answer(chosen(how))->text; };
  CHECK(answer("jaccard") == "Paris France");  // 1/4 + 1/8, and so Paris; Lyon and Rome 1/4
  const rag::Tree embedded = chosen("embedding");
  CHECK(*embedded.state(selected(embedded)).answer() == "Rome");
  CHECK(embedded.annotation("embedding", selected(embedded)) ==
        doctest::Approx((1 + 0.70710678 + 0.70710678 + 0.94868330) / 4));
  CHECK(answer("refine") == "Paris, France");
  CHECK_THROWS_WITH_AS(grow(full, {{"choice", "embedding"}}, script()),
                       "option 'choice' is embedding, allowed: another choice where there is no encoder",
                       std::invalid_argument);
  const auto score = [](const Prompt& p) {
    return std::string(*p.slot("step") == "Paris" ? "0.9" : *p.slot("step") == "Rome" ? "0.4" : "0.3");
  };
  model.on("process_reward", [score](const Prompt& p) { return "<score>" + score(p) + "</score>"; });
  CHECK(answer("reward_model") == "Paris");
  model.on("process_reward",
           [score](const Prompt& p) { return "<score>" + (score(p) == "0.9" ? "90/100" : score(p)) + "</score>"; });
  CHECK(answer("reward_model") == "Rome");  // what cannot be read is no score
  model.on("process_reward", "none");
  CHECK(answer("reward_model") == "Lyon");
}

TEST_CASE("Lite starts with retrieval or transformation; Blender pools other methods' answers and refines them") {
  const rag::Tree small = grow(lite, {}, script());
  CHECK(small.ledger.total().completions == 4);  // ra, qt; qt, sa
  Scripted model = script();
  std::string shown;
  model.on("refine", [&shown](const Prompt& p) {
    shown = p.slot("candidates").value_or("");
    return "Answer: Paris";
  });
  const rag::Tree blended = grow(blender, {}, model);
  CHECK(output::best_answer(blended)->text == "Paris");
  CHECK(shown == "- Paris\n- Nice\n- Lille\n- Nice\n");  // AirRAG, standard RAG, IterDRAG, direct
}

TEST_CASE("L_max is a ceiling, because prompts are measured before they are asked") {
  // A prompt has a token for four bytes, as the model says with its replies.
  const auto counting = [](std::span<const Prompt> prompts) {
    std::vector<Completion> replies = script()(prompts);
    for (std::size_t i = 0; i < prompts.size(); ++i)
      replies[i].prompt_tokens = static_cast<std::uint32_t>(prompts[i].body().shown().size() / 4 + 1);
    return replies;
  };
  for (const char* rollouts : {"1", "50"})
    for (std::uint64_t l_max = 300; l_max <= 3000; l_max += 50) {
      CAPTURE(rollouts);
      CAPTURE(l_max);
      const rag::Tree tree = grow(full, {{"rollouts", rollouts}, {"l_max", std::to_string(l_max)}}, counting);
      const Ledger::Costs costs = tree.ledger.total();
      CHECK(costs.prompt_tokens <=
            l_max + 3 * costs.completions / 2);  // replies are longer than the 2 tokens they cost
      CHECK(output::best_answer(tree));
      if (l_max == 600) CHECK(costs.retrievals > 0);
    }
}

TEST_CASE("agreement is no reward of a tree whose simulations have one end") {
  CHECK_THROWS_WITH_AS(
      grow(full, {{"reward", "agreement"}}, script()),
      "option 'reward' is agreement, allowed: f1, em, acc: a simulation has one end, which agrees with itself",
      std::invalid_argument);
}

TEST_CASE("L_max holds before the first reply, where no prompt was measured") {
  for (const auto variant : {full, lite, blender})
    for (const char* rollouts : {"1", "20"}) {
      const rag::Tree tree = grow(variant, {{"rollouts", rollouts}, {"l_max", "40"}}, script());
      CHECK(tree.ledger.total().prompt_tokens <= 40);
      if (variant == full) CHECK(tree.ending == SearchFacts::Ending::budget);
      CHECK(output::best_answer(tree));
    }
}

TEST_CASE("L_max is passed by at most a fifth over generated questions") {
  const sim::World world({.passages = 60, .questions = 12, .seed = 3});
  const backend::Bm25 index(testing::passages_of(world));
  for (const auto& [variant, l_max] : {std::pair(full, 1000U), {lite, 1000U}, {blender, 4000U}}) {
    method::detail::AirRagFace method(variant);
    method.options().set("l_max", std::to_string(l_max));
    for (const rag::Tree& tree :
         testing::trees_of(method, world.examples(), sim::Model(world.examples()), index, false)) {
      const Ledger::Costs costs = tree.ledger.total();
      CAPTURE(costs.completions);
      CHECK(costs.prompt_tokens <= l_max + l_max / 5);
      CHECK(output::best_answer(tree));
    }
  }
}

TEST_CASE("budgets hold inside a rollout, by hand: 10 tokens a call") {
  const auto steps = [](std::map<std::string, std::string> set) {
    const rag::Tree tree = grow(full, std::move(set), script());
    const std::string kinds = testing::kinds(tree, tree.path(selected(tree)));
    return std::tuple(tree.ledger.total().prompt_tokens, tree.ending == SearchFacts::Ending::budget, kinds);
  };
  using Steps = std::tuple<std::uint64_t, bool, std::string>;
  // analysis and direct answer 20, retrieval answer 30, and the summary instead of a transformation
  CHECK(steps({{"max_calls", "4"}}) == Steps(40, true, "queries sub_answer answer"));
  CHECK(steps({{"max_calls", "6"}}) == Steps(60, true, "queries sub_answer queries sub_answer answer"));
  CHECK(steps({{"max_calls", "7"}}) == Steps(70, false, "queries sub_answer queries sub_answer queries answer"));
  CHECK(steps({{"max_calls", "2"}}) == Steps(20, true, "queries answer"));
  CHECK(steps({{"max_calls", "1"}}) == Steps(10, true, "answer"));
  for (const char* rollouts : {"1", "5", "40"})
    for (const char* n : {"1", "3"})
      for (const auto simulation : {"straight", "descent"})
        for (std::uint32_t calls = 1; calls < 40; ++calls) {
          const rag::Tree tree = grow(full,
                                      {{"rollouts", rollouts},
                                       {"n_say", n},
                                       {"n_qt", rollouts == std::string("1") ? "1" : n},
                                       {"simulation", simulation},
                                       {"max_calls", std::to_string(calls)}},
                                      script());
          CHECK(tree.ledger.total().completions <= calls);
          CHECK(output::best_answer(tree));
          std::size_t valued = 0;
          for (NodeId id = 0; id < tree.size(); ++id)
            valued += tree[id].evaluated && tree[id].status != Status::pruned ? 1 : 0;
          CHECK(valued <= tree.rollouts.size());  // a simulation that the budget cut has no value
        }
}

TEST_CASE("documents scale to fill L_max (Fig. 3), by hand") {
  // a path with 4 retrievals shows the passages of one 4 + 10 + 4 = 18 times, at 130 tokens a passage
  const auto k = [](std::uint64_t l_max, std::uint32_t rollouts = 1) {
    AirRagOptions options{.rollouts = rollouts};
    options.budget.input_tokens = l_max;
    return AirRagEnvironment::documents(options, 3);
  };
  CHECK(k(0) == 3);
  CHECK(k(8192) == 3);     // 8192 / 2340 = 3.5
  CHECK(k(16384) == 7);    // 7.0
  CHECK(k(131072) == 56);  // 56.01
  CHECK(k(131072, 4) == 14);

  std::uint32_t asked = 0;
  method::detail::AirRagFace method(full);
  method.options().set("l_max", "16384");
  const auto retriever = [&](std::span<const Query> queries) {
    for (const Query& query : queries) asked = query.k;
    return testing::nothing_found(queries);
  };
  Prepared(method, script(), retriever).answer();
  CHECK(asked == 7);
}

TEST_CASE("a transformation never repeats a query that was answered; numbers go, and equal lines are one search") {
  CHECK(method::detail::fresh_queries(
            "1. Where is Ada?\n2) When?\n- Who?\n* Why?\n10. Where is ada\n1984 film\n3.5 km?", {}) ==
        std::vector<std::string>{"Where is Ada?", "When?", "Who?", "Why?", "1984 film", "3.5 km?"});
  CHECK(method::detail::fresh_queries("None.", {}).empty());
  CHECK(method::detail::fresh_queries("A b?\nC", {"b"}) ==
        std::vector<std::string>{"C"});  // normal forms have no article

  Scripted model = script();
  model.on("say", "1. Where is Ada's home?\n2. Where is Ada's home?\n3. What is the capital of that?");
  model.on("qt", "Where is Ada's home?");
  const rag::Tree tree = grow(full, {}, model);
  std::vector<std::string> asked;
  for (const rag::Segment* segment : tree.state(selected(tree)).transcript().segments())
    if (segment->kind() == SegmentKind::query) asked.push_back(segment->words());
  CHECK(asked == std::vector<std::string>{"Where is Ada's home?", "What is the capital of that?"});
  // a query that waits already is not searched twice
  model.on("say", "a?\nb?\nc?").on("qt", "c?");
  const rag::Tree waits = grow(full, {}, model);
  CHECK(waits.ledger.total().retrievals == 2);
}

TEST_CASE("the summary that refines sees the contexts and histories of all candidates (A5)") {
  Scripted model = script();
  std::string documents, history;
  model.on("refine", [&](const Prompt& p) {
    documents = p.slot("documents").value_or("");
    history = p.slot("history").value_or("");
    return "Answer: Paris";
  });
  grow(full, {{"rollouts", "2"}, {"choice", "refine"}}, model);
  CHECK(std::count(documents.begin(), documents.end(), '\n') == 3);
  CHECK(holds(documents, "found each time"));
  CHECK(history ==
        "Attempt 1\nQuery: Where is Ada's home?\nResponse: In France.\nQuery: Capital of France?\nResponse: "
        "Paris.\nAnswer: Paris\nAttempt 2\nAnswer from own knowledge: Lyon\nAnswer: Rome\n");
}

TEST_CASE("one rollout follows all samples of its action: with n_say 3, three candidates") {
  Scripted model = script();
  model.on("say", [](const Prompt& p) { return "Where is " + std::to_string(p.sample()) + "?"; });
  const rag::Tree tree = grow(full, {{"n_say", "3"}}, model);
  CHECK(method::detail::candidates_of(tree).size() == 3);
  CHECK(tree[0].visits == 3);
  CHECK(tree.steps == 1);
}

TEST_CASE("states are scored by the share of good completions through them, worked out by hand") {
  const rag::Tree tree = grow(full, {{"rollouts", "2"}}, script(), true);
  const auto scores = method::detail::state_scores(tree, 0.5);  // one chain to Paris, one to Rome
  CHECK(scores[0].completions == 2);
  CHECK(scores[0].good == 1);
  CHECK(scores[1].good == 1);
  CHECK(scores[2].completions == 1);
  CHECK(scores[2].good == 0);
  std::string rows;
  method::append_state_scores({tree, "airrag", 7, "{}"}, 0.5, rows);
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 2);
  for (
      const char* part :
      {R"("answer":"Paris","f1":1,"good":true)",
       // each step of the good path has a score of its own
       R"({"segments":[{"kind":"query","text":"Where is Ada's home?"},{"kind":"sub_answer","text":"In France."}],"score":1,"completions":1)",
       R"({"segments":[{"kind":"queries","text":"Capital of France?"}],"score":1,"completions":1)",
       R"("answer":"Rome","f1":0,"good":false,"steps":[{"segments":[{"kind":"own_answer","text":"Lyon"}],"score":0,"completions":1,"node":2})"})
    CHECK_MESSAGE(holds(rows, part), part);
  CHECK_FALSE(holds(rows, "42"));  // no documents
}

TEST_CASE("presets and options say what they are") {
  method::detail::AirRagFace paper(full), code(full);
  paper.preset("paper");
  code.preset("code");
  for (const char* option : {R"("w":1.4142135623730951)", R"("simulation":"straight")",
                             R"("terminal_reward":"jaccard")", R"("da_terminal":false)"})
    CHECK(holds(paper.options().json(), option));
  for (const char* option :
       {R"("w":2)", R"("simulation":"descent")", R"("terminal_reward":"self_consistency")", R"("da_terminal":true)"})
    CHECK(holds(code.options().json(), option));
  CHECK_THROWS_AS(paper.preset("best"), std::invalid_argument);
  CHECK_THROWS_AS(grow(full, {{"n_sa", "0"}}, script()), std::invalid_argument);
}

TEST_CASE("a recorded tree takes scores of a reward model and the agreement of embeddings") {
  rag::Tree tree = grow(full, {{"rollouts", "2"}}, script());
  tree.annotations.erase("process_reward");
  method::detail::AirRagFace method(full);
  const auto encoder = [](std::span<const EncodeRequest> texts) {
    return std::vector<Embedding>(texts.size(), Embedding{1, 0});
  };
  Prepared prepared(method, script(), documents, encoder);
  const rag::Tree annotated = prepared.annotate(tree, {"prm", "embedding"});
  for (const NodeId id : method::detail::candidates_of(annotated)) {
    CHECK(annotated.annotation("process_reward", id) == 0.5);
    CHECK(annotated.annotation("embedding", id) == 1);
  }
  CHECK(std::isnan(annotated.annotation("process_reward", 1)));

  Prepared silent(method, script().on("process_reward", "none"), documents);
  const rag::Tree unread = silent.annotate(annotated, {"prm"});
  for (const NodeId id : method::detail::candidates_of(unread))
    CHECK(std::isnan(unread.annotation("process_reward", id)));  // no score of another model's stays
  CHECK_THROWS_WITH_AS(silent.annotate(tree, {"judge"}), "option 'with' is judge, allowed: prm, embedding",
                       std::invalid_argument);
}

TEST_CASE(
    "on a small world AirRAG answers more than standard RAG, and that more than memory; its trees score their states") {
  const sim::World world({.passages = 300, .questions = 30, .seed = 3});
  const backend::Bm25 index(testing::passages_of(world));
  const auto trees = [&](const std::string& name, bool grows) {
    const auto method = method::make_method(name);
    if (grows) method->options().set("rollouts", "6");
    return testing::trees_of(*method, world.examples(), sim::Model(world.examples()), index, grows, 5);
  };
  const auto right = [&](const std::string& name) {
    const auto grown = trees(name, false);
    std::size_t count = 0;
    for (std::size_t i = 0; i < grown.size(); ++i)
      count += rag::score(rag::Profile::common, output::best_answer(grown[i])->text, world.examples()[i].gold).em == 1;
    return count;
  };
  const std::size_t memory = right("direct"), standard = right("standard-rag"), air = right("airrag");
  CAPTURE(memory);
  CAPTURE(standard);
  CAPTURE(air);
  CHECK(memory < standard);
  CHECK(standard < air);
  CHECK(right("airrag-lite") > standard);
  CHECK(right("airrag-blender") >= air);
  std::size_t scored = 0, between = 0;
  for (const rag::Tree& tree : trees("airrag", true))
    for (const auto& score : method::detail::state_scores(tree, 0.5)) {
      CHECK(score.good <= score.completions);
      scored += score.completions > 0;
      between += score.good > 0 && score.good < score.completions;
    }
  CHECK(scored > 5 * world.examples().size());
  CHECK(between > 0);
}

TEST_CASE("agreement by words, worked out by hand (AirRAG, Eq. 2)") {
  CHECK(jaccard("The Eiffel Tower", "eiffel tower!") == 1);  // articles and punctuation count for nothing
  CHECK(jaccard("Eiffel Tower Paris", "Paris") == doctest::Approx(1.0 / 3));
  CHECK(jaccard("a", "The") == 0);  // articles alone stand as they are
  CHECK(jaccard("A", "a") == 1);
  CHECK(jaccard("", "Paris") == 0);
  const std::vector<std::string> answers{"Rome", "Paris France", "Paris"};
  const auto scores = agreement_scores<std::string>(answers, jaccard);
  CHECK(scores[0] == doctest::Approx(1.0 / 3));
  CHECK(scores[1] == doctest::Approx((1 + 0.5) / 3));
  CHECK(scores[2] == doctest::Approx((1 + 0.5) / 3));
  CHECK(first_best(scores) == 1);  // the first of equals
  CHECK(first_best(std::vector<double>{0.1, 0.3, 0.2}) == 1);
}

TEST_CASE("agreement by embeddings, worked out by hand (AirRAG, Eq. 3)") {
  CHECK(cosine({1, 0}, {1, 1}) == doctest::Approx(0.70710678));
  CHECK(cosine({0, 0}, {1, 1}) == 0);
  CHECK(cosine({2, 0}, {-3, 0}) == doctest::Approx(-1));
  CHECK_THROWS_WITH_AS(cosine({1}, {1, 2}), "embeddings of 1 and 2 numbers", Error);
  const std::vector<Embedding> embeddings{{1, 0}, {0, 1}, {1, 1}};
  const auto scores = agreement_scores<Embedding>(embeddings, cosine);
  CHECK(scores[0] == doctest::Approx((1 + 0 + 0.70710678) / 3));
  CHECK(scores[2] == doctest::Approx((0.70710678 * 2 + 1) / 3));
  CHECK(first_best(scores) == 2);
}

}  // namespace airrag_test
