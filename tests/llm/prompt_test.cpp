#include <espalier/llm/passage.hpp>
#include <espalier/llm/prompt.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <vector>

namespace prompt_test {

using namespace espalier;

namespace {

Prompt sampled(std::uint64_t seed, std::uint32_t sample, double temperature = 0.7) {
  Sampling sampling;
  sampling.temperature = temperature;
  return Prompt("text", sampling, seed, sample);
}
Prompt with(const std::function<void(PromptBody&)>& change) {
  PromptBody body;
  body.messages = {{"system", "rules"}, {"user", "question"}};
  body.sampling.temperature = 0.7;
  body.sampling.stop = {"</a>"};
  change(body);
  return Prompt(std::make_shared<const PromptBody>(std::move(body)), 1, 2);
}

}  // namespace

TEST_CASE("a greedy request has neither seed nor sample in its key") {
  CHECK(sampled(1, 2, 0).key() == sampled(3, 4, 0).key());
  CHECK(sampled(1, 2, 0).greedy());
  CHECK(sampled(1, 2).key() == sampled(1, 2).key());
  CHECK(sampled(1, 2).key() != sampled(1, 3).key());
  CHECK(sampled(1, 2).key() != sampled(2, 2).key());
  CHECK(sampled(1, 2).key() != sampled(1, 2, 0).key());
}

TEST_CASE("purpose, spans and protocol are not part of the key") {
  const Prompt plain = with([](PromptBody&) {});
  CHECK(plain.key() == with([](PromptBody& b) { b.purpose = "rollout"; }).key());
  CHECK(plain.key() == with([](PromptBody& b) { b.spans = {{"question", 0, 8}}; }).key());
  CHECK(plain.key() == with([](PromptBody& b) { b.protocol = std::make_shared<const Protocol>(); }).key());
}

TEST_CASE("a request without a grammar keeps the key that it had before there were grammars") {
  CHECK(with([](PromptBody&) {}).key().hex() == "e1237e8e8fa57425a6fa1dac0c7a018d");
}

TEST_CASE("every field that is sent is part of the key") {
  const std::vector<std::function<void(PromptBody&)>> changes = {
      [](PromptBody&) {},
      [](PromptBody& b) { b.messages[0].content = "other rules"; },
      [](PromptBody& b) { b.messages[0].role = "developer"; },
      [](PromptBody& b) { b.messages.erase(b.messages.begin()); },
      [](PromptBody& b) { b.messages[0].content = "rulesuser", b.messages[1].role = ""; },
      [](PromptBody& b) { b.sampling.temperature = 0.8; },
      [](PromptBody& b) { b.sampling.top_p = 0.9; },
      [](PromptBody& b) { b.sampling.top_k = 20; },
      [](PromptBody& b) { b.sampling.min_p = 0.1; },
      [](PromptBody& b) { b.sampling.max_tokens = 1; },
      [](PromptBody& b) { b.sampling.grammar = "root ::= \"a\""; },
      [](PromptBody& b) { b.sampling.grammar = "root ::= \"b\""; },
      [](PromptBody& b) { b.sampling.stop.clear(); },
      [](PromptBody& b) { b.sampling.stop = {"</a>", "</b>"}; },
      [](PromptBody& b) { b.sampling.stop = {"</", "a>"}; },
      [](PromptBody& b) { b.sampling.logprobs = true; },
      [](PromptBody& b) { b.sampling.extra_body = "{\"x\":1}"; }};
  std::set<Hash> keys;
  for (const auto& change : changes) keys.insert(with(change).key());
  CHECK(keys.size() == changes.size());
}

TEST_CASE("a slot is the text of its span") {
  const Prompt p = with([](PromptBody& b) { b.spans = {{"question", 0, 5}, {"empty", 8, 8}}; });
  CHECK(p.slot("question") == "quest");
  CHECK(p.slot("empty") == "");
  CHECK(!p.slot("history"));
}

TEST_CASE("queries differ by text and by number of passages, encodings by role") {
  CHECK(Query("a", 3).key() == Query("a", 3).key());
  CHECK(Query("a", 3).key() != Query("a", 4).key());
  CHECK(Query("a", 3).key() != Query("b", 3).key());
  using Role = EncodeRequest::Role;
  CHECK(EncodeRequest("a", Role::query).key() != EncodeRequest("a", Role::passage).key());
}

TEST_CASE("copies of a passage share its text") {
  const Passage p("7", "Title", "Text", 0.5);
  const Passage q = p.scored(0.25);
  CHECK(&p.text() == &q.text());
  CHECK(q.score() == 0.25);
  CHECK(p != q);
  CHECK(q.scored(0.5) == p);
  CHECK(Passage("7", "Title", "Text", 0.5) == p);
  CHECK(Passage("8", "Title", "Text", 0.5) != p);
}

}  // namespace prompt_test
