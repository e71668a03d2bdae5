#include <espalier/backend/journal.hpp>
#include <espalier/backend/journal/store.hpp>
#include <espalier/backend/sqlite_store.hpp>
#include <espalier/llm/scheduler.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <map>

namespace journal_test {

namespace {

using namespace espalier;
using namespace espalier::detail;
using backend::Journaled;
using backend::MemoryStore;
using backend::Record;
using backend::SqliteStore;
using backend::Store;
using backend::StoreError;
using backend::detail::journal_key;

constexpr std::chrono::milliseconds now{0};
const Hash fingerprint = Hasher().add("a model").finish();

/// An asynchronous backend whose answers the test gives, and a log of what it was asked.
class Scripted final : public Service<Prompt, Completion> {
 public:
  struct Wire {
    std::map<Ticket, std::string> asked;
    std::vector<Ticket> cancelled;
    std::vector<Reply<Completion>> arrived;
    std::vector<std::chrono::milliseconds> waits;
  };
  Scripted(Wire& wire, bool batch) : wire_(wire), batch_(batch) {}
  void submit(Ticket ticket, const Prompt& prompt) override { wire_.asked.emplace(ticket, prompt.text()); }
  std::vector<Reply<Completion>> poll(std::chrono::milliseconds wait) override {
    wire_.waits.push_back(wait);
    return std::exchange(wire_.arrived, {});
  }
  [[nodiscard]] bool batch() const override { return batch_; }
  void cancel(Ticket ticket) override { wire_.cancelled.push_back(ticket); }

 private:
  Wire& wire_;
  bool batch_;
};

Journaled<Prompt, Completion> journaled(Scripted::Wire& wire, std::shared_ptr<Store> store, bool batch = false) {
  return {std::make_unique<Scripted>(wire, batch), std::move(store), fingerprint};
}
Hash key_of(const std::string& text) { return journal_key<Completion>(fingerprint, Prompt(text)); }
std::string stored_text(Store& store, const std::string& prompt) {
  const auto bytes = store.find(key_of(prompt));
  return bytes ? backend::detail::decode<Completion>(*bytes).text : "(nothing)";
}
Record record(const std::string& prompt, const std::string& text) {
  return Record(key_of(prompt), Record::Kind::generation, backend::detail::encode(Completion(text)));
}

/// A store that refuses to commit.
class Broken final : public Store {
 public:
  [[nodiscard]] std::optional<std::string> find(Hash) override { return std::nullopt; }
  std::vector<std::string> put(const std::vector<Record>&) override { throw StoreError("no room"); }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string name_ = "broken";
};

Task<std::string> three_steps(ModelPort model, std::string question) {
  std::string transcript = question;
  for (int i = 0; i < 3; ++i) {
    Completion c = co_await model(Prompt(transcript));
    transcript += c.text;
  }
  co_return transcript;
}

}  // namespace

TEST_CASE("a miss is asked for, stored and handed on; the same request is then a hit") {
  const auto store = std::make_shared<MemoryStore>();
  Scripted::Wire wire;
  auto service = journaled(wire, store);
  service.submit(1, Prompt("q"));
  CHECK(wire.asked.at(1) == "q");
  CHECK(service.poll(std::chrono::milliseconds(7)).empty());
  CHECK(wire.waits == std::vector{std::chrono::milliseconds(7)});
  wire.arrived.emplace_back(1, Completion("a"));
  auto replies = service.poll(now);
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].ticket == 1);
  CHECK(replies[0].outcome.value().text == "a");
  CHECK(stored_text(*store, "q") == "a");

  service.submit(2, Prompt("q"));
  CHECK_FALSE(wire.asked.contains(2));
  replies = service.poll(now);
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].ticket == 2);
  CHECK(replies[0].outcome.value().text == "a");
  CHECK(service.poll(now).empty());
  CHECK(service.accounts().cached == 1);
  CHECK(service.accounts().paid_applied == 1);
  CHECK(service.accounts().paid_cancelled == 0);
}

