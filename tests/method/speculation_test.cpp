#include <espalier/backend/journal.hpp>
#include <espalier/backend/memory_store.hpp>
#include <espalier/output/tree_json.hpp>

#include "../core/shuffled_service.hpp"
#include "scripted.hpp"
#include <doctest/doctest.h>

namespace speculation_test {

using namespace espalier;
using Options = method::DecExRagOptions;

namespace {

/// What became of one search whose model stands behind a journal.
struct Seen {
  std::string tree;
  std::size_t rounds = 0;  ///< calls of the model's batch function, one after the other
  std::uint64_t completions = 0, discarded = 0;
};

/// Round 1 draws sub-questions, two of three equal. Own answers are wrong and one cannot be read in three tries. The
/// query "good", drawn twice, leads to Paris. The votes end the search. See decex_test.cpp.
Seen search(const Options& options) {
  testing::Scripted model;
  model.on("sub_question", [](const Prompt& p) {
    return p.sample() == 1 ? "t <question>Which city?</question>" : "t <question>Which capital?</question>";
  });
  model.on("own_answer",
           [](const Prompt& p) { return p.sample() % (1U << 20) == 2 ? "no tag at all" : "t <answer>Lyon</answer>"; });
  model.on("sub_query", [](const Prompt& p) { return p.sample() == 0 ? "bad" : "good"; });
  model.on("termination", "<reasoning>r</reasoning> <answer>Paris</answer>");
  model.on("rollout", [](const Prompt& p) {
    return p.text().find("About good") != std::string::npos ? "<answer>Paris</answer>" : "<answer>Rome</answer>";
  });
  Seen seen;
  const auto batch = [&](std::span<const Prompt> prompts) {
    ++seen.rounds;
    seen.completions += prompts.size();
    return model(prompts);
  };
  Scheduler scheduler;
  auto service = std::make_unique<BatchService<Prompt, Completion, decltype(batch)>>(batch);
  const ModelPort models = scheduler.model(
      std::unique_ptr<Service<Prompt, Completion>>(std::make_unique<backend::Journaled<Prompt, Completion>>(
          std::move(service), std::make_shared<backend::MemoryStore>(), Hash())));
  const RetrieverPort documents = scheduler.retriever([](std::span<const Query> queries) {
    std::vector<Passages> answers;
    for (const Query& query : queries) answers.push_back({Passage("d1", "France", "About " + query.text, 1.5)});
    return answers;
  });
  const rag::Sampler sampler(models, method::decex_prompts(), {.sampling = {.temperature = 1}});
  method::DecExRag search(options, rag::Environment(sampler, documents, {}), rag::F1());
  rag::Example example;
  example.question = {"q1", "Capital of France?"};
  example.gold = {"Paris"};
  const rag::Tree tree = scheduler.run(search(rag::State(example), 7));
  output::append_tree({tree, "decex", 7, "{}"}, seen.tree);
  seen.discarded = tree.ledger.execution.discarded;
  return seen;
}

}  // namespace

TEST_CASE("stages that likely follow begin early: six rounds in place of nine, and the same tree") {
  // One after the other: sub-questions, rollouts, own answers and two more tries for one, rollouts, queries, rollouts,
  // votes. Early are: own answers with the first rollouts, queries with the second, votes with the third.
  const Seen plain = search({});
  CHECK(plain.rounds == 9);
  CHECK(plain.completions == 34);
  const Seen one = search({.speculate = 1});
  CHECK(one.tree == plain.tree);
  CHECK(one.rounds == 6);
  CHECK(one.completions == 34);
  CHECK(one.discarded == 0);
  // With two, also three own answers to the other sub-question, and three votes each below Lyon and below "bad".
  const Seen two = search({.speculate = 2});
  CHECK(two.tree == plain.tree);
  CHECK(two.rounds == 6);
  CHECK(two.discarded == 9);
  CHECK(two.completions == 43);
}

TEST_CASE("a budget ends guesses, too, and counts the search alone") {
  for (const std::uint64_t calls : {3U, 11U, 20U, 34U}) {
    const Seen plain = search({.budget = {.calls = calls}});
    const Seen guessing = search({.speculate = 2, .budget = {.calls = calls}});
    CHECK(guessing.tree == plain.tree);
    CHECK(guessing.rounds <= plain.rounds);
  }
}

TEST_CASE("guesses change no byte of a tree for any order of completion, and each is accounted for") {
  const sim::World world({.passages = 120, .questions = 8, .seed = 3});
  const sim::Model simulated(world.examples());
  std::vector<Passage> corpus;
  for (std::size_t i = 0; i < world.size(); ++i) corpus.push_back(world.passage(i));
  const auto grown = [&](const Options& options, std::uint64_t order, std::uint64_t* paid, std::uint64_t* discarded) {
    const auto answer = [&](const Prompt& prompt) {
      return Outcome<Completion>(simulated(std::span<const Prompt>(&prompt, 1)).front());
    };
    Scheduler scheduler;
    auto journal = std::make_unique<backend::Journaled<Prompt, Completion>>(
        testing::shuffled<Prompt, Completion>(answer, order), std::make_shared<backend::MemoryStore>(), Hash());
    const Accounts& accounts = journal->accounts();
    const ModelPort model = scheduler.model(std::unique_ptr<Service<Prompt, Completion>>(std::move(journal)), 16);
    const RetrieverPort retriever = scheduler.retriever(backend::Bm25(corpus));
    const rag::Environment loop(rag::Sampler(model, method::decex_prompts(), {.sampling = {.temperature = 0.7}}),
                                retriever, {});
    method::DecExRag search(options, loop, rag::F1());
    std::vector<Task<rag::Tree>> searches;
    for (const auto& example : world.examples()) searches.push_back(search(rag::State(example), 1));
    std::string lines;
    *discarded = 0;
    for (const rag::Tree& tree : scheduler.run(std::move(searches))) {
      output::append_tree({tree, "decex", 1, "{}"}, lines);
      *discarded += tree.ledger.execution.discarded;
    }
    *paid = accounts.paid_applied;
    return lines;
  };
  std::uint64_t thrown_away = 0;
  for (Options options : {Options{}, Options{.curtail = Options::Curtail::exact},
                          Options{.search = Options::Search::no_pruning, .form = Options::Form::policy}}) {
    options.n = 2;
    std::uint64_t plain = 0, paid = 0, discarded = 0;
    const std::string reference = grown(options, 1, &plain, &discarded);
    CHECK(discarded == 0);
    for (options.speculate = 1; options.speculate < 4; ++options.speculate) {
      CHECK(grown(options, 1 + options.speculate, &paid, &discarded) == reference);
      CHECK(paid == plain + discarded);
      thrown_away += discarded;
    }
  }
  CHECK(thrown_away > 0);
}

}  // namespace speculation_test
