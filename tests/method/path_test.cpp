#include <espalier/method/baselines/baseline.hpp>

#include "scripted.hpp"
#include <doctest/doctest.h>

namespace path_test {

using namespace espalier;
using method::Path;

namespace {

rag::PromptSet prompts() {
  return method::baselines::detail::prompt_set(
      {"p", {}, {{"search", "<s>", "</s>"}, {"answer", "<a>", "</a>"}, {"sub_answer", "", ""}}},
      {{{"step", {"question", "history"}, {"search", "answer"}}, "{question} {history}"},
       {{"free", {"documents", "history"}, {"sub_answer"}}, "{documents} {history}"}});
}

/// Runs a program over one path and gives the tree and what the model was shown.
std::pair<rag::Tree, std::vector<std::string>> walk(std::vector<std::string> replies, Budget budget, auto program) {
  std::vector<std::string> shown;
  Scheduler scheduler;
  const ModelPort model = scheduler.model([&](std::span<const Prompt> batch) {
    std::vector<Completion> out;
    for (const Prompt& prompt : batch) {
      out.emplace_back(replies.at(std::min(shown.size(), replies.size() - 1)));
      shown.push_back(prompt.text());
    }
    return out;
  });
  const RetrieverPort retriever = scheduler.retriever([](std::span<const Query> queries) {
    std::vector<Passages> out;
    for (const Query& query : queries)
      out.push_back({Passage("same", "T", "t", 1), Passage("d-" + query.text, "T", query.text, 1)});
    return out;
  });
  const rag::Environment loop(rag::Sampler(model, prompts(), {.sampling = {.temperature = 1}, .resample = 1}),
                              retriever, {});
  Path path(loop, rag::State(rag::Question{"q", "Q?"}), 3, budget);
  scheduler.run(program(&path));
  return {std::move(path).tree(), shown};
}

std::vector<std::string> ids(const Passages& passages) {
  std::vector<std::string> all;
  for (const Passage& passage : passages) all.push_back(passage.id());
  return all;
}

Task<bool> two_steps(Path* path) {
  co_await path->ask("step");
  CHECK(ids(path->documents()) == std::vector<std::string>{"same", "d-one"});
  CHECK(path->asked_before("The One!"));
  CHECK_FALSE(path->asked_before("two"));
  path->notice("go on");
  co_await path->search_anew("two");
  CHECK(ids(path->documents()) == std::vector<std::string>{"d-two"});
  CHECK(ids(path->all_documents(2)) == std::vector<std::string>{"same", "d-one"});
  CHECK(ids(path->all_documents(9)) == std::vector<std::string>{"same", "d-one", "d-two"});
  CHECK_FALSE(path->closed());
  co_await path->ask("step");
  CHECK(path->closed());
  const std::optional<rag::Action> none = co_await path->ask("step");
  CHECK_FALSE(none);
  co_return true;
}

Task<bool> ask_thrice(Path* path) {
  co_await path->ask("step");
  co_await path->ask("step");
  co_await path->ask("step");
  co_return true;
}

}  // namespace

TEST_CASE("a path takes steps, searches, tells the model something, and is closed by an answer") {
  const auto [tree, shown] = walk({"<s>one</s>", "So <a>x</a>"}, {}, two_steps);
  REQUIRE(shown.size() == 2);  // a closed path asks nothing
  CHECK(shown[1].find("go on") != std::string::npos);
  CHECK(tree.size() == 4);
  CHECK(tree[3].parent == 2);
  CHECK(tree[3].status == Status::terminal);
  CHECK(tree[1].status == Status::expanded);
  CHECK(tree.ledger.total().retrievals == 2);
}

TEST_CASE("a reply that cannot be read is drawn again, then closes the path with its text kept") {
  const auto [tree, shown] = walk({"nothing", "still nothing"}, {}, ask_thrice);
  CHECK(shown.size() == 2);
  CHECK(tree.size() == 2);
  CHECK(tree[1].reason == Reason::malformed);
  CHECK(tree.action(1).text == "still nothing");
}

TEST_CASE("a budget closes the path, and each call has a place of its own") {
  const auto [tree, shown] = walk({"<s>one</s>"}, {.calls = 2}, ask_thrice);
  CHECK(shown.size() == 2);
  CHECK(tree.ending == SearchFacts::Ending::budget);
  CHECK(tree.size() == 3);
}

}  // namespace path_test
