#include <espalier/method/decex/face.hpp>
#include <espalier/method/decouple/face.hpp>
#include <espalier/output/tree_json.hpp>
#include <espalier/output/tree_reader.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "../output/small_tree.hpp"
#include "scripted.hpp"
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <sstream>

namespace prompt_rows_test {

using namespace espalier;
using namespace espalier::testing;

namespace {

/// What a model was asked, by purpose and prompt, and what it said.
using Record = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

/// Passes on what the simulated model says, and notes it.
struct Noted {
  const sim::Model* model;
  Record* record;
  std::vector<Completion> operator()(std::span<const Prompt> prompts) const {
    std::vector<Completion> replies = (*model)(prompts);
    for (std::size_t i = 0; i < prompts.size(); ++i)
      (*record)[{prompts[i].purpose(), prompts[i].text()}].push_back(replies[i].text);
    return replies;
  }
};

/// The rows of a product over a small world, and what the model was asked: by `expand`, and by `answer` if wanted.
/// Trees that were written and read give the same rows.
std::pair<std::vector<Row>, Record> rows_in_world(method::RagMethod& face, const std::string& file, bool answer) {
  const sim::World world({.passages = 120, .questions = 12, .seed = 3});
  const sim::Model model(world.examples());
  std::vector<Passage> corpus;
  for (std::size_t i = 0; i < world.size(); ++i) corpus.push_back(world.passage(i));
  Record record;
  Scheduler scheduler;
  const ModelPort port = scheduler.model(Noted{&model, &record}, 64);
  const RetrieverPort retriever = scheduler.retriever(backend::Bm25(std::move(corpus)), 64);
  face.check();
  face.prepare(method::Ports(port, retriever), face.prompts());
  std::vector<Task<rag::Tree>> searches;
  for (const auto& example : world.examples()) searches.push_back(face.grow(rag::State(example), 1));
  std::string text, again, lines;
  const auto products = face.products();
  const auto product = std::find_if(products.begin(), products.end(), [&](const auto& p) { return p.file == file; });
  for (const rag::Tree& tree : scheduler.run(std::move(searches))) {
    product->rows({tree, "m", 1, "{}"}, text);
    output::append_tree({tree, "m", 1, "{}"}, lines);
  }
  std::istringstream recorded(lines);
  for (const output::RecordedTree& tree : output::read_trees(recorded, "trees.jsonl"))
    product->rows(tree.record(), again);
  CHECK(again == text);  // the recorded tree holds all that the rows need
  std::vector<Task<rag::Tree>> loops;
  if (answer)
    for (const auto& example : world.examples()) loops.push_back(face.answer(rag::State(example.question), 1));
  (void)scheduler.run(std::move(loops));
  return {rows_of(text), std::move(record)};
}

/// "tag|content|thought" of a reply, "" if it cannot be read.
std::string read(const rag::PromptSet& prompts, const std::string& purpose, const std::string& reply) {
  const Protocol& protocol = *prompts.protocol();
  const auto found = rag::parse(rag::ModelText(reply), protocol, *protocol.purpose(purpose));
  return found ? found->tag + '|' + found->content + '|' + found->thought : "";
}

/// True if the prompt was asked for the purpose, and one reply to it says what the completion says.
bool taught(const Record& record, const rag::PromptSet& prompts, const std::string& purpose, const std::string& prompt,
            const std::string& completion) {
  const auto asked = record.find({purpose, prompt});
  const std::string meant = read(prompts, purpose, completion);
  if (asked == record.end() || meant.empty()) return false;
  return std::any_of(asked->second.begin(), asked->second.end(),
                     [&](const std::string& reply) { return read(prompts, purpose, reply) == meant; });
}

std::string purpose_of(const Row& row) {
  const auto provenance = row.json.object("provenance");
  return provenance.has("purpose") ? provenance.text("purpose") : "";
}

}  // namespace

TEST_CASE("rows for every prompt of a hand-made search, in order") {
  Scripted model;
  model.on("sub_question", "t <question>Which capital?</question>");
  model.on("own_answer", "t <answer>Lyon</answer>").on("sub_query", "the query");
  model.on("termination", "<reasoning>r < s</reasoning> <answer>Paris</answer>");
  model.on("rollout", [](const Prompt& p) {
    const bool found = p.text().find("About") != std::string::npos;
    return found && p.sample() % 2 ? "<think>h</think> <answer>Paris</answer> and more" : "<answer>Rome</answer>";
  });
  const rag::Tree tree = grow_decex({}, model);
  std::string out;
  method::detail::append_prompt_rows({tree, "decex", 7, "{}"}, method::decex_prompts(), {}, {}, out);
  const auto rows = rows_of(out);
  std::string said;
  for (const Row& row : rows) said += row.text("id") + ' ' + purpose_of(row) + ' ' + row.text("completion") + '\n';
  // Lyon is not above the threshold, so it is not on the chain. The first right rollout of the query's node is its
  // second. No rollout of the sub-question's node is right.
  CHECK(said ==
        "q1#sub_question@1 sub_question t\n<question> Which capital? </question>\n"
        "q1#sub_query@3 sub_query the query\n"
        "q1#termination@4 termination <reasoning> r &lt; s </reasoning>\n<answer> Paris </answer>\n"
        "q1#rollout@3.0 rollout <think> h </think>\n<answer> Paris </answer>\n");
  CHECK(rows[1].text("prompt").find("### Question\nWhich capital?\n") != std::string::npos);
  CHECK(rows[3].text("prompt").find("Sub-question 1: Which capital?\n<search> the query </search>") !=
        std::string::npos);
  CHECK(rows[3].raw("/provenance/nodes") == "[3]");
  CHECK(rows[3].raw("/provenance/rewards") == "[0.5]");
  for (const Row& row : rows) {
    const std::size_t begin = row.text("prompt").size();  // all characters are of one byte
    CHECK(row.raw("/loss_spans") ==
          "[[" + std::to_string(begin) + ',' + std::to_string(begin + row.text("completion").size()) + "]]");
  }
  // A tree without a right chain teaches nothing.
  std::string none;
  const rag::Tree wrong = grow_decex({}, model.on("termination", "<answer>Rome</answer>"));
  method::detail::append_prompt_rows({wrong, "decex", 7, "{}"}, method::decex_prompts(), {}, {}, none);
  CHECK(none.empty());
}

TEST_CASE("DecEx-RAG: each row has a prompt that was asked for its purpose, and says what a reply to it said") {
  const std::vector<std::vector<std::pair<std::string, std::string>>> variants{
      {},
      {{"search", "no_pruning"}, {"chain", "least"}},
      {{"search", "full_node"}, {"k", "2"}, {"T_max", "2"}},
      {{"termination", "mean_f1"}, {"threshold", "1"}, {"T_max", "2"}, {"rollout_rounds", "2"}},
      {{"form", "policy"}},
      {{"form", "policy"}, {"T_max", "1"}, {"rollout_rounds", "1"}}};
  std::map<std::string, std::size_t> purposes;
  for (const auto& options : variants) {
    method::detail::DecExRagFace plain, face;
    for (const auto& [name, value] : options) {
      CAPTURE(name + '=' + value);
      plain.options().set(name, value);
      face.options().set(name, value);
    }
    face.options().set("rows", "all");
    const auto [few, first] = rows_in_world(plain, "sft.jsonl", false);
    const auto [rows, record] = rows_in_world(face, "sft.jsonl", false);
    CHECK(record == first);  // it costs no call
    const auto prompts = face.prompts();
    std::set<std::string> ids, texts;
    std::size_t policy = 0;
    for (const Row& row : rows) {
      const std::string purpose = purpose_of(row), prompt = row.text("prompt"), completion = row.text("completion");
      CHECK(ids.insert(row.text("id")).second);
      CHECK(texts.insert(prompt + completion).second);
      if (purpose.empty()) {
        ++policy;
        continue;
      }
      ++purposes[purpose];
      CAPTURE(purpose);
      CAPTURE(prompt);
      CAPTURE(completion);
      CHECK(taught(record, prompts, purpose, prompt, completion));
    }
    CHECK(policy == few.size());
    CHECK(rows.size() > few.size());
  }
  for (const Protocol::Purpose& purpose : method::detail::decex_protocol()->purposes) {
    CAPTURE(purpose.name);
    CHECK(purposes[purpose.name] > 0);
  }
}

TEST_CASE("DecoupleRAG: rows of steps as the search asked them, and of plans and queries as the beam reads them") {
  method::detail::DecoupleRagFace plain(false), face(false);
  face.options().set("rows", "all");
  const auto [few, first] = rows_in_world(plain, "sft.jsonl", true);
  const auto [rows, record] = rows_in_world(face, "sft.jsonl", true);
  CHECK(record == first);
  const auto prompts = face.prompts();
  std::map<std::string, std::size_t> purposes;
  std::set<std::string> ids, begin_asked;
  for (const auto& [asked, replies] : record)
    if (asked.first == "plan") begin_asked.insert(asked.second);
  std::size_t paths = 0, shared = 0;
  for (const Row& row : rows) {
    CHECK(ids.insert(row.text("id")).second);
    const std::string purpose = purpose_of(row);
    if (purpose.empty()) {
      ++paths;
      continue;
    }
    ++purposes[purpose];
    const auto messages = row.json.objects("messages");
    REQUIRE(messages.size() == 2);
    CHECK(messages[0].text("role") == "user");
    CHECK(messages[1].text("role") == "assistant");
    const std::string prompt = messages[0].text("content"), completion = messages[1].text("content");
    CAPTURE(prompt);
    CAPTURE(completion);
    if (purpose == "step") CHECK(taught(record, prompts, purpose, prompt, completion));
    CHECK_FALSE(read(prompts, purpose, completion).empty());
    shared += begin_asked.count(prompt);
    if (purpose == "query") CHECK(prompt.ends_with("\n### Query\n"));
    if (purpose == "query") CHECK(completion.starts_with("Search("));
  }
  CHECK(paths == few.size());
  CHECK(shared >= paths);  // at least the first plan of a path is what the beam asked
  for (const char* purpose : {"step", "plan", "query"}) CHECK(purposes[purpose] > 0);
  // Each step of a path gives "step" and "plan", each but the last one "query".
  CHECK(purposes["plan"] == purposes["step"]);
  CHECK(purposes["query"] == purposes["step"] - paths);
}

}  // namespace prompt_rows_test
