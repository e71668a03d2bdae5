// Grows DecEx-RAG trees over a small generated world with a simulated model, and prints what they found.
#include <espalier/espalier.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include <cstdio>

int main() {
  using namespace espalier;

  sim::World world({.passages = 500, .questions = 8, .seed = 1});
  std::vector<Passage> corpus;
  for (std::size_t i = 0; i < world.size(); ++i) corpus.push_back(world.passage(i));

  Scheduler scheduler;  // every tree's requests share its batches
  const ModelPort model = scheduler.model(sim::Model(world.examples()));
  const RetrieverPort retriever = scheduler.retriever(backend::Bm25(std::move(corpus)));

  const rag::Sampler sampler(model, method::decex_prompts(), {.sampling = {.temperature = 0.7}});
  const rag::Environment loop(sampler, retriever, {.documents = 3});
  method::DecExRag search({.k = 3, .n = 4}, loop, rag::F1());

  std::vector<Task<rag::Tree>> searches;
  for (const auto& example : world.examples()) searches.push_back(search(rag::State(example), 1));
  const std::vector<rag::Tree> trees = scheduler.run(std::move(searches));

  for (const auto& tree : trees) {
    const auto best = output::best_answer(tree);
    std::printf("%s -> %s (simulated)\n", tree.state(0).question().text.c_str(), best ? best->text.c_str() : "None");
    std::printf("  %zu nodes, %llu calls\n", tree.size(),
                static_cast<unsigned long long>(tree.ledger.total().completions));
  }
}
