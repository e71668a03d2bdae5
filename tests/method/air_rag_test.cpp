#include "scripted.hpp"

#include <espalier/run/air.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace espalier;
using method::AirEnvironment;
using method::AirOptions;
using rag::SegmentKind;
using testing::Scripted;

namespace {

RetrieverPort documents(Scheduler& scheduler) {
  return scheduler.retriever([](std::span<const Query> queries) {
    std::vector<Passages> answers;
    for (const Query& query : queries) answers.push_back({Passage("d-" + query.text, "T", "<answer>42</answer>", 1)});
    return answers;
  });
}

/// One tree of a variant, chosen from, as a run makes it.
rag::Tree grow(run::AirMethod::Variant variant, std::map<std::string, std::string> set, Scripted model, bool with_gold = false,
               std::function<std::vector<Embedding>(std::span<const EncodeRequest>)> encoder = nullptr) {
  run::AirMethod method(variant);
  for (const auto& [name, value] : set) method.options().set(name, value);
  method.check();
  Scheduler scheduler;
  run::Ports ports(scheduler.model(std::move(model), Scheduler::unlimited), documents(scheduler));
  if (encoder) ports.encoder = scheduler.encoder(encoder);
  method.prepare(ports, method.prompts());
  rag::Example example;
  example.question = {"q1", "Capital of the home of Ada?"};
  example.gold = {"Paris"};
  return scheduler.run(with_gold ? method.grow(rag::State(example), 7) : method.answer(rag::State(example.question), 7));
}
constexpr auto full = run::AirMethod::Variant::full;
constexpr auto lite = run::AirMethod::Variant::lite;
constexpr auto blender = run::AirMethod::Variant::blender;

Scripted script() {
  Scripted model;
  model.on("say", "Where is Ada's home?\nWhat is the capital of that?").on("da", "Answer: Lyon");
  model.on("ra", [](const Prompt& p) { return std::string(p.slot("query")->find("Ada") != std::string_view::npos ? "In France." : "Paris."); });
  model.on("qt", [](const Prompt& p) { return std::string(p.text().find("### Next query\nWhat is the capital of that?") != std::string::npos ? "Capital of France?" : "None"); });
  model.on("sa", [](const Prompt& p) { return p.slot("history")->find("Paris") != std::string_view::npos ? "Answer: Paris" : "Answer: Rome"; });
  model.on("refine", "Answer: Paris, France").on("reward_model", "<score> 0.5 </score>");
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
std::vector<Kind> legal(const AirOptions& options, const std::vector<std::pair<SegmentKind, std::string>>& steps) {
  Scheduler scheduler;
  const rag::Environment loop(rag::Sampler(scheduler.model(Scripted()), method::air_prompts(), {}), documents(scheduler), {});
  rag::State state(rag::Question{"q", "Q?"});
  for (const auto& [kind, text] : steps) state = state.with(rag::Segment(kind, rag::ModelText(text)));
  return AirEnvironment(loop, options).kinds(state);
}
using Kinds = std::vector<Kind>;
constexpr Kind say = AirEnvironment::say, da = AirEnvironment::da, ra = AirEnvironment::ra, qt = AirEnvironment::qt, sa = AirEnvironment::sa;

NodeId selected(const rag::Tree& tree) {
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.annotation("selected", id) == 1) return id;
  return no_node;
}

}  // namespace

TEST_CASE("the legality of the five actions, by hand (AirRAG, section 3.1)") {
  const std::pair<SegmentKind, std::string> split{SegmentKind::queries, "a\nb"}, none{SegmentKind::queries, "None."}, response{SegmentKind::sub_answer, "r"};
  CHECK(legal({}, {}) == Kinds{say, da});
  CHECK(legal({}, {split}) == Kinds{ra, qt});
  CHECK(legal({}, {none}) == Kinds{ra, qt});
  CHECK(legal({}, {split, response}) == Kinds{qt});                    // b waits
  CHECK(legal({}, {split, response, none}) == Kinds{ra});              // b as it is
  CHECK(legal({}, {split, response, none, response}) == Kinds{sa, qt});
  CHECK(legal({}, {split, response, none, response, none}) == Kinds{sa});  // nothing new
  CHECK(legal({}, {split, response, none, response, {SegmentKind::queries, "c"}}) == Kinds{ra});
  CHECK(legal({}, {none, none}) == Kinds{ra});
  CHECK(legal({}, {{SegmentKind::own_answer, "x"}}) == Kinds{sa});
  CHECK(legal({}, {none, response, {SegmentKind::answer, "x"}}).empty());
  CHECK(legal({.lite = true}, {}) == Kinds{ra, qt});
  CHECK(legal({.lite = true}, {none}) == Kinds{ra});
  CHECK(legal({.lite = true}, {response}) == Kinds{sa, qt});
  CHECK(legal({.max_pairs = 1}, {split, response}) == Kinds{sa});      // no retrievals left for b
  CHECK(legal({.max_depth = 3}, {split, response}) == Kinds{sa});
  std::vector<std::pair<SegmentKind, std::string>> longest{split};
  for (int i = 0; i < 4; ++i) longest.insert(longest.end(), {response, {SegmentKind::queries, "c\nd"}});
  CHECK(legal({}, longest) == Kinds{sa});  // 1 + 2 * 4 + 1 actions
}

