#include <espalier/output/answers.hpp>
#include <espalier/output/dpo.hpp>
#include <espalier/output/sft.hpp>
#include <espalier/output/tree_reader.hpp>

#include "small_tree.hpp"
#include <backend/temporary_folder.hpp>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace tree_json_test {

using namespace espalier;
using namespace espalier::testing;
using namespace espalier::test;

namespace {

std::string written(const output::TreeRecord& record) {
  std::string line;
  output::append_tree(record, line);
  return line;
}
output::RecordedTree reread(const std::string& line) {
  const TemporaryFolder folder;
  write_bytes(folder / "trees.jsonl", line);
  auto trees = output::read_trees(folder / "trees.jsonl");
  REQUIRE(trees.size() == 1);
  return std::move(trees[0]);
}

/// Everything that outputs see of a state.
std::string shown(const rag::State& state) {
  std::string out = std::to_string(state.iterations()) + '/' + std::to_string(state.retrievals());
  for (const rag::Segment* segment : state.transcript().segments()) {
    (out += '|') += rag::name(segment->kind());
    if (!segment->documents()) (out += ':') += segment->words();
    else
      for (const Passage& p : *segment->documents())
        out += ':' + p.id() + '~' + p.title() + '~' + p.text() + '~' + std::to_string(p.score());
  }
  return out;
}

void check_equal(const rag::Tree& a, const rag::Tree& b) {
  REQUIRE(a.size() == b.size());
  for (NodeId id = 0; id < a.size(); ++id) {
    CAPTURE(id);
    CHECK(a[id].total == b[id].total);
    CHECK(a[id].visits == b[id].visits);
    CHECK(a[id].parent == b[id].parent);
    CHECK(a.children(id) == b.children(id));
    CHECK(a[id].prior == b[id].prior);
    CHECK(a[id].kind == b[id].kind);
    CHECK(a[id].status == b[id].status);
    CHECK(a[id].reason == b[id].reason);
    CHECK(a[id].evaluated == b[id].evaluated);
    CHECK(a.action(id) == b.action(id));
    CHECK(a.action(id).text == b.action(id).text);
    CHECK(a.action(id).thought == b.action(id).thought);
    CHECK(a.action(id).forced == b.action(id).forced);
    CHECK(shown(a.state(id)) == shown(b.state(id)));
  }
  REQUIRE(a.rollouts.size() == b.rollouts.size());
  for (std::size_t i = 0; i < a.rollouts.size(); ++i) {
    CHECK(a.rollouts[i].node == b.rollouts[i].node);
    CHECK(a.rollouts[i].value == b.rollouts[i].value);
    CHECK(shown(a.rollouts[i].state) == shown(b.rollouts[i].state));
  }
  REQUIRE(a.skips.size() == b.skips.size());
  for (std::size_t i = 0; i < a.skips.size(); ++i)
    CHECK(std::pair(a.skips[i].node, a.skips[i].kind) == std::pair(b.skips[i].node, b.skips[i].kind));
  for (NodeId id = 0; id < a.size(); ++id)
    for (const auto& [name, numbers] : a.annotations) {
      const double x = a.annotation(name, id), y = b.annotation(name, id);
      CHECK((x == y || (std::isnan(x) && std::isnan(y))));
    }
  CHECK(a.annotations.size() == b.annotations.size());
  CHECK(a.ledger == b.ledger);
  CHECK(a.ending == b.ending);
  CHECK(a.seed.value() == b.seed.value());
}

std::string all_outputs(const output::TreeRecord& record) {
  std::string out;
  output::detail::append_answer_row(output::detail::answer_row(record), out);
  output::append_sft_rows(record, short_prompts(), {}, out);
  output::append_dpo_rows(record, short_prompts(), {}, out);
  return out;
}

}  // namespace

