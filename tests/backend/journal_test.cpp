#include <espalier/backend/journal.hpp>
#include <espalier/backend/sqlite_store.hpp>
#include <espalier/llm/scheduler.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <map>

namespace journal_test {

namespace {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::backend;
using namespace espalier::backend::detail;

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

std::shared_ptr<Store> with_answer() {
  auto store = std::make_shared<MemoryStore>();
  store->put({record("q", "a")});
  return store;
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

TEST_CASE("a failure that an older journal holds as an answer is asked again once, under a key of its own") {
  Completion aborted("The River Te"), empty;
  aborted.finish = Completion::Finish::other;
  empty.prompt_tokens = 10;
  for (const Completion& old : {aborted, empty}) {
    const auto store = std::make_shared<MemoryStore>();
    store->put({Record(key_of("q"), Record::Kind::generation, backend::detail::encode(old))});
    for (const bool first : {true, false}) {
      Scripted::Wire wire;
      auto service = journaled(wire, store);
      service.submit(1, Prompt("q"));
      CHECK(wire.asked.contains(1) == first);
      if (first) wire.arrived.emplace_back(1, Completion("River Tern"));
      CHECK(service.poll(now).at(0).outcome.value().text == "River Tern");
      CHECK(service.accounts().renewed == first);
    }
    Scripted::Wire wire;
    auto service = journaled(wire, store);
    service.submit(1, Prompt("new"));
    wire.arrived.emplace_back(1, old);  // nor is it taken for one when it comes now
    CHECK_THROWS_AS((void)service.poll(now).at(0).outcome.value(), BackendError);
    CHECK(stored_text(*store, "new") == "(nothing)");
  }
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

TEST_CASE_FIXTURE(test::InFolder, "where another process was first, its answer is the one that is used") {
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

TEST_CASE_FIXTURE(test::InFolder, "a run that is repeated asks nothing twice, and a run that was stopped goes on") {
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

TEST_CASE("a replay answers what was stored, in the order of the requests") {
  Journaled<Prompt, Completion> replay(nullptr, with_answer(), fingerprint);
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
  Journaled<Prompt, Completion> replay(nullptr, with_answer(), fingerprint);
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

namespace {

using test::TemporaryFolder;

Hash key(std::uint64_t i) { return Hasher().add(i).finish(); }
std::string text(std::uint64_t i) {
  return "answer " + std::to_string(i) + std::string(400, static_cast<char>('a' + i % 26));
}
RecordNote note(const std::string& source, const std::string& purpose, const std::string& request) {
  RecordNote n;
  n.source = source, n.purpose = purpose, n.request = std::make_shared<const backend::detail::RequestText>(request);
  n.seed = 0xfedcba9876543210, n.sample = 3, n.prompt_tokens = 20, n.completion_tokens = 5, n.attempts = 2,
  n.microseconds = 51234;
  return n;
}
std::vector<Record> records(std::uint64_t count) {
  std::vector<Record> all;
  for (std::uint64_t i = 0; i < count; ++i)
    all.emplace_back(key(i), Record::Kind::generation, backend::detail::encode(Completion(text(i))),
                     note("m", "rollout", "{\"messages\":[" + std::to_string(i / 2) + "]}"));
  return all;
}
sqlite3_int64 number(const std::string& file, const std::string& sql) {
  return backend::detail::JournalFile(file).number(sql);
}
std::string text_of(const std::string& file, const std::string& sql) {
  backend::detail::JournalFile opened(file);
  const auto row = opened.prepare(sql);
  REQUIRE(opened.step(row.get()));
  return std::string(backend::detail::column_bytes(row.get(), 0));
}
/// Why the records cannot be copied to another journal, "" if they can.
std::string refusal(const std::string& file, const std::string& copy) {
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(copy + suffix);
  try {
    SqliteStore::copy(file, copy, "copy", [] {});
  } catch (const StoreError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a journal keeps beside a response what was asked, of whom, and what it took; samples share their prompt") {
  const TemporaryFolder folder;
  const std::string file = folder / "journal.sqlite";
  const auto model = [](std::span<const Prompt> prompts) {
    std::vector<Completion> answers;
    for (const Prompt& p : prompts) {
      Completion c("said " + std::to_string(p.sample()));
      c.prompt_tokens = 9, c.completion_tokens = 4, c.attempts = 2;
      answers.push_back(std::move(c));
    }
    return answers;
  };
  backend::Journaled<Prompt, Completion> service(
      std::make_unique<BatchService<Prompt, Completion, decltype(model)>>(model), std::make_shared<SqliteStore>(file),
      key(1), "small-model");
  PromptBody body;
  body.messages = {{"system", "be \"brief\""}, {"user", "q"}};
  body.purpose = "rollout";
  body.sampling.temperature = 0.5;
  body.sampling.stop = {"</answer>"};
  const auto shared = std::make_shared<const PromptBody>(body);
  service.submit(1, Prompt(shared, 77, 0));
  service.submit(2, Prompt(shared, 77, 1));
  CHECK(service.poll(std::chrono::milliseconds(0)).size() == 2);

  const auto last = [&](const std::string& column) { return "SELECT " + column + " FROM record WHERE id = 2"; };
  CHECK(text_of(file, last("lower(hex(key))")) ==
        backend::detail::journal_key<Completion>(key(1), Prompt(shared, 77, 1)).hex());
  CHECK(text_of(file, last("source")) == "small-model");
  CHECK(text_of(file, last("purpose")) == "rollout");
  CHECK(text_of(file, "SELECT json FROM request") ==
        R"({"messages":[{"role":"system","content":"be \"brief\""},{"role":"user","content":"q"}],"temperature":0.5,)"
        R"("top_p":1,"top_k":0,"min_p":0,"max_tokens":512,"stop":["</answer>"],"logprobs":false})");
  CHECK(number(file, last("seed")) == 77);
  CHECK(number(file, last("sample")) == 1);
  CHECK(number(file, last("prompt_tokens")) == 9);
  CHECK(number(file, last("completion_tokens")) == 4);
  CHECK(number(file, last("attempts")) == 2);
  CHECK(number(file, last("microseconds")) < 60'000'000);
  CHECK(number(file, "SELECT min(created) FROM record") > 1'700'000'000);
  CHECK(number(file, "SELECT count(*) FROM request") == 1);
}

TEST_CASE("records are copied to another journal as they are, as paid by another run; older ones stay") {
  const TemporaryFolder folder;
  const std::string file = folder / "journal.sqlite", copy = folder / "copy";
  SqliteStore(file, "first").put(records(6));
  SqliteStore(copy, "second").put({Record(key(2), Record::Kind::generation, "older")});
  int pauses = 0;
  SqliteStore::copy(file, copy, "third", [&] { ++pauses; });
  CHECK(pauses == 1);
  CHECK(number(copy, "SELECT count(*) FROM record JOIN run ON run.id = paid_by WHERE name = 'third'") == 5);
  CHECK(number(copy, "SELECT count(*) FROM record JOIN request ON request = request_id") == 5);
  for (const char* columns : {"source || purpose", "seed || sample || attempts || microseconds || created", "value"}) {
    const std::string asked = std::string("SELECT ") + columns + " FROM record WHERE key = x'" + key(5).hex() + "'";
    CHECK(text_of(copy, asked) == text_of(file, asked));
  }
  SqliteStore store(copy);
  CHECK(store.find(key(2)) == "older");
  CHECK(store.find(key(5)) == records(6)[5].value);
  const sqlite3_int64 requests = number(copy, "SELECT count(*) FROM request");
  SqliteStore::copy(file, copy, "fourth", [] {});  // all are there: nothing is written again
  CHECK(number(copy, "SELECT count(*) FROM request") == requests);
}

TEST_CASE("records are copied 1,024 at a time: what stood before a damaged one or a stop is kept") {
  const TemporaryFolder folder;
  const std::string file = folder / "journal.sqlite", copy = folder / "copy", other = folder / "other";
  SqliteStore(file).put(records(2500));
  int pauses = 0;
  const auto stop = [&] {
    if (++pauses == 2) throw std::runtime_error("stopped");
  };
  CHECK_THROWS_WITH(SqliteStore::copy(file, copy, "", stop), "stopped");
  CHECK(number(copy, "SELECT count(*) FROM record") == 1024);
  SqliteStore::copy(file, copy, "", [&] { ++pauses; });
  CHECK(pauses == 5);  // 1,024 + 1,024 + 452
  CHECK(number(copy, "SELECT count(*) FROM record JOIN request ON request = request_id") == 2500);
  CHECK(number(copy, "SELECT count(*) FROM request") == 1250);
  backend::detail::JournalFile(file).run("UPDATE record SET seed = 1 WHERE id = 2100");
  CHECK_THROWS_AS(SqliteStore::copy(file, other, "", [] {}), StoreError);
  CHECK(number(other, "SELECT count(*) FROM record") == 2048);
}

TEST_CASE_FIXTURE(test::InFolder, "a source that is no journal leaves no copy") {
  test::write_bytes(folder / "text", std::string(200, 'x'));
  CHECK_THROWS_AS(SqliteStore::copy(folder / "text", folder / "copy", "run", [] {}), StoreError);
  CHECK_THROWS_AS(SqliteStore::copy(folder / "none", folder / "copy", "run", [] {}), StoreError);
  CHECK_FALSE(std::filesystem::exists(folder / "copy"));
}

TEST_CASE_FIXTURE(test::InFolder, "a request of records that were rolled back is written again with the next ones") {
  const std::string file = folder / "journal.sqlite";
  SqliteStore store(file);
  const std::vector<Record> two = records(2);  // of one request
  store.put({Record(key(7), Record::Kind::generation, "whole")});
  backend::detail::JournalFile(file).run("UPDATE record SET checksum = 1");
  CHECK_THROWS_AS(store.put({two[0], Record(key(7), Record::Kind::generation, "again")}), StoreError);
  CHECK(number(file, "SELECT count(*) FROM request") == 0);
  store.put({two[1]});
  CHECK(text_of(file, "SELECT json FROM record JOIN request ON request = request_id WHERE key = x'" + key(1).hex() +
                          "'") == R"({"messages":[0]})");
}

TEST_CASE_FIXTURE(test::InFolder, "a copy names the damaged record, and leaves nothing") {
  const std::string file = folder / "journal.sqlite", copy = folder / "copy";
  SqliteStore(file).put(records(8));
  CHECK(refusal(file, copy) == "");
  backend::detail::JournalFile(file).run("UPDATE request SET json = 'other' WHERE request_id = 2");
  CHECK(refusal(file, copy) ==
        file + ": record " + key(2).hex() + " is damaged: the checksum of its request does not match");
  backend::detail::JournalFile(file).run("UPDATE record SET microseconds = 1 WHERE id = 2");
  CHECK(refusal(file, copy) == file + ": record " + key(1).hex() + " is damaged: its checksum does not match");
  CHECK(number(copy, "SELECT count(*) FROM record") == 0);
}

TEST_CASE("one flipped bit anywhere in the file never gives another answer: it is named, or a check finds it") {
  const TemporaryFolder folder;
  const std::string file = folder / "journal.sqlite", copy = folder / "copy";
  constexpr std::uint64_t count = 24;
  {
    SqliteStore(file, "run").put(records(count));
  }
  const std::string good = test::read_bytes(file);
  REQUIRE_FALSE(std::filesystem::exists(file + "-wal"));
  std::size_t named = 0, found = 0;
  for (std::size_t at = 0; at < good.size(); at += 113) {
    CAPTURE(at);
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(copy + suffix);
    test::write_bytes(copy, bytes);
    std::uint64_t missing = 0;
    try {
      SqliteStore store(copy);
      for (std::uint64_t i = 0; i < count; ++i)
        if (const auto value = store.find(key(i))) REQUIRE(backend::detail::decode<Completion>(*value).text == text(i));
        else ++missing;
      if (missing) {
        ++found;
        CHECK((number(copy, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") > 0 ||
               refusal(copy, folder / "other") != ""));
      }
    } catch (const StoreError& error) {
      ++named;
      CHECK(std::string(error.what()).starts_with(copy + ": "));
    }
  }
  CHECK(named > 50);
  CHECK(found > 0);
}

TEST_CASE_FIXTURE(test::InFolder, "one flipped bit in the log drops what stands behind it, and nothing else") {
  const std::string file = folder / "journal.sqlite", copy = folder / "copy";
  constexpr std::uint64_t count = 12;
  SqliteStore store(file);
  for (const Record& record : records(count)) store.put({record});
  const std::string main_bytes = test::read_bytes(file), log = test::read_bytes(file + "-wal");
  for (std::size_t at = 32; at < log.size(); at += log.size() / 60) {
    CAPTURE(at);
    std::string bytes = log;
    bytes[at] = static_cast<char>(bytes[at] ^ 16);
    std::filesystem::remove(copy + "-shm");
    test::write_bytes(copy, main_bytes);
    test::write_bytes(copy + "-wal", bytes);
    SqliteStore torn(copy);
    std::uint64_t survived = 0;
    while (torn.find(key(survived))) ++survived;
    for (std::uint64_t i = 0; i < survived; ++i)
      CHECK(backend::detail::decode<Completion>(*torn.find(key(i))).text == text(i));
    for (std::uint64_t i = survived; i < count; ++i) CHECK_FALSE(torn.find(key(i)).has_value());
    CHECK(survived < count);
  }
}

}  // namespace journal_test