TEST_CASE("one rollout, worked out by hand: analysis, the queue, transformation with what was found, summary") {
  const rag::Tree tree = grow(full, {}, script());
  // the root's two children, and the end of the one rollout from the first
  REQUIRE(tree.size() == 4);
  CHECK(tree.action(1).kind == SegmentKind::queries);
  CHECK(tree.action(2).kind == SegmentKind::own_answer);
  CHECK(tree[3].parent == 1);
  CHECK(story(tree.state(3)) ==
        "queries Where is Ada's home?\nWhat is the capital of that? | query Where is Ada's home? | documents d-Where is Ada's home? | sub_answer In France. | "
        "queries Capital of France? | query Capital of France? | documents d-Capital of France? | sub_answer Paris. | answer Paris");
  CHECK(selected(tree) == 3);
  CHECK(output::best_answer(tree)->text == "Paris");
  CHECK(tree.ledger.total().completions == 6);  // say, da, ra, qt, ra, sa
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

TEST_CASE("the answer is chosen by words, by embeddings, by a summary or by a reward model") {
  Scripted model = script();
  model.on("sa", [](const Prompt& p) { return p.sample() == 0 ? "Answer: Rome" : p.sample() == 1 ? "Answer: Paris France" : "Answer: Paris"; });
  const std::map<std::string, std::string> three{{"rollouts", "40"}, {"n_sa", "3"}};
  const auto chosen = [&](std::string how, std::function<std::vector<Embedding>(std::span<const EncodeRequest>)> encoder = nullptr) {
    auto set = three;
    set["select"] = how;
    const rag::Tree tree = grow(full, set, model, false, encoder);
    return output::best_answer(tree)->text;
  };
  CHECK(chosen("jaccard") != "Rome");
  CHECK(chosen("refine") == "Paris, France");
  CHECK(chosen("embedding", [](std::span<const EncodeRequest> texts) {
          std::vector<Embedding> all;
          for (const auto& text : texts) all.push_back(text.text == "Rome" ? Embedding{1, 0.2F} : text.text == "Paris" ? Embedding{1, 0} : Embedding{0.2F, 1});
          return all;
        }) != "Paris France");
  CHECK_THROWS_WITH_AS(chosen("embedding"), "option 'select' is embedding, allowed: another choice where there is no encoder", std::invalid_argument);
  model.on("reward_model", [](const Prompt& p) { return *p.slot("step") == "Rome" ? "<score>0.9</score>" : "<score>0.1</score>"; });
  CHECK(chosen("reward_model") == "Rome");
  model.on("reward_model", [](const Prompt& p) { return *p.slot("step") == "Rome" ? "<score>85/100</score>" : "<score>0.1</score>"; });
  CHECK(chosen("reward_model") != "Rome");  // what cannot be read is no score
}

TEST_CASE("Lite starts with retrieval or transformation; Blender pools other methods' answers and refines them") {
  const rag::Tree small = grow(lite, {}, script());
  CHECK(small.ledger.total().completions == 3);  // ra, qt, sa
  Scripted model = script();
  model.on("answer", "Nice").on("next", "So the final answer is: Lille");
  std::string shown;
  model.on("refine", [&shown](const Prompt& p) {
    shown = p.slot("candidates").value_or("");
    return "Answer: Paris";
  });
  const rag::Tree blended = grow(blender, {}, model);
  CHECK(output::best_answer(blended)->text == "Paris");
  CHECK(shown == "- Nice\n- Lille\n- Nice\n- Paris\n");
}

TEST_CASE("L_max caps the input tokens of all rollouts") {
  const rag::Tree tree = grow(full, {{"rollouts", "100"}, {"l_max", "100"}}, script());
  CHECK(tree.ending == Ending::budget);
  CHECK(tree.ledger.total().prompt_tokens >= 100);
  CHECK(tree.ledger.total().prompt_tokens < 160);
  CHECK(output::best_answer(tree));
}

TEST_CASE("states are scored by the share of good completions through them, worked out by hand") {
  const rag::Tree tree = grow(full, {{"rollouts", "2"}}, script(), true);
  const auto scores = output::state_scores(tree, 0.5);  // one chain to Paris, one to Rome
  CHECK(scores[0].completions == 2);
  CHECK(scores[0].good == 1);
  CHECK(scores[1].good == 1);
  CHECK(scores[2].completions == 1);
  CHECK(scores[2].good == 0);
  std::string rows;
  output::append_state_scores({tree, "airrag", 7, "{}"}, 0.5, rows);
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 2);
  CHECK(rows.find(R"("answer":"Paris","f1":1,"good":true)") != std::string::npos);
  CHECK(rows.find(R"("answer":"Rome","f1":0,"good":false,"steps":[{"segments":[{"kind":"own_answer","text":"Lyon"}],"score":0,"completions":1,"node":2})") !=
        std::string::npos);
  CHECK(rows.find("42") == std::string::npos);  // no documents
}

TEST_CASE("presets and options say what they are") {
  run::AirMethod paper(full), code(full);
  paper.preset("paper");
  code.preset("code");
  CHECK(paper.options().json() != code.options().json());
  CHECK(code.options().json().find(R"("terminal_reward":"self_consistency")") != std::string::npos);
  CHECK_THROWS_AS(grow(full, {{"n_sa", "0"}}, script()), std::invalid_argument);
  CHECK_THROWS_AS(grow(full, {{"max_depth", "1"}}, script()), std::invalid_argument);
}
