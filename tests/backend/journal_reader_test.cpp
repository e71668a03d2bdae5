#include <espalier/backend/journal.hpp>
#include <espalier/backend/journal/reader.hpp>
#include <espalier/backend/sqlite_store.hpp>
#include <espalier/core/batch_service.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

namespace journal_reader_test {

namespace {

using namespace espalier;
using backend::JournalReader;
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
/// What is wrong with the file's structure and with its records.
std::vector<std::string> findings(const std::string& file) {
  JournalReader reader(file);
  std::vector<std::string> found;
  if (number(file, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") > 0)
    found.emplace_back("damaged pages");
  for (bool more = true; more;) {
    try {
      more = reader.next().has_value();
    } catch (const StoreError& error) {
      found.emplace_back(error.what());
    }
  }
  return found;
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

  JournalReader reader(file);
  REQUIRE(reader.next());
  const auto record = reader.next();
  REQUIRE(record);
  CHECK_FALSE(reader.next());
  const RecordNote& n = record->note;
  CHECK(record->key == backend::detail::journal_key<Completion>(key(1), Prompt(shared, 77, 1)));
  CHECK(n.source == "small-model");
  CHECK(n.purpose == "rollout");
  CHECK(n.request->json ==
        R"({"messages":[{"role":"system","content":"be \"brief\""},{"role":"user","content":"q"}],"temperature":0.5,)"
        R"("top_p":1,"top_k":0,"min_p":0,"max_tokens":512,"stop":["</answer>"],"logprobs":false})");
  CHECK(n.seed == 77);
  CHECK(n.sample == 1);
  CHECK(n.prompt_tokens == 9);
  CHECK(n.completion_tokens == 4);
  CHECK(n.attempts == 2);
  CHECK(n.microseconds < 60'000'000);
  CHECK(number(file, "SELECT min(created) FROM record") > 1'700'000'000);
  CHECK(number(file, "SELECT count(*) FROM request") == 1);
}

TEST_CASE("a run's name stands at every record that it uses, with the times it was given from the journal") {
  const TemporaryFolder folder;
  const std::string file = folder / "journal.sqlite";
  {
    SqliteStore store(file, "first");
    store.put(records(3));
    (void)store.find(key(1));
    (void)store.find(key(1));
  }
  {
    SqliteStore store(file, "second");
    (void)store.find(key(1));
    (void)store.find(key(9));
    store.put(records(1));  // another process was first: this run uses its answer
  }
  {
    SqliteStore nobody(file);
    (void)nobody.find(key(2));
  }
  const auto used = [&](const std::string& name, std::uint64_t i) {
    return number(file, "SELECT coalesce(max(hits), -1) FROM used JOIN run ON run.id = run WHERE name = '" + name +
                            "' AND record = " + std::to_string(i + 1));
  };
  CHECK(number(file, "SELECT count(*) FROM record JOIN run ON run.id = paid_by WHERE name = 'first'") == 3);
  CHECK(used("first", 0) == -1);
  CHECK(used("first", 1) == 2);
  CHECK(used("second", 0) == 0);
  CHECK(used("second", 1) == 1);
  CHECK(used("second", 2) == -1);
}

TEST_CASE("a put that failed leaves no use behind") {
  const TemporaryFolder folder;
  const std::string file = folder / "journal.sqlite";
  {
    SqliteStore store(file, "run");
    store.put(records(1));
    backend::detail::JournalFile(file).run("UPDATE record SET value = 'x'");
    std::vector<Record> more = records(2);
    std::swap(more[0], more[1]);
    CHECK_THROWS_AS(store.put(more), StoreError);
  }
  CHECK(number(file, "SELECT count(*) FROM record") == 1);
  CHECK(number(file, "SELECT count(*) FROM used") == 0);
  CHECK(number(file, "SELECT count(*) FROM request") == 1);
}

TEST_CASE("a check names every damaged record, and goes on after it") {
  const TemporaryFolder folder;
  const std::string file = folder / "journal.sqlite";
  SqliteStore(file).put(records(8));
  CHECK(findings(file).empty());
  backend::detail::JournalFile(file).run("UPDATE record SET microseconds = 1 WHERE id = 2");
  backend::detail::JournalFile(file).run(
      "UPDATE request SET json = 'other' WHERE request_id = 2");  // of records 3 and 4
  const auto found = findings(file);
  REQUIRE(found.size() == 3);
  CHECK(found[0] == file + ": record " + key(1).hex() + " is damaged: its checksum does not match");
  CHECK(found[1] == file + ": record " + key(2).hex() + " is damaged: the checksum of its request does not match");
  CHECK(found[2].find(key(3).hex()) != std::string::npos);
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
        CHECK_FALSE(findings(copy).empty());
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

}  // namespace journal_reader_test