TEST_CASE("keys differ by fingerprint and by kind of backend, not by purpose") {
  const Hash other = Hasher().add("another model").finish();
  CHECK(journal_key<Completion>(fingerprint, Prompt("q")) !=
        backend::detail::journal_key<Completion>(other, Prompt("q")));
  // Query("x", 1) and an encode request of role 1 hash alike; their kinds keep them apart.
  const Query query("x", 1);
  const EncodeRequest encode("x", EncodeRequest::Role::passage);
  REQUIRE(query.key() == encode.key());
  CHECK(journal_key<Passages>(fingerprint, query) != backend::detail::journal_key<Embedding>(fingerprint, encode));
  PromptBody body;
  body.messages.push_back({"user", "q"});
  body.purpose = "rollout";
  CHECK(journal_key<Completion>(fingerprint, Prompt(std::make_shared<const PromptBody>(body), 5, 3)) == key_of("q"));
}

TEST_CASE("an answer reaches the search only after it was stored") {
  Scripted::Wire wire;
  auto service = journaled(wire, std::make_shared<Broken>());
  service.submit(1, Prompt("q"));
  wire.arrived.emplace_back(1, Completion("a"));
  CHECK_THROWS_WITH_AS(service.poll(now), "no room", StoreError);
}

TEST_CASE("errors are passed on and not stored") {
  const auto store = std::make_shared<MemoryStore>();
  Scripted::Wire wire;
  auto service = journaled(wire, store);
  service.submit(1, Prompt("bad"));
  service.submit(2, Prompt("good"));
  wire.arrived.emplace_back(1, std::make_exception_ptr(BackendError("refused")));
  wire.arrived.emplace_back(2, Completion("a"));
  auto replies = service.poll(now);
  REQUIRE(replies.size() == 2);
  CHECK_THROWS_WITH_AS((void)replies[0].outcome.value(), "refused", BackendError);
  CHECK(replies[1].outcome.value().text == "a");
  CHECK(stored_text(*store, "bad") == "(nothing)");
  CHECK(service.accounts().paid_applied == 1);
  service.submit(3, Prompt("bad"));
  CHECK(wire.asked.contains(3));
}

TEST_CASE("where another process was first, its answer is the one that is used") {
  const test::TemporaryFolder folder;
  const auto store = std::make_shared<SqliteStore>(folder / "journal.sqlite");
  SqliteStore other(folder / "journal.sqlite");
  Scripted::Wire wire;
  auto service = journaled(wire, store);
  service.submit(1, Prompt("q"));
  service.submit(2, Prompt("r"));
  other.put({record("q", "theirs")});
  wire.arrived.emplace_back(2, Completion("r's"));
  wire.arrived.emplace_back(1, Completion("ours"));
  const auto replies = service.poll(now);
  REQUIRE(replies.size() == 2);
  CHECK(replies[0].outcome.value().text == "r's");
  CHECK(replies[1].outcome.value().text == "theirs");
  CHECK(service.accounts().paid_applied == 2);
}

TEST_CASE("hits wake trees first: a batch backend is not called while there are any") {
  const auto store = std::make_shared<MemoryStore>();
  store->put({record("known", "a")});
  Scripted::Wire wire;
  auto service = journaled(wire, store, true);
  CHECK(service.batch());
  service.submit(1, Prompt("new"));
  service.submit(2, Prompt("known"));
  auto replies = service.poll(now);
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].ticket == 2);
  CHECK(wire.waits.empty());
  service.submit(3, Prompt("newer"));
  wire.arrived.emplace_back(1, Completion("b"));
  wire.arrived.emplace_back(3, Completion("c"));
  replies = service.poll(now);
  CHECK(replies.size() == 2);
  CHECK(wire.waits.size() == 1);
}

TEST_CASE("an asynchronous backend is served beside the hits, without waiting for it") {
  const auto store = std::make_shared<MemoryStore>();
  store->put({record("known", "a")});
  Scripted::Wire wire;
  auto service = journaled(wire, store);
  service.submit(1, Prompt("new"));
  service.submit(2, Prompt("known"));
  wire.arrived.emplace_back(1, Completion("b"));
  const auto replies = service.poll(std::chrono::milliseconds(1000));
  REQUIRE(replies.size() == 2);
  CHECK(replies[0].ticket == 2);
  CHECK(replies[1].ticket == 1);
  CHECK(wire.waits == std::vector{now});
}

