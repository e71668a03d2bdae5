#include <espalier/backend/journal/store.hpp>
#include <espalier/backend/sqlite_store.hpp>
#include <espalier/core/seed.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>

namespace sqlite_store_test {

namespace {

/// A folder with the name of a journal in it.
struct WithFile : espalier::test::InFolder {
  const std::string file = folder / "journal.sqlite";
};

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::backend;
using test::TemporaryFolder;

Hash key(std::uint64_t i) { return Hasher().add(i).finish(); }
Record record(std::uint64_t i, std::string value) { return Record(key(i), Record::Kind::generation, std::move(value)); }
std::string text(std::uint64_t i) {
  return "answer " + std::to_string(i) + std::string(1000, static_cast<char>('a' + i % 26));
}
std::vector<Record> texts(std::uint64_t begin, std::uint64_t end) {
  std::vector<Record> records;
  for (std::uint64_t i = begin; i < end; ++i) records.push_back(record(i, text(i)));
  return records;
}

/// The message of the StoreError that `f` throws, or "" if it throws none.
std::string message_of(auto f) {
  try {
    f();
  } catch (const StoreError& error) {
    return error.what();
  }
  return "";
}
bool contains(const std::string& whole, const std::string& part) { return whole.find(part) != std::string::npos; }

/// Runs SQL on the file behind the store's back.
void tamper(const std::string& file, const std::string& sql) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
  CHECK(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}
std::string query(const std::string& file, const std::string& sql) {
  std::string rows;
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
  const auto append = [](void* out, int, char** values, char**) {
    *static_cast<std::string*>(out) += values[0];
    return 0;
  };
  CHECK(sqlite3_exec(db, sql.c_str(), append, &rows, nullptr) == SQLITE_OK);
  sqlite3_close(db);
  return rows;
}

/// Runs f in a child process; 0 if it returned true, 1 if it returned false or threw.
pid_t fork_to(auto f) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int code = 1;
    try {
      code = f() ? 0 : 1;
    } catch (...) {
    }
    _exit(code);
  }
  return child;
}
int exit_code(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void check_store(Store& store) {
  CHECK_FALSE(store.find(key(1)).has_value());
  CHECK(store.put({}).empty());
  const auto stored = store.put({record(1, "one"), record(2, ""), record(3, std::string("a\0b", 3))});
  CHECK(stored == std::vector<std::string>{"one", "", std::string("a\0b", 3)});
  CHECK(store.find(key(1)) == "one");
  CHECK(store.find(key(2)) == "");
  CHECK(store.find(key(3)) == std::string("a\0b", 3));
  CHECK(store.put({record(4, "four"), record(1, "uno"), record(4, "quattro")}) ==
        std::vector<std::string>{"four", "one", "four"});
  CHECK(store.find(key(1)) == "one");
  CHECK(store.find(key(4)) == "four");
}

/// While it lives, every write of SQLite past `limit` writes reports a full disk.
class FullDisk {
 public:
  explicit FullDisk(int writes) {
    left_ = writes;
    shim_ = *sqlite3_vfs_find(nullptr);
    shim_.zName = "full-disk";
    shim_.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
      const int code = real()->xOpen(real(), name, file, flags, out);
      if (code == SQLITE_OK && file->pMethods) {
        sqlite3_io_methods& methods = copies_[file->pMethods];
        methods = *file->pMethods;
        write_ = methods.xWrite;
        methods.xWrite = [](sqlite3_file* f, const void* data, int size, sqlite3_int64 at) {
          return left_-- > 0 ? write_(f, data, size, at) : SQLITE_FULL;
        };
        file->pMethods = &methods;
      }
      return code;
    };
    sqlite3_vfs_register(&shim_, 1);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() { sqlite3_vfs_unregister(&shim_); }
  void make_room() { left_ = 1 << 30; }

 private:
  static sqlite3_vfs* real() {
    static sqlite3_vfs* vfs = sqlite3_vfs_find("unix");
    return vfs;
  }
  inline static int left_ = 0;
  inline static sqlite3_vfs shim_{};
  inline static decltype(sqlite3_io_methods::xWrite) write_ = nullptr;
  inline static std::map<const sqlite3_io_methods*, sqlite3_io_methods> copies_;  // one for databases, one for logs
};

}  // namespace

