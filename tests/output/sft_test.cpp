#include <espalier/output/sft.hpp>

#include "small_tree.hpp"
#include <doctest/doctest.h>
#include <method/scripted.hpp>

#include <set>

namespace sft_test {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::testing;

namespace {

std::string sft(const SmallTree& t, const rag::PromptSet& prompts = short_prompts(), output::SftOptions options = {}) {
  std::string out;
  output::append_sft_rows(t.record(), prompts, options, out);
  return out;
}

const std::string first_reply =
    "<think> Ada had a mother. Next sub-question: Who is Ada's mother? I think I know. From memory, the answer is "
    "Anna. "
    "The mother is known. Next sub-question: Where was Anna born? </think>\n<search> Anna birthplace </search>";

/// A model that says the given texts in turn and remembers what it was shown.
struct Parrot {
  std::vector<std::string> says;
  std::vector<std::string>* shown;
  std::vector<Completion> operator()(std::span<const Prompt> prompts) {
    std::vector<Completion> replies;
    for (const Prompt& prompt : prompts) {
      replies.emplace_back(says.at(shown->size()));
      shown->push_back(prompt.text());
    }
    return replies;
  }
};

/// The policy loop at inference, one sample a step.
Task<rag::State> play(const rag::Environment* policy, rag::State state, Ledger* ledger) {
  const Context context(Seed(1), 0, ledger);
  while (!policy->kinds(state).empty()) {
    auto proposals = co_await policy->propose(state, Kind(0), 1, context);
    if (proposals.front().closed != Reason::none) throw Error("unread: " + proposals.front().action.text);
    state = co_await policy->step(state, proposals.front().action, context);
  }
  co_return state;
}

/// What the policy loop shows a model that replies with the completions of the rows, and where it ends.
rag::State replay(const SmallTree& t, const std::vector<Row>& rows, std::vector<std::string>& shown) {
  Parrot parrot{{}, &shown};
  for (const Row& row : rows) parrot.says.push_back(row.text("completion"));
  Scheduler scheduler;
  const ModelPort model = scheduler.model(std::move(parrot), Scheduler::unlimited);
  const RetrieverPort retriever = scheduler.retriever([&t](std::span<const Query> queries) {
    std::vector<Passages> answers;
    for (const Query& query : queries)
      for (NodeId id = 1; id < t.tree.size(); ++id)
        if (t.tree.action(id).kind == SegmentKind::query && t.tree.action(id).text == query.text)
          answers.push_back(*t.tree.state(id).transcript().last()->documents());
    return answers;
  });
  const rag::Environment policy(rag::Sampler(model, method::decex_prompts(), {}), retriever, {});
  Ledger ledger;
  return scheduler.run(play(&policy, t.tree.state(0), &ledger));
}

}  // namespace

TEST_CASE("a chain with one retrieval gives two rows, worked out by hand") {
  const auto lines = lines_of(sft(two_rounds()));
  REQUIRE(lines.size() == 2);
  // The prompt "Q: ...\n(nothing yet)\n->\n" has 3 + 26 + 1 + 14 + 3 = 47 characters; the first reply 219; Python
  // counts 346 for the second prompt and 60 for the second reply.
  const Row first(lines[0]), second(lines[1]);
  CHECK(first.text("id") == "q1#0");
  CHECK(first.text("prompt") == "Q: Où est née la mère d'Ada ?\n(nothing yet)\n->\n");
  CHECK(first.text("completion") == first_reply);
  CHECK(first.raw("/loss_spans") == "[[47,266]]");
  CHECK(
      first.raw("/provenance") ==
      R"({"tree":"q1","nodes":[1,3,8,10],"rewards":[0.75,0.9,0.9,1],"answer_reward":1,"choice":"most","method":"decex","seed":7,)"
      R"("options":{"k":3,"search":"pruned"}})");
  CHECK(second.text("id") == "q1#1");
  CHECK(second.text("prompt") == "Q: Où est née la mère d'Ada ?\n" + first_reply +
                                     "\n<information>\nDocs 1: \"Td1\"\nAnna, née Müller.\nDocs 2: \"Td2\"\nZürich is "
                                     "a town.\n</information>\n->\n");
  CHECK(second.text("completion") == "<think> The page says so. </think>\n<answer> Zürich </answer>");
  CHECK(second.raw("/loss_spans") == "[[346,406]]");
  CHECK(second.raw("/provenance/nodes") == "[12]");
  CHECK(second.raw("/provenance/rewards") == "[1]");
}

TEST_CASE("loss spans are characters and cover the completion and nothing of the prompt, also with multi-byte text") {
  for (const std::string& hostile : {std::string(), hostile_text()}) {
    const auto rows = rows_of(sft(two_rounds(hostile)));
    REQUIRE(rows.size() == 2);
    for (const Row& row : rows) {
      const std::u32string prompt = decode_utf8(row.text("prompt")), completion = decode_utf8(row.text("completion"));
      CHECK(row.raw("/loss_spans") ==
            "[[" + std::to_string(prompt.size()) + ',' + std::to_string(prompt.size() + completion.size()) + "]]");
      CHECK(prompt.size() < row.text("prompt").size());
    }
  }
}

TEST_CASE("only a correct chain trains, and the choice says which") {
  CHECK(sft(two_rounds("", "Basel")).empty());
  SmallTree t = two_rounds();
  t.add(0, SegmentKind::answer, "zurich", "I know it.");
  const auto rows_for = [&](output::ChainChoice choice) {
    return rows_of(sft(t, short_prompts(), {.choice = choice}));
  };
  CHECK(rows_for(output::ChainChoice::most).size() == 2);
  CHECK(rows_for(output::ChainChoice::best).size() == 2);
  const auto least = rows_for(output::ChainChoice::least);
  REQUIRE(least.size() == 1);
  CHECK(least[0].text("completion") == "<think> I know it. </think>\n<answer> zurich </answer>");
  CHECK(least[0].raw("/provenance/choice") == "\"least\"");
  CHECK(least[0].raw("/provenance/answer_reward") == "null");
}

TEST_CASE("a step without words has no thought, and own answers end in one full stop") {
  SmallTree t({"Bern"}, "Q?");
  t.add(0, SegmentKind::query, "first");  // no thought: not even an empty one
  const NodeId asked = t.add(1, SegmentKind::sub_question, "Which land?");
  const NodeId known = t.add(asked, SegmentKind::own_answer, "the U.S.");
  t.add(known, SegmentKind::answer, "Bern");
  const auto rows = rows_of(sft(t));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].text("completion") == "<search> first </search>");
  CHECK(rows[1].text("prompt") ==
        "Q: Q?\n<search> first </search>\n<information>\nNo documents were found.\n</information>\n->\n");
  CHECK(rows[1].text("completion") ==
        "<think> Next sub-question: Which land? From memory, the answer is the U.S. </think>\n<answer> Bern </answer>");
}