TEST_CASE("a tree is one line of JSON in the documented form") {
  SmallTree t({"Bern"}, "Capital?");
  t.add(0, SegmentKind::query, "swiss capital", "Look.", 0.75F, {Passage("d1", "Bern", "A town.", 1.5)});
  t.add(1, SegmentKind::answer, "Bern", "", 1);
  t.evaluate(1, {{"Bern", 1}, {"", 0}});
  t.evaluate(2, {{"", 1}});
  t.tree.prune(2, Reason::budget);
  t.tree.ending = SearchFacts::Ending::budget;
  t.tree.skips.push_back({1, 17});
  t.tree.ledger["rollout"] = {2, 30, 4, 0};
  // Node 1 was visited by its own evaluation (1/2) and its child's (1).
  CHECK(
      written(t.record()) ==
      R"({"id":"q1","question":"Capital?","golden_answers":["Bern"],"oracle":true,"method":"decex","status":"budget","seed":7,)"
      R"("options":{"k":3,"search":"pruned"},"documents":{"d1":{"title":"Bern","text":"A town."}},"nodes":[)"
      R"({"id":0,"parent":null,"visits":2,"value":0.75,"total":1.5,"reward":null,"prior":1,"evaluated":false,"status":"expanded"},)"
      R"({"id":1,"parent":0,"kind":"query","text":"swiss capital","thought":"Look.","key":"key of swiss capital",)"
      R"("documents":[{"id":"d1","score":1.5}],"visits":2,"value":0.75,"total":1.5,"reward":0.5,"prior":0.75,"evaluated":true,"status":"expanded"},)"
      R"({"id":2,"parent":1,"kind":"answer","text":"Bern","thought":"","key":"key of Bern",)"
      R"("visits":1,"value":1,"total":1,"reward":1,"prior":1,"evaluated":true,"status":"pruned","reason":"budget"}],)"
      R"("rollouts":[{"node":1,"reward":1,"answer":"Bern","steps":[{"answer":"Bern"}]},{"node":1,"reward":0,"answer":null,"steps":[]},)"
      R"({"node":2,"reward":1,"answer":"Bern","steps":[]}],"skips":[{"node":1,"kind":17}],)"
      R"("costs":{"rollout":{"completions":2,"prompt_tokens":30,"completion_tokens":4,"retrievals":0}}})"
      "\n");
}

TEST_CASE("a node that added more than its action says keeps all of it") {
  SmallTree t({"Bern"}, "Capital?");
  const rag::State state = t.tree.state(0)
                               .with(rag::Segment(SegmentKind::query, rag::ModelText("swiss capital")))
                               .with(rag::Segment(Passages{Passage("d1", "Bern", "A town.", 1.5)}))
                               .with(rag::Segment(SegmentKind::sub_answer, rag::ModelText("It is Bern.")));
  t.tree.add(0, rag::Action(SegmentKind::sub_answer, "It is Bern.", "", "bern"), state,
             static_cast<Kind>(SegmentKind::sub_answer), 0.5F);
  const std::string line = written(t.record());
  CHECK(
      line.find(
          R"("steps":[{"query":"swiss capital"},{"documents":[{"id":"d1","score":1.5}]},{"sub_answer":"It is Bern."}])") !=
      std::string::npos);
  const auto read = reread(line);
  check_equal(t.tree, read.tree);
  CHECK(written(read.record()) == line);
}