TEST_CASE("a cancelled request's answer is stored and counted, but handed to nobody") {
  const auto store = std::make_shared<MemoryStore>();
  store->put({record("known", "a")});
  Scripted::Wire wire;
  auto service = journaled(wire, store);
  service.submit(1, Prompt("q"));
  service.submit(2, Prompt("known"));
  service.submit(3, Prompt("fails"));
  for (Ticket ticket : {1U, 2U, 3U, 4U}) service.cancel(ticket);  // 4 is nobody's
  CHECK(wire.cancelled == std::vector<Ticket>{1, 3});
  wire.arrived.emplace_back(1, Completion("late"));
  wire.arrived.emplace_back(3, std::make_exception_ptr(BackendError("refused")));
  CHECK(service.poll(now).empty());
  CHECK(stored_text(*store, "q") == "late");
  CHECK(service.accounts().paid_cancelled == 1);
  CHECK(service.accounts().paid_applied == 0);
  CHECK(service.accounts().cached == 0);
}

TEST_CASE("a record that passes its checksum but not the decoder is named") {
  const auto store = std::make_shared<MemoryStore>();
  store->put({Record(key_of("q"), Record::Kind::generation, "\x07")});
  Scripted::Wire wire;
  auto service = journaled(wire, store);
  CHECK_THROWS_WITH_AS(
      service.submit(1, Prompt("q")),
      ("the store in memory: record " + key_of("q").hex() + ": the record has version 7, this build reads 1").c_str(),
      StoreError);
}

TEST_CASE("passages and embeddings are journaled too") {
  const auto store = std::make_shared<MemoryStore>();
  const auto search = [](std::span<const Query> queries) {
    std::vector<Passages> results;
    for (const Query& q : queries) results.push_back({Passage("id", q.text, "text", 0.1)});
    return results;
  };
  Journaled<Query, Passages> service(std::make_unique<BatchService<Query, Passages, decltype(search)>>(search), store,
                                     fingerprint);
  service.submit(1, Query("q", 3));
  CHECK(service.poll(now).size() == 1);
  service.submit(2, Query("q", 3));
  service.submit(3, Query("q", 4));
  auto replies = service.poll(now);
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].ticket == 2);
  CHECK(replies[0].outcome.value() == Passages{Passage("id", "q", "text", 0.1)});
  CHECK(service.poll(now).size() == 1);

  const auto encoder = [](std::span<const EncodeRequest> texts) {
    return std::vector<Embedding>(texts.size(), Embedding{0.5F});
  };
  Journaled<EncodeRequest, Embedding> encode(
      std::make_unique<BatchService<EncodeRequest, Embedding, decltype(encoder)>>(encoder), store, fingerprint);
  encode.submit(1, EncodeRequest("q", EncodeRequest::Role::query));
  CHECK(encode.poll(now).at(0).outcome.value() == Embedding{0.5F});
  encode.submit(2, EncodeRequest("q", EncodeRequest::Role::query));
  CHECK(encode.poll(now).at(0).outcome.value() == Embedding{0.5F});
  CHECK(encode.accounts().cached == 1);
}

TEST_CASE("a run that is repeated asks nothing twice, and a run that was stopped goes on") {
  const test::TemporaryFolder folder;
  std::size_t asked = 0, allowed = 7;
  const auto model = [&](std::span<const Prompt> prompts) {
    std::vector<Completion> answers;
    for (const Prompt& p : prompts) {
      if (asked == allowed) throw std::runtime_error("the power went out");
      ++asked;
      answers.emplace_back("." + std::to_string(p.text().size()));
    }
    return answers;
  };
  const auto run = [&](std::size_t in_flight) {
    Scheduler scheduler;
    std::unique_ptr<Service<Prompt, Completion>> service = std::make_unique<Journaled<Prompt, Completion>>(
        std::make_unique<BatchService<Prompt, Completion, decltype(model)>>(model),
        std::make_shared<SqliteStore>(folder / "journal.sqlite"), fingerprint);
    const ModelPort port = scheduler.model(std::move(service), in_flight);
    std::vector<Task<std::string>> tasks;
    for (int i = 0; i < 5; ++i) tasks.push_back(three_steps(port, std::string(static_cast<std::size_t>(i), 'q')));
    return scheduler.run(std::move(tasks));
  };
  CHECK_THROWS_WITH(run(1), "the power went out");
  CHECK(asked == 7);
  allowed = 100;
  const auto resumed = run(3);
  CHECK(asked == 15);
  CHECK(resumed == std::vector<std::string>{".0.2.4", "q.1.3.5", "qq.2.4.6", "qqq.3.5.7", "qqqq.4.6.8"});
  allowed = 15;
  CHECK(run(64) == resumed);
  CHECK(asked == 15);
}

}  // namespace journal_test