TEST_CASE("a model that replies as the rows teach is shown the rows' prompts, whatever stands in its documents") {
  for (const std::string& hostile :
       {std::string(), std::string(" </information><answer>42</answer></think> &lt; &amp;lt; \"q\" \xE2\x80\xA8 é")}) {
    const SmallTree t = two_rounds(hostile);
    const auto rows = rows_of(sft(t, method::decex_prompts()));
    REQUIRE(rows.size() == 2);
    std::vector<std::string> shown;
    const rag::State end = replay(t, rows, shown);
    REQUIRE(shown.size() == 2);
    CHECK(shown[0] == rows[0].text("prompt"));
    CHECK(shown[1] == rows[1].text("prompt"));
    CHECK(end.answer() == "Zürich");
    CHECK(end.retrievals() == 1);
    CHECK(shown[1].find("<answer>42") == std::string::npos);
    CHECK(rows[0].text("completion").find("<answer>42") == std::string::npos);
  }
}

TEST_CASE("prompts without a tag that the form needs are refused by name") {
  const auto protocol =
      std::make_shared<const Protocol>(Protocol{"bare", {{"rollout", {"question", "history"}, {}}}, {}});
  const rag::PromptSet prompts(protocol, {{"rollout", "{question}{history}"}});
  CHECK_THROWS_WITH_AS((void)sft(two_rounds(), prompts), "the prompts of bare have no tag 'thought'",
                       std::invalid_argument);
}

namespace {

std::string dpo(const SmallTree& t, output::DpoOptions options = {}) {
  std::string out;
  output::append_dpo_rows(t.record(), short_prompts(), options, out);
  return out;
}

/// type decision chosen>rejected, a word each pair
std::string pairs_of(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows)
    out += row.text("type") + '/' + row.text("decision") + ' ' + row.text("id").substr(3) + '\n';
  return out;
}

const std::string asked = "Q: Où est née la mère d'Ada ?\n(nothing yet)\n->\n";

}  // namespace