TEST_CASE("a tree that was written and read is the same tree, and writes the same line") {
  SmallTree t = two_rounds(" </information><answer>42</answer> &lt; \"q\" \\ \n \xE2\x80\xA8 é");
  t.tree[10].total += 1.0 / 3;
  const rag::State end =
      t.tree.state(9)
          .with(rag::Segment(SegmentKind::thought, rag::ModelText("hm")))
          .with(rag::Segment(SegmentKind::query, rag::ModelText("q2")))
          .with(rag::Segment(Passages{Passage("d9", "", "nine", 0.1), document("d3", "Nothing here.")}))
          .with(rag::Segment(SegmentKind::own_answer, rag::ModelText("own")));
  t.tree.rollouts.push_back({9, end, 0.3});
  t.tree.ledger.add_unread("rollout", Ledger::Unread("\x1b[31m <script>\n\"é\"", 512, Seed(3), 1));
  t.tree.ledger.add_unread("termination", Ledger::Unread("", 0, Seed(3), 1));
  const std::string before = written(t.record());
  for (const char* name : {"cut_read", "refused", "repairs", "repaired", "constrained"})
    CHECK(before.find('"' + std::string(name) + '"') == std::string::npos);  // none where it is 0
  t.tree.ledger["judge"] = Ledger::Costs{9, 80, 70, 0, 5, 1, 2, 3, 4, 1, 6};
  const std::string line = written(t.record());
  CHECK(line.find(R"("judge":{"completions":9,"prompt_tokens":80,"completion_tokens":70,"retrievals":0,"unread":5,)"
                  R"("cut":1,"cut_read":2,"refused":3,"repairs":4,"repaired":1,"constrained":6})") !=
        std::string::npos);
  CHECK(line.find('\n') == line.size() - 1);
  CHECK(
      line.find(
          R"("first_unread":{"rollout":{"text":"\u001b[31m <script>\n\"é\"","cut_at":512},"termination":{"text":""}})") !=
      std::string::npos);
  const auto read = reread(line);
  check_equal(t.tree, read.tree);
  CHECK(read.method == "decex");
  CHECK(read.seed == 7);
  CHECK(read.options == R"({"k":3,"search":"pruned"})");
  CHECK(written(read.record()) == line);
  CHECK(all_outputs(read.record()) == all_outputs(t.record()));
  CHECK(all_outputs(t.record()).size() > 3000);
}

TEST_CASE("lines of earlier versions, which do not say whether gold steered them, tell it by their golden answers") {
  for (const bool gold : {true, false}) {
    const SmallTree t(gold ? rag::Gold{"x"} : rag::Gold{});
    const std::string line = written(t.record()), said = std::string(R"("oracle":)") + (gold ? "true," : "false,");
    std::string earlier = line;
    REQUIRE(line.find(said) != std::string::npos);
    const auto read = reread(earlier.erase(line.find(said), said.size()));
    CHECK(output::oracle(read.tree) == gold);
    CHECK(written(read.record()) == line);
  }
}

TEST_CASE("hostile bytes come out as valid JSON and from then on stay as they are") {
  const SmallTree t = two_rounds(hostile_text());
  const std::string line = written(t.record());
  CHECK(line.find('\n') == line.size() - 1);
  CHECK(simdjson::validate_utf8(line));
  const auto read = reread(line);
  CHECK(written(read.record()) == line);
  CHECK(all_outputs(read.record()) == all_outputs(t.record()));
}

