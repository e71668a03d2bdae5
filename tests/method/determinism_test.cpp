#include <espalier/espalier.hpp>
#include <espalier/output/tree_json.hpp>

#include "../core/shuffled_service.hpp"
#include <doctest/doctest.h>

namespace determinism_test {

using namespace espalier;

namespace {

/// Everything that one set of trees would put into trees.jsonl.
template <class MakeModel>
std::string grown(const sim::World& world, std::uint64_t seed, std::size_t in_flight, MakeModel make_model,
                  method::DecExRagOptions::Form form = method::DecExRagOptions::Form::prompts) {
  std::vector<Passage> corpus;
  for (std::size_t i = 0; i < world.size(); ++i) corpus.push_back(world.passage(i));
  Scheduler scheduler;
  const ModelPort model = scheduler.model(make_model(), in_flight);
  const RetrieverPort retriever = scheduler.retriever(backend::Bm25(std::move(corpus)), in_flight);
  const rag::Environment loop(rag::Sampler(model, method::decex_prompts(), {.sampling = {.temperature = 0.7}}),
                              retriever, {});
  method::DecExRag search({.k = 3, .n = 2, .form = form}, loop, rag::F1());
  std::vector<Task<rag::Tree>> searches;
  for (const auto& example : world.examples()) searches.push_back(search(rag::State(example), seed));
  std::string lines;
  for (const rag::Tree& tree : scheduler.run(std::move(searches)))
    output::append_tree({tree, "decex", seed, "{}"}, lines);
  return lines;
}

}  // namespace

TEST_CASE("trees have the same bytes for any batch limit and any order of completion") {
  const sim::World world({.passages = 120, .questions = 8, .seed = 3});
  const sim::Model model(world.examples());
  using enum method::DecExRagOptions::Form;
  for (const auto& [seed, form] : {std::pair(1U, prompts), {2U, prompts}, {3U, prompts}, {1U, policy}, {2U, policy}}) {
    const std::string reference = grown(world, seed, 1000, [&] { return model; }, form);
    CHECK(grown(world, seed, 1, [&] { return model; }, form) == reference);
    CHECK(grown(world, seed, 7, [&] { return model; }, form) == reference);
    for (const std::size_t in_flight : {1U, 7U, 64U}) {
      const auto shuffled = [&] {
        const auto one = [&model](const Prompt& prompt) {
          return Outcome<Completion>(model(std::span<const Prompt>(&prompt, 1)).front());
        };
        return testing::shuffled<Prompt, Completion>(one, seed + in_flight);
      };
      CHECK(grown(world, seed, in_flight, shuffled, form) == reference);
    }
  }
}

TEST_CASE("trees have the same bytes on every compiler") {
  const sim::World world({.passages = 120, .questions = 8, .seed = 3});
  const sim::Model model(world.examples());
  const auto hash = [&](method::DecExRagOptions::Form form) {
    return Hasher().add(grown(world, 1, 64, [&] { return model; }, form)).finish().hex();
  };
  CHECK(hash(method::DecExRagOptions::Form::prompts) == "9e6567a6fa3324d783aef3f77f8c7938");
  CHECK(hash(method::DecExRagOptions::Form::policy) == "2ee7370db655aa3ff7edd7d65c45ef5b");
}

}  // namespace determinism_test