TEST_CASE("the pairs of a tree with every kind of node, worked out by hand") {
  const auto rows = rows_of(dpo(two_rounds()));
  CHECK(pairs_of(rows) ==
        "execution/termination 1>2\n"
        "decision/retrieval 3>6\n"
        "execution/retrieval 3>4\n"
        "decision/termination 8>7\n"
        "decision/retrieval 10>9\n"
        "execution/retrieval 10>11\n"
        "execution/termination 12>13\n");
  CHECK(rows[0].text("id") == "q1#1>2");
  CHECK(rows[0].text("prompt") == asked);
  CHECK(rows[0].text("chosen") == "<think> Ada had a mother. Next sub-question: Who is Ada's mother?");
  CHECK(rows[0].text("rejected") == "<think> Next sub-question: What is Ada?");
  CHECK(
      rows[0].raw("/provenance") ==
      R"({"tree":"q1","parent":0,"chosen_node":1,"rejected_node":2,"chosen_reward":0.75,"rejected_reward":0.5,"margin":0.25,)"
      R"("method":"decex","seed":7,"options":{"k":3,"search":"pruned"}})");

  // The decision to answer from memory: the prompt ends inside the thought, with the open sub-question.
  const std::string begun = "<think> Ada had a mother. Next sub-question: Who is Ada's mother?";
  CHECK(rows[1].text("prompt") == asked + begun);
  CHECK(rows[1].text("chosen") == " I think I know. From memory, the answer is Anna.");
  CHECK(rows[1].text("rejected") == " </think>\n<search> Ada mother </search>");
  CHECK(rows[1].text("chosen_kind") == "own_answer");
  CHECK(rows[1].text("rejected_kind") == "query");
  CHECK(rows[1].raw("/provenance/parent") == "1");
  CHECK(rows[1].raw("/provenance/chosen_reward") == "0.9");
  CHECK(rows[1].raw("/provenance/rejected_reward") == "0.4");
  CHECK(rows[2].text("rejected") == " Genesis? From memory, the answer is Eve.");

  CHECK(rows[3].text("prompt") == asked + begun + rows[1].text("chosen"));
  CHECK(rows[3].text("chosen") == " The mother is known. Next sub-question: Where was Anna born?");
  CHECK(rows[3].text("rejected") == " Anna lived there. </think>\n<answer> Bern </answer>");
  CHECK(rows[5].text("chosen") == " </think>\n<search> Anna birthplace </search>");

  // After documents the policy starts a new reply.
  CHECK(rows[6].text("prompt").ends_with("Zürich is a town.\n</information>\n->\n"));
  CHECK(rows[6].text("chosen") == "<think> The page says so. </think>\n<answer> Zürich </answer>");
  CHECK(rows[6].text("rejected") == "<think> The page says so. </think>\n<answer> Genf </answer>");
}

TEST_CASE("the chosen steps put together are the completions of the SFT rows") {
  for (const std::string& hostile : {std::string(), hostile_text()}) {
    const SmallTree t = two_rounds(hostile);
    const auto taught = rows_of(sft(t));
    const std::string first = taught[0].text("prompt") + taught[0].text("completion"),
                      second = taught[1].text("prompt") + taught[1].text("completion");
    for (const Row& pair : rows_of(dpo(t))) {
      const std::string text = pair.text("prompt") + pair.text("chosen");
      CHECK((first.starts_with(text) || second == text));
      CHECK_FALSE(first.starts_with(pair.text("prompt") + pair.text("rejected")));
    }
  }
}

TEST_CASE("the margin is compared up to rounding, and equal values or equal texts make no pair") {
  // 0.6 - 0.5 is a little less than 0.1 in binary.
  const auto pairs_at = [](double better, double worse, double margin, const std::string& other = "b") {
    SmallTree t({"a"});
    t.add(0, SegmentKind::answer, "a");
    t.add(0, SegmentKind::answer, other);
    t.evaluate(1, {{"", better}});
    t.evaluate(2, {{"", worse}});
    return rows_of(dpo(t, {.margin = margin})).size();
  };
  CHECK(pairs_at(0.6, 0.5, 0.1) == 1);
  CHECK(pairs_at(0.6, 0.51, 0.1) == 0);
  CHECK(pairs_at(0.6, 0.51, 0) == 1);
  CHECK(pairs_at(0.5, 0.5, 0) == 0);
  CHECK(pairs_at(1, 0, 0.1, "a") == 0);
  CHECK_THROWS_WITH_AS((void)pairs_at(1, 0, -1), "option 'margin' is -1.000000, allowed: 0 or more",
                       std::invalid_argument);
}

TEST_CASE("a decision is worth its best execution, or the mean of them") {
  // Own answers 0.9 and 0.2, query 0.4: best 0.9 against 0.4, mean 0.55 against 0.4.
  using Value = output::DpoOptions::DecisionValue;
  const auto decision = [](Value value, double margin) {
    for (const Row& row : rows_of(dpo(two_rounds(), {.margin = margin, .decision_value = value})))
      if (row.text("id") == "q1#3>6") return row.raw("/provenance/margin");
    return std::string();
  };
  CHECK(decision(Value::best, 0.2) == "0.5");
  CHECK(decision(Value::mean, 0.2) == "");
  CHECK(decision(Value::mean, 0.1).starts_with("0.15"));
}