TEST_CASE("a passage stands once, and one id with several texts loses none") {
  SmallTree t({"x"});
  const Passage one("0", "T", "first"), two("0", "T", "second"), taken("0#2", "T", "third");
  t.add(0, SegmentKind::query, "a", "", 1, {one, taken});
  t.add(0, SegmentKind::query, "b", "", 1, {two.scored(3), one.scored(2)});
  t.add(0, SegmentKind::query, "c", "", 1, {});
  const std::string line = written(t.record());
  CHECK(
      line.find(
          R"("documents":{"0":{"title":"T","text":"first"},"0#2":{"title":"T","text":"third"},"0#3":{"id":"0","title":"T","text":"second"}})") !=
      std::string::npos);
  const auto read = reread(line);
  check_equal(t.tree, read.tree);
  CHECK(written(read.record()) == line);
}

TEST_CASE(
    "a node whose rollouts could not be read keeps its own state, one that could not be read itself has its parent's") {
  SmallTree t({"x"});
  const NodeId unread = t.add(0, SegmentKind::query, "q", "", 1, {document("d1", "text")});
  t.tree[unread].evaluated = true;
  t.tree.prune(unread, Reason::malformed);
  t.add_malformed(0, SegmentKind::query, "raw <search>");
  t.tree.prune(t.add_malformed(0, SegmentKind::own_answer, "I don't know"), Reason::refused);
  const auto read = reread(written(t.record()));
  check_equal(t.tree, read.tree);
  CHECK(read.tree.state(1).retrievals() == 1);
  CHECK(read.tree.state(2).retrievals() == 0);
  CHECK(read.tree.state(3).iterations() == 0);
  CHECK(read.tree[3].reason == Reason::refused);
}

TEST_CASE("a record without options writes an object all the same") {
  const SmallTree t({});
  const output::TreeRecord record{.tree = t.tree, .method = "decex", .seed = 1};
  CHECK(written(record).find(R"("seed":1,"options":{},)") != std::string::npos);
}

TEST_CASE("numbers survive: large seeds, small shares, sums that are no number") {
  SmallTree t({});
  t.add(0, SegmentKind::answer, "a", "", 1.0F / 3);
  t.tree[1].total = std::numeric_limits<double>::quiet_NaN();
  t.tree[1].visits = std::numeric_limits<std::uint32_t>::max();
  output::TreeRecord record = t.record();
  record.seed = ~std::uint64_t(0);
  record.options = R"({"a":1e-07,"b":[true,null,"é\n"],"c":0.30000000000000004})";
  const std::string line = written(record);
  const auto read = reread(line);
  CHECK(read.seed == record.seed);
  CHECK(read.tree[1].prior == 1.0F / 3);
  CHECK(read.tree[1].total != read.tree[1].total);
  CHECK_FALSE(output::oracle(read.tree));
  CHECK(line.find(R"("golden_answers":[],"oracle":false,)") != std::string::npos);
  CHECK(written(read.record()) == line);
}

TEST_CASE_FIXTURE(test::InFolder, "a damaged tree is refused with file, line and field") {
  const std::string good = written(two_rounds().record());
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    const auto at = line.find(from);
    REQUIRE(at != std::string::npos);
    write_bytes(folder / "t", good + line.replace(at, from.size(), to));
    try {
      (void)output::read_trees(folder / "t");
    } catch (const InputError& error) {
      return std::string(error.what()).substr((folder / "t").size());
    }
    return std::string();
  };
  CHECK(refusal(R"("method":"decex",)", "") == ":2: field 'method': is missing");
  CHECK(refusal(R"("oracle":true)", R"("oracle":"no")") == ":2: field 'oracle': is not true or false");
  CHECK(refusal(R"("oracle":true)", R"("oracle":false)") == ":2: field 'oracle': contradicts golden_answers");
  CHECK(refusal("golden_answers", "no_answers") == ":2: field 'oracle': contradicts golden_answers");
  CHECK(refusal(R"("seed":7)", R"("seed":-7)") == ":2: field 'seed': is not a whole number from 0");
  CHECK(refusal(R"("id":3,"parent":1)", R"("id":3,"parent":99)") ==
        ":2: field 'nodes[3].parent': names a node that is not there");
  CHECK(refusal(R"("id":3,"parent":1)", R"("id":3,"parent":null)") ==
        ":2: field 'nodes[3].parent': is missing, or the root has one");
  CHECK(refusal(R"("id":3,"parent":1)", R"("id":4,"parent":1)") ==
        ":2: field 'nodes[3].id': is not the node's place in the list");
  CHECK(refusal(R"("kind":"own_answer")", R"("kind":"guess")") == ":2: field 'nodes[3].kind': has an unknown value");
  CHECK(refusal(R"("kind":"own_answer")", R"("kind":"documents")") ==
        ":2: field 'nodes[3].kind': is no words of a model");
  CHECK(refusal(R"([{"id":"d1")", R"([{"id":"d7")") ==
        ":2: field 'nodes[6].documents[0].id': names a document that is not there");
  CHECK(refusal(R"("steps":[{"answer")", R"("steps":[{"guess")") ==
        ":2: field 'rollouts[0].steps[0].': has no kind of step");
  CHECK(refusal(R"("visits":)", R"("visits":99999999999,"was":)") == ":2: field 'nodes[0].visits': is too large");
  CHECK(refusal(R"("evaluated":true)", R"("evaluated":1)") == ":2: field 'nodes[1].evaluated': is not true or false");
  CHECK(refusal(R"("prompt_tokens":3400,)", "") == ":2: field 'costs.rollout.prompt_tokens': is missing");
  CHECK(refusal(R"("options":{"k":3,"search":"pruned"})", R"("options":3)") == ":2: field 'options': is not an object");
}

