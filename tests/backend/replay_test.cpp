#include <espalier/backend/journal.hpp>
#include <espalier/backend/journal/store.hpp>

#include <doctest/doctest.h>

namespace replay_test {

namespace {

using namespace espalier;
using backend::Journaled;
using backend::MemoryStore;
using backend::Record;

constexpr std::chrono::milliseconds now{0};
const Hash fingerprint = Hasher().add("a model").finish();

std::shared_ptr<MemoryStore> store_with(const Prompt& prompt, const std::string& text) {
  auto store = std::make_shared<MemoryStore>();
  store->put({Record(backend::detail::journal_key<Completion>(fingerprint, prompt), Record::Kind::generation,
                     backend::detail::encode(Completion(text)))});
  return store;
}

}  // namespace

TEST_CASE("a replay answers what was stored, in the order of the requests") {
  const auto store = store_with(Prompt("q"), "a");
  Journaled<Prompt, Completion> replay(nullptr, store, fingerprint);
  replay.submit(5, Prompt("q"));
  replay.submit(4, Prompt("q"));
  const auto replies = replay.poll(now);
  REQUIRE(replies.size() == 2);
  CHECK(replies[0].ticket == 5);
  CHECK(replies[1].ticket == 4);
  CHECK(replies[1].outcome.value().text == "a");
  CHECK(replay.poll(now).empty());
  CHECK(replay.accounts().cached == 2);
}

TEST_CASE("what is not in the journal is a permanent error that names store, record and purpose") {
  PromptBody body;
  body.messages.push_back({"user", "other"});
  body.purpose = "rollout";
  const Prompt other(std::make_shared<const PromptBody>(body), 0, 0);
  Journaled<Prompt, Completion> replay(nullptr, store_with(Prompt("q"), "a"), fingerprint);
  replay.submit(1, other);
  const auto replies = replay.poll(now);
  REQUIRE(replies.size() == 1);
  const std::string key = backend::detail::journal_key<Completion>(fingerprint, other).hex();
  try {
    (void)replies[0].outcome.value();
    FAIL("no error");
  } catch (const BackendError& error) {
    CHECK(error.kind() == BackendError::Kind::permanent);
    CHECK(error.what() == "not in the journal the store in memory: record " + key + " for purpose 'rollout'");
  }
  CHECK(replay.accounts().cached == 0);
}

TEST_CASE("another model's answers are not replayed") {
  Journaled<Prompt, Completion> replay(nullptr, store_with(Prompt("q"), "a"), Hasher().add("another model").finish());
  replay.submit(1, Prompt("q"));
  CHECK_FALSE(replay.poll(now).at(0).outcome.ok());
}

TEST_CASE("retrievals replay without an index, and a cancelled request is not answered") {
  const auto store = std::make_shared<MemoryStore>();
  const Passages passages{Passage("id", "title", "text", 2.5)};
  store->put({Record(backend::detail::journal_key<Passages>(fingerprint, Query("q", 3)), Record::Kind::retrieval,
                     backend::detail::encode(passages))});
  Journaled<Query, Passages> replay(nullptr, store, fingerprint);
  replay.submit(1, Query("q", 3));
  replay.submit(2, Query("q", 3));
  replay.cancel(1);
  const auto replies = replay.poll(now);
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].ticket == 2);
  CHECK(replies[0].outcome.value() == passages);
  replay.submit(3, Query("q", 4));
  CHECK_THROWS_AS((void)replay.poll(now).at(0).outcome.value(), BackendError);
}

}  // namespace replay_test
