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

/// The rows of sft.jsonl over a small world, and what the model was asked by `expand` and by `answer`. Trees that were
/// written and read give the same rows.
std::pair<std::vector<Row>, Record> rows_in_world(method::Method& face) {
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
  const auto product = std::find_if(products.begin(), products.end(), [](const auto& p) { return p.file == "sft.jsonl"; });
  for (const rag::Tree& tree : scheduler.run(std::move(searches))) {
    product->rows({tree, "m", 1, "{}"}, text);
    output::append_tree({tree, "m", 1, "{}"}, lines);
  }
  std::istringstream recorded(lines);
  for (const output::RecordedTree& tree : output::read_trees(recorded, "trees.jsonl"))
    product->rows(tree.record(), again);
  CHECK(again == text);  // the recorded tree holds all that the rows need
  std::vector<Task<rag::Tree>> loops;
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

TEST_CASE("DecoupleRAG: rows of steps as the search asked them, and of plans and queries as the beam reads them") {
  method::detail::DecoupleRagFace plain(false), face(false);
  face.options().set("rows", "all");
  const auto [few, first] = rows_in_world(plain);
  const auto [rows, record] = rows_in_world(face);
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