TEST_CASE("a tree with random damage is refused by its line, or gives its answer and its rows") {
  const TemporaryFolder folder;
  const std::string good = written(two_rounds().record());
  Random random{Seed(11)};
  int refused = 0, accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string bytes(good, 0, good.size() - 1);
    const std::uint32_t at = random.below(static_cast<std::uint32_t>(bytes.size()));
    const std::uint32_t damage = random.below(3);
    if (damage == 0) bytes[at] = "0123456789-\"{}[],:ntf"[random.below(21)];
    else if (damage == 1) bytes.erase(at, 1 + random.below(9));
    else bytes.insert(at, bytes.substr(at, random.below(60)));
    write_bytes(folder / "t", good + bytes);
    try {
      for (const auto& tree : output::read_trees(folder / "t")) CHECK_FALSE(all_outputs(tree.record()).empty());
      ++accepted;
    } catch (const InputError& error) {
      ++refused;
      REQUIRE(std::string(error.what()).starts_with((folder / "t") + ":2: "));
    }
  }
  CHECK(refused > 300);
  CHECK(accepted > 100);
}

TEST_CASE("annotations, remarks, notices, conclusions and lists of queries survive the file") {
  SmallTree small({"Ada"});
  const NodeId split = small.add(0, SegmentKind::queries, "who?\nwhen?");
  const NodeId query = small.add(split, SegmentKind::query, "q", "", 1, {document("1", "x")});
  const NodeId told = small.add(query, SegmentKind::sub_answer, "</answer> she");
  rag::Tree& tree = small.tree;
  tree.state(query) = tree.state(query).with(rag::Segment(rag::Segment::Notice{"be brief"}));
  tree.state(told) = tree.state(query).with(rag::Segment(SegmentKind::sub_answer, rag::ModelText("</answer> she")));
  tree.annotate("plan", query, -0.25);
  tree.annotate("plan", told, 1);
  tree.annotate("process_reward", 0, 0.5);
  tree.remarks.push_back({"plan", query, "\"why\"\n"});
  const std::string line = written({tree, "m", 7, "{}"});
  CHECK(line.find(R"("annotations":{"plan":[null,null,-0.25,1],"process_reward":[0.5,null,null,null]})") !=
        std::string::npos);
  const auto again = reread(line);
  check_equal(tree, again.tree);
  CHECK(written(again.record()) == line);
  REQUIRE(again.tree.remarks.size() == 1);
  CHECK(again.tree.remarks[0].node == query);
  CHECK(again.tree.remarks[0].text == "\"why\"\n");
  CHECK(std::isnan(again.tree.annotation("plan", 0)));
  CHECK(std::isnan(again.tree.annotation("none", 0)));
}

TEST_CASE("annotations that do not fit the tree are refused by name") {
  const SmallTree small({"Ada"});
  const std::string line = written({small.tree, "m", 7, "{}"});
  const auto with = [&](const std::string& annotations) {
    return line.substr(0, line.rfind('}')) + ",\"annotations\":" + annotations + "}\n";
  };
  CHECK_NOTHROW((void)reread(with(R"({"plan":[1]})")));
  for (const char* bad : {R"({"plan":[1,2]})", R"({"plan":["a"]})", R"({"plan":3})", R"([1])"})
    CHECK_THROWS_AS((void)reread(with(bad)), InputError);
}

}  // namespace tree_json_test