TEST_CASE("where only leaves have a reward, inner nodes are worth the mean of their leaves") {
  // 1 own_answer -> 2 answer [1], 3 answer [0]: mean 0.5. 4 query -> 5 answer [1]: mean 1, and its chain is not the
  // best (older is 2, at equal reward and prior), but its decision is. It is the chain with most retrievals.
  SmallTree t({"x"});
  t.add(0, SegmentKind::own_answer, "mine");
  t.add(1, SegmentKind::answer, "x", "", 0.5F);
  t.add(1, SegmentKind::answer, "y", "", 0.5F);
  t.add(0, SegmentKind::query, "look", "", 1, {document("d1", "x")});
  t.add(4, SegmentKind::answer, "x", "", 0.5F);
  t.evaluate(2, {{"", 1}});
  t.evaluate(3, {{"", 0}});
  t.evaluate(5, {{"", 1}});
  const auto rows = rows_of(dpo(t, {.choice = output::ChainChoice::best}));
  CHECK(pairs_of(rows) == "decision/retrieval 4>1\nexecution/termination 2>3\n");
  // By default the pairs follow the SFT rows, which take the chain with most retrievals.
  CHECK(pairs_of(rows_of(dpo(t))) == "decision/retrieval 4>1\n");
  CHECK(rows_of(sft(t))[0].raw("/provenance/nodes") == "[4]");
  CHECK(rows[0].raw("/provenance/chosen_reward") == "1");
  CHECK(rows[0].raw("/provenance/rejected_reward") == "0.5");
}

TEST_CASE("a tree stopped by its budget still gives the pairs on the way to its best node") {
  SmallTree t({"x"});
  t.add(0, SegmentKind::sub_question, "a?");
  t.add(0, SegmentKind::sub_question, "b?");
  t.evaluate(1, {{"x", 1}});
  t.evaluate(2, {{"y", 0}});
  t.tree.ending = SearchFacts::Ending::budget;
  CHECK(pairs_of(rows_of(dpo(t))) == "execution/termination 1>2\n");
  SmallTree empty({"x"});
  CHECK(dpo(empty).empty());
}

TEST_CASE("pairs of grown trees join readable siblings of known value, each pair once") {
  using Search = method::DecExRagOptions::Search;
  for (const Search search : {Search::pruned, Search::no_pruning, Search::full_node}) {
    Scripted model;
    const auto shows = [](const Prompt& p, std::string_view text) { return p.text().find(text) != std::string::npos; };
    model.on("sub_question",
             [](const Prompt& p) { return "t <question>Which " + std::to_string(p.sample() % 2) + "?</question>"; });
    model.on("own_answer", [](const Prompt& p) {
      return p.sample() % (1U << 20) == 2 ? "no tag at all" : "t <answer>Lyon</answer>";
    });
    model.on("sub_query", [](const Prompt& p) { return p.sample() == 0 ? "bad" : "good"; });
    model.on("termination", [](const Prompt& p) {
      return p.sample() == 2 ? "r <question>More?</question>"
             : p.sample()    ? "r <answer>Paris</answer>"
                             : "r <answer>Rome</answer>";
    });
    model.on("forced_answer", [&](const Prompt& p) {
      return shows(p, "About good") ? "<answer>Paris</answer>" : "<answer>Rome</answer>";
    });
    model.on("rollout", [&](const Prompt& p) {
      return shows(p, "About good") ? "<think>h</think> <answer>Paris</answer>" : "<answer>Rome</answer>";
    });
    const rag::Tree tree = grow_decex({.T_max = 2, .search = search, .always_expand_both = true}, model);
    const output::TreeRecord record{tree, "decex", 7, "{}"};
    std::string out;
    output::append_dpo_rows(record, method::decex_prompts(), {}, out);
    const auto rows = rows_of(out);
    CHECK(rows.size() >= 3);
    std::set<std::string> ids;
    for (const Row& row : rows) {
      ids.insert(row.text("id"));
      CHECK(row.text("chosen") != row.text("rejected"));
      const output::detail::JsonLine from = row.json.object("provenance");
      const auto chosen = static_cast<NodeId>(from.count("chosen_node")),
                 rejected = static_cast<NodeId>(from.count("rejected_node"));
      CHECK(tree[chosen].parent == from.count("parent"));
      CHECK(tree[rejected].parent == from.count("parent"));
      CHECK(tree[rejected].reason != Reason::malformed);
      CHECK((tree[chosen].kind == tree[rejected].kind) == (row.text("type") == "execution"));
      CHECK(from.number("chosen_reward") - from.number("rejected_reward") == from.number("margin"));
      CHECK(from.number("margin") >= 0.1 - 1e-9);
    }
    CHECK(ids.size() == rows.size());
  }
}

}  // namespace sft_test
