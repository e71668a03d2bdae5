// A pruning policy of one's own that halves the calls of DecEx-RAG.
//
// DecEx-RAG draws k candidates of each kind and values every one of them by rollouts, which is what costs most. This
// policy looks at them before that. Samples that agree are one candidate, whose prior is their share.
#include <espalier/espalier.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include <algorithm>
#include <cstdio>
#include <map>

using namespace espalier;

// Of each kind the candidate that was sampled most goes on. What all samples know by heart needs no search.
struct Agreed {
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const {
    std::map<Kind, NodeId> most;
    for (const NodeId id : siblings) {
      if (tree[id].visits > 0) continue;
      const auto [best, first] = most.try_emplace(tree[id].kind, id);
      if (tree[id].prior > tree[best->second].prior) best->second = id;
    }
    Verdict verdict;
    if (const auto known = most.find(Kind(rag::SegmentKind::own_answer)); known != most.end()) {
      verdict.enough = tree[known->second].prior > 0.99;
      if (!verdict.enough) most.erase(known);
    }
    for (const NodeId id : siblings) {
      const auto best = most.find(tree[id].kind);
      if (tree[id].visits == 0 && (best == most.end() || best->second != id))
        verdict.cut.emplace_back(id, Reason::not_best);
    }
    return verdict;
  }
};

int main() {
  sim::World world({.passages = 2000, .questions = 100, .seed = 1});
  std::vector<Passage> corpus;
  for (std::size_t i = 0; i < world.size(); ++i) corpus.push_back(world.passage(i));
  std::puts("A simulated model, with rewards that see gold answers (oracle).\npruning               right   calls");
  for (const bool own : {false, true}) {
    Scheduler scheduler;
    const ModelPort model = scheduler.model(sim::Model(world.examples()));
    const RetrieverPort retriever = scheduler.retriever(backend::Bm25(corpus));
    const rag::Sampler sampler(model, method::decex_prompts(), {.sampling = {.temperature = 0.7}});
    const rag::Environment loop(sampler, retriever, {.documents = 3});
    AnyPruning policy;
    if (own) policy = {.name = "Agreed", .before = Agreed()};
    method::DecExRag search({.k = 4, .n = 4, .prune = policy}, loop, rag::F1());

    std::vector<Task<rag::Tree>> searches;
    for (const auto& example : world.examples()) searches.push_back(search(rag::State(example), 1));
    std::size_t right = 0;
    unsigned long long calls = 0;
    for (const auto& tree : scheduler.run(std::move(searches))) {
      const auto best = output::best_answer(tree);
      right += best && std::ranges::count(tree.state(0).gold(), best->text) > 0;
      calls += tree.ledger.total().completions;
    }
    std::printf("%-20s%4zu %%%8llu\n", own ? "and of one's own" : "as published", right, calls);
  }
}