TEST_CASE_FIXTURE(test::InFolder, "a store returns what was put, and the older value wins") {
  SqliteStore on_disk(folder / "journal.sqlite");
  check_store(on_disk);
  MemoryStore in_memory;
  check_store(in_memory);
}

TEST_CASE_FIXTURE(WithFile,
                  "the file is in the promised form: write-ahead log, rowid table, key as its hexadecimal reads") {
  SqliteStore store(file);
  store.put({Record(key(7), Record::Kind::retrieval, "v")});
  CHECK(query(file, "PRAGMA journal_mode") == "wal");
  CHECK(query(file, "SELECT lower(hex(key)) FROM record") == key(7).hex());
  CHECK(query(file, "SELECT kind FROM record") == "2");
  CHECK(query(file, "SELECT rowid FROM record") == "1");
  CHECK(query(file, "PRAGMA user_version") == "2");
  for (const char* part : {"", "-wal", "-shm"}) {  // they hold prompts
    struct stat found{};
    REQUIRE(::stat((file + part).c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0600);
  }
}

TEST_CASE_FIXTURE(WithFile,
                  "a damaged record is an error that names its key and the file, and its neighbours still read") {
  for (const char* damage :
       {"UPDATE record SET value = 'onf' WHERE rowid = 1", "UPDATE record SET kind = 2 WHERE rowid = 1",
        "UPDATE record SET checksum = checksum + 1 WHERE rowid = 1"}) {
    CAPTURE(damage);
    std::filesystem::remove(file);
    {
      SqliteStore(file).put({record(1, "one"), record(2, "two")});
    }
    tamper(file, damage);
    SqliteStore store(file);
    const std::string message = message_of([&] { (void)store.find(key(1)); });
    CHECK(contains(message, key(1).hex()));
    CHECK(contains(message, file));
    CHECK(store.find(key(2)) == "two");
    CHECK(contains(message_of([&] { store.put({record(3, "three"), record(1, "one")}); }), key(1).hex()));
    CHECK_FALSE(store.find(key(3)).has_value());  // all of a put or nothing of it
    CHECK(store.put({record(3, "three")}) == std::vector<std::string>{"three"});
  }
}

TEST_CASE_FIXTURE(WithFile, "a damaged page is an error that names the file and the page") {
  {
    SqliteStore(file).put(texts(0, 400));
  }
  std::string bytes = test::read_bytes(file);
  REQUIRE(bytes.size() > 40 * 4096);
  for (std::size_t page = 10; page < 40; ++page) bytes.replace(page * 4096, 64, std::string(64, '\xEE'));
  test::write_bytes(file, bytes);
  SqliteStore store(file);
  std::string message;
  for (std::uint64_t i = 0; i < 400 && message.empty(); ++i) message = message_of([&] { (void)store.find(key(i)); });
  CAPTURE(message);
  CHECK(contains(message, file + ": is damaged: "));
  CHECK(contains(message, "age "));
}

TEST_CASE_FIXTURE(test::InFolder, "a file that is not a journal is named as such and left as it is") {
  const std::string file = folder / "notes.txt";
  const std::string notes =
      "These are notes, not a database; they are longer than the header of one, which has a hundred bytes of its own.";
  test::write_bytes(file, notes);
  CHECK(contains(message_of([&] { SqliteStore store(file); }), file + ": is not a journal"));
  CHECK(test::read_bytes(file) == notes);

  const std::string other = folder / "other.sqlite";
  tamper(other, "CREATE TABLE songs (title TEXT)");
  CHECK(contains(message_of([&] { SqliteStore store(other); }), other + ": is an SQLite database, but not a journal"));
  CHECK(query(other, "SELECT count(*) FROM sqlite_master") == "1");
}

TEST_CASE_FIXTURE(WithFile, "a journal of another schema version is refused with both versions") {
  {
    SqliteStore store(file);
  }
  tamper(file, "PRAGMA user_version = 9");
  CHECK(message_of([&] { SqliteStore store(file); }) ==
        file + ": is a journal of schema version 9, this build reads 2");
}

TEST_CASE_FIXTURE(test::InFolder, "an empty file becomes a journal") {
  test::write_bytes(folder / "journal.sqlite", "");
  SqliteStore store(folder / "journal.sqlite");
  CHECK(store.put({record(1, "one")}) == std::vector<std::string>{"one"});
}

TEST_CASE_FIXTURE(test::InFolder, "a place where no file can be is an error that names the file") {
  const std::string missing = folder / "no/such/folder/journal.sqlite";
  CHECK(contains(message_of([&] { SqliteStore store(missing); }), missing + ": unable to open"));
  CHECK(contains(message_of([] { SqliteStore store("/dev/null"); }), "/dev/null: is no file"));
  CHECK(contains(message_of([&] { SqliteStore store(folder.path().string()); }), folder.path().string()));
  CHECK(contains(message_of([&] { SqliteStore store(":memory:"); }), "no write-ahead log"));
}

TEST_CASE_FIXTURE(WithFile, "a folder without the right to write is an error that names the file") {
  REQUIRE(chmod(folder.path().c_str(), 0555) == 0);
  const pid_t child = fork_to([&] {
    if (geteuid() == 0 && setuid(65534) != 0) return false;  // root may write anywhere: be nobody
    return contains(message_of([&] { SqliteStore store(file); }), file + ": ");
  });
  CHECK(exit_code(child) == 0);
  chmod(folder.path().c_str(), 0755);
}

TEST_CASE_FIXTURE(WithFile, "a full disk is an error that names the file, loses nothing and is survived") {
  int failed = 0, written = 0;
  for (int writes = 0; writes < 45; writes += 3) {
    CAPTURE(writes);
    std::filesystem::remove(file);
    {
      SqliteStore(file).put(texts(0, 10));
    }
    FullDisk disk(writes);
    const std::string message = message_of([&] {
      SqliteStore store(file);
      store.put(texts(10, 40));
    });
    if (!message.empty()) CHECK(message == file + ": cannot be written: the disk is full");
    ++(message.empty() ? written : failed);
    disk.make_room();
    SqliteStore store(file);
    for (std::uint64_t i = 0; i < 10; ++i) CHECK(store.find(key(i)) == text(i));
    for (std::uint64_t i = 10; i < 40; ++i) CHECK(store.find(key(i)).has_value() == message.empty());
    CHECK(store.put(texts(10, 40)).size() == 30);
    CHECK(store.find(key(39)) == text(39));
  }
  CHECK(failed >= 5);
  CHECK(written >= 2);
}

TEST_CASE_FIXTURE(WithFile, "a torn end of the log is dropped: a prefix of the transactions survives") {
  SqliteStore store(file);
  for (std::uint64_t i = 0; i < 60; ++i) store.put({record(i, text(i))});
  const std::string main_bytes = test::read_bytes(file), log = test::read_bytes(file + "-wal");
  REQUIRE(log.size() > 60 * 1000);
  std::uint64_t last = 60;
  for (const std::size_t tail : {0UL, 1UL, 700UL, 5000UL, 40000UL, 100000UL, log.size() - 40, log.size()}) {
    CAPTURE(tail);
    const std::string copy = folder / ("copy-" + std::to_string(tail));
    test::write_bytes(copy, main_bytes);
    test::write_bytes(copy + "-wal", log.substr(0, log.size() - tail));
    SqliteStore torn(copy);
    std::uint64_t survived = 0;
    while (torn.find(key(survived)) == text(survived)) ++survived;
    for (std::uint64_t i = survived; i < 60; ++i) CHECK_FALSE(torn.find(key(i)).has_value());
    CHECK(survived <= last);
    if (tail == 0) CHECK(survived == 60);
    if (tail == 1) CHECK(survived == 59);
    last = survived;
    torn.put(texts(survived, 60));  // and it goes on
    CHECK(torn.find(key(59)) == text(59));
  }
  CHECK(last == 0);
}

TEST_CASE("two processes write one journal at once: no error, one value a key, the same for both") {
  const TemporaryFolder folder;
  const std::string file = folder / "journal.sqlite";  // both also race to create it
  constexpr std::uint64_t rows = 400;
  const auto writer = [&](const std::string& name) {
    return fork_to([&, name] {
      SqliteStore store(file);
      std::string seen;
      for (std::uint64_t i = 0; i < rows; i += 4) {
        std::vector<Record> records;
        for (std::uint64_t j = i; j < i + 4; ++j) records.push_back(record(j, name + std::to_string(j)));
        for (const std::string& value : store.put(records)) seen += value + "\n";
      }
      test::write_bytes(folder / ("seen-" + name), seen);
      return true;
    });
  };
  const pid_t a = writer("a"), b = writer("b"), c = writer("c");
  CHECK(exit_code(a) == 0);
  CHECK(exit_code(b) == 0);
  CHECK(exit_code(c) == 0);
  CHECK(test::read_bytes(folder / "seen-a") == test::read_bytes(folder / "seen-b"));
  CHECK(test::read_bytes(folder / "seen-a") == test::read_bytes(folder / "seen-c"));
  SqliteStore store(file);
  std::string stored;
  for (std::uint64_t i = 0; i < rows; ++i) stored += store.find(key(i)).value() + "\n";
  CHECK(stored == test::read_bytes(folder / "seen-a"));
  CHECK(query(file, "SELECT count(*) FROM record") == std::to_string(rows));
}

TEST_CASE_FIXTURE(WithFile, "a reader sees what another connection has committed, and only that") {
  SqliteStore writer(file), reader(file);
  CHECK_FALSE(reader.find(key(1)).has_value());
  writer.put({record(1, "one")});
  CHECK(reader.find(key(1)) == "one");
  CHECK(reader.put({record(1, "uno")}) == std::vector<std::string>{"one"});
}

TEST_CASE_FIXTURE(WithFile, "a process killed at any moment loses no acknowledged record and leaves a clean journal") {
  Random random{Seed(11)};
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < 10; ++round) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const pid_t child = fork_to([&] {
      close(pipe_ends[0]);
      SqliteStore store(file);
      for (std::uint64_t i = acknowledged;; i += 3) {
        store.put(texts(i, i + 3));
        const std::uint64_t done = i + 3;
        if (write(pipe_ends[1], &done, sizeof done) != sizeof done) return false;
      }
    });
    close(pipe_ends[1]);
    const std::uint32_t moment = 1 + random.below(60);  // acknowledgements to wait for
    std::uint64_t done = 0;
    for (std::uint32_t i = 0; i < moment && read(pipe_ends[0], &done, sizeof done) == sizeof done; ++i)
      acknowledged = done;
    usleep(random.below(2000));
    kill(child, SIGKILL);
    CHECK(exit_code(child) == -SIGKILL);
    while (read(pipe_ends[0], &done, sizeof done) == sizeof done) acknowledged = done;  // written before the end
    close(pipe_ends[0]);

    SqliteStore store(file);
    for (std::uint64_t i = 0; i < acknowledged; ++i) REQUIRE(store.find(key(i)) == text(i));
    CHECK(query(file, "PRAGMA integrity_check") == "ok");
    CHECK(std::stoull(query(file, "SELECT count(*) FROM record")) % 3 == 0);  // whole transactions only
  }
  CHECK(acknowledged >= 30);
}

}  // namespace sqlite_store_test
