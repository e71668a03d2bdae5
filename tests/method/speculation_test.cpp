#include <espalier/backend/journal.hpp>
#include <espalier/backend/memory_store.hpp>
#include <espalier/output/tree_json.hpp>

#include "../core/shuffled_service.hpp"
#include "scripted.hpp"
#include <doctest/doctest.h>

namespace speculation_test {

using namespace espalier;
using Options = method::DecExRagOptions;
using Journaled = backend::Journaled<Prompt, Completion>;

namespace {

/// What became of one search whose model stands behind a journal.
struct Seen {
  std::string tree;
  std::size_t rounds = 0;  ///< calls of the model's batch function, one after the other
  std::uint64_t completions = 0, discarded = 0;
};

/// A search of the scripted model `searcher`.
Seen search(const Options& options) {
  Seen seen;
  testing::Scripted model = testing::searcher();
  const auto batch = [&](std::span<const Prompt> prompts) {
    ++seen.rounds;
    seen.completions += prompts.size();
    return model(prompts);
  };
  const auto journaled = [&](Scheduler& scheduler) {
    auto service = std::make_unique<BatchService<Prompt, Completion, decltype(batch)>>(batch);
    return scheduler.model(std::unique_ptr<Service<Prompt, Completion>>(
        std::make_unique<Journaled>(std::move(service), std::make_shared<backend::MemoryStore>(), Hash())));
  };
  const rag::Tree tree = testing::grow_decex_over(options, journaled);
  output::append_tree({tree, "decex", 7, "{}"}, seen.tree);
  seen.discarded = tree.ledger.execution.discarded;
  return seen;
}

/// A search that owns its engine, which is gone as soon as the tree is there.
Task<rag::Tree> alone(Options options, rag::Environment loop, rag::Example example) {
  method::DecExRag search(options, loop, rag::F1());
  rag::Tree tree = co_await search(rag::State(example), 1);
  co_return tree;
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

TEST_CASE("a budget counts the search alone, and no guess begins once it is spent") {
  for (const std::uint64_t calls : {3U, 11U, 20U, 34U}) {
    const Seen plain = search({.budget = {.calls = calls}});
    const Seen guessing = search({.speculate = 2, .budget = {.calls = calls}});
    CHECK(guessing.tree == plain.tree);
    CHECK(guessing.completions == plain.completions + guessing.discarded);
    CHECK(guessing.discarded <= (calls == 3 ? 0U : 9U));
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
    auto journal = std::make_unique<Journaled>(testing::shuffled<Prompt, Completion>(answer, order),
                                               std::make_shared<backend::MemoryStore>(), Hash());
    const Accounts& accounts = journal->accounts();
    const ModelPort model = scheduler.model(std::unique_ptr<Service<Prompt, Completion>>(std::move(journal)), 16);
    const RetrieverPort retriever = scheduler.retriever(backend::Bm25(corpus));
    const rag::Environment loop(rag::Sampler(model, method::decex_prompts(), {.sampling = {.temperature = 0.7}}),
                                retriever, {});
    std::vector<Task<rag::Tree>> searches;
    for (const auto& example : world.examples()) searches.push_back(alone(options, loop, example));
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
                          Options{.search = Options::Search::no_pruning, .form = Options::Form::policy},
                          Options{.termination = Options::Termination::mean_f1, .stop_pairs = true}}) {
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
