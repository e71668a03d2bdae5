#include <espalier/backend/journal.hpp>
#include <espalier/backend/sqlite_store.hpp>
#include <espalier/core/batch_service.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

namespace journal_file_test {

namespace {

using namespace espalier;
using backend::Record;
using backend::SqliteStore;
using backend::StoreError;
using backend::detail::RecordNote;
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

TEST_CASE("a source that is no journal leaves no copy") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "text", std::string(200, 'x'));
  CHECK_THROWS_AS(SqliteStore::copy(folder / "text", folder / "copy", "run", [] {}), StoreError);
  CHECK_THROWS_AS(SqliteStore::copy(folder / "none", folder / "copy", "run", [] {}), StoreError);
  CHECK_FALSE(std::filesystem::exists(folder / "copy"));
}

TEST_CASE("a request of records that were rolled back is written again with the next ones") {
  const TemporaryFolder folder;
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

TEST_CASE("a copy names the damaged record, and leaves nothing") {
  const TemporaryFolder folder;
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

TEST_CASE("one flipped bit in the log drops what stands behind it, and nothing else") {
  const TemporaryFolder folder;
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

}  // namespace journal_file_test
