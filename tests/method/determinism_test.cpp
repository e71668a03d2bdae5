#include <espalier/espalier.hpp>
#include <espalier/output/tree_json.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "../core/shuffled_service.hpp"
#include "scripted.hpp"
#include <doctest/doctest.h>

namespace determinism_test {

using namespace espalier;

namespace {

/// Everything that one set of trees would put into trees.jsonl.
template <class MakeModel>
std::string grown(const sim::World& world, std::uint64_t seed, std::size_t in_flight, MakeModel make_model,
                  const method::DecExRagOptions& options) {
  Scheduler scheduler;
  const ModelPort model = scheduler.model(make_model(), in_flight);
  const RetrieverPort retriever = scheduler.retriever(backend::Bm25(testing::passages_of(world)), in_flight);
  const rag::Environment loop(rag::Sampler(model, method::decex_prompts(), {.sampling = {.temperature = 0.7}}),
                              retriever, {});
  method::DecExRag search(options, loop, rag::F1());
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
  using enum method::DecExRagOptions::Curtail;
  std::vector<std::pair<std::uint64_t, method::DecExRagOptions>> cases;
  for (const auto& [seed, form] : {std::pair(1U, prompts), {2U, prompts}, {3U, prompts}, {1U, policy}, {2U, policy}})
    cases.emplace_back(seed, method::DecExRagOptions{.n = 2, .form = form});
  for (const auto curtail : {exact, halving}) cases.emplace_back(1U, method::DecExRagOptions{.curtail = curtail});
  for (const auto& [seed, options] : cases) {
    const std::string reference = grown(world, seed, 1000, [&] { return model; }, options);
    CHECK(grown(world, seed, 1, [&] { return model; }, options) == reference);
    CHECK(grown(world, seed, 7, [&] { return model; }, options) == reference);
    for (const std::size_t in_flight : {1U, 7U, 64U}) {
      const auto shuffled = [&, seed = seed] {
        const auto one = [&model](const Prompt& prompt) {
          return Outcome<Completion>(model(std::span<const Prompt>(&prompt, 1)).front());
        };
        return testing::shuffled<Prompt, Completion>(one, seed + in_flight);
      };
      CHECK(grown(world, seed, in_flight, shuffled, options) == reference);
    }
  }
}

TEST_CASE("trees have the same bytes on every compiler") {
  const sim::World world({.passages = 120, .questions = 8, .seed = 3});
  const sim::Model model(world.examples());
  const auto hash = [&](method::DecExRagOptions::Form form) {
    return Hasher().add(grown(world, 1, 64, [&] { return model; }, {.n = 2, .form = form})).finish().hex();
  };
  CHECK(hash(method::DecExRagOptions::Form::prompts) == "9e6567a6fa3324d783aef3f77f8c7938");
  CHECK(hash(method::DecExRagOptions::Form::policy) == "2ee7370db655aa3ff7edd7d65c45ef5b");
}

}  // namespace determinism_test
