// The journal beside the least that SQLite needs for the same work: a loop over prepared statements without checksum.
// Interleaved runs, medians. Values of 1,000 bytes, keys of 16.

#include <espalier/backend/sqlite_store.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>

namespace {

using namespace espalier;
using backend::Record;
using backend::RecordKind;
using backend::SqliteStore;

constexpr std::size_t rows = 20000, repeats = 5;

std::vector<Record> records(std::size_t begin, std::size_t end) {
  std::vector<Record> made;
  for (std::size_t i = begin; i < end; ++i)
    made.emplace_back(Hasher().add(std::uint64_t(i)).finish(), RecordKind::generation, std::string(1000, static_cast<char>('a' + i % 26)));
  return made;
}

template <class F>
double rate(std::size_t operations, F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return double(operations) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The bare loop. Errors are not looked at: it is the lower bound.
class Bare {
 public:
  explicit Bare(const std::string& file) {
    sqlite3_open(file.c_str(), &db_);
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        "CREATE TABLE record (key BLOB NOT NULL, value BLOB NOT NULL); CREATE UNIQUE INDEX record_key ON record (key);");
    insert_ = prepare("INSERT OR IGNORE INTO record (key, value) VALUES (?1, ?2)");
    select_ = prepare("SELECT value FROM record WHERE key = ?1");
    begin_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
  ~Bare() {
    for (sqlite3_stmt* statement : {insert_, select_, begin_, commit_}) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }
  void put(const std::vector<Record>& batch) {
    step(begin_);
    for (const Record& record : batch) {
      sqlite3_bind_blob(insert_, 1, &record.key, 16, SQLITE_STATIC);
      sqlite3_bind_blob(insert_, 2, record.value.data(), static_cast<int>(record.value.size()), SQLITE_STATIC);
      step(insert_);
    }
    step(commit_);
  }
  std::string find(Hash key) {
    sqlite3_bind_blob(select_, 1, &key, 16, SQLITE_STATIC);
    std::string value;
    if (sqlite3_step(select_) == SQLITE_ROW)
      value.assign(static_cast<const char*>(sqlite3_column_blob(select_, 0)), static_cast<std::size_t>(sqlite3_column_bytes(select_, 0)));
    sqlite3_reset(select_);
    return value;
  }

 private:
  void run(const char* sql) { sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr);
    return statement;
  }
  static void step(sqlite3_stmt* statement) {
    sqlite3_step(statement);
    sqlite3_reset(statement);
  }
  sqlite3* db_ = nullptr;
  sqlite3_stmt *insert_ = nullptr, *select_ = nullptr, *begin_ = nullptr, *commit_ = nullptr;
};

void clear(const std::string& file) {
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
}

}  // namespace

int main() {
  const auto folder = std::filesystem::temp_directory_path() / "espalier-bench-journal";
  std::filesystem::create_directories(folder);
  const std::string ours = (folder / "ours").string(), bare = (folder / "bare").string();
  const std::vector<Record> all = records(0, rows);

  std::printf("%-24s %12s %12s %8s\n", "operations a second", "journal", "bare SQLite", "ratio");
  for (const std::size_t batch : {1UL, 16UL, 64UL, 256UL}) {
    std::vector<std::vector<Record>> batches;
    for (std::size_t i = 0; i < rows; i += batch) batches.push_back(records(i, std::min(i + batch, rows)));
    std::vector<double> a, b;
    for (std::size_t i = 0; i < repeats; ++i) {
      clear(ours);
      SqliteStore store(ours);
      a.push_back(rate(rows, [&] { for (const auto& part : batches) store.put(part); }));
      clear(bare);
      Bare loop(bare);
      b.push_back(rate(rows, [&] { for (const auto& part : batches) loop.put(part); }));
    }
    std::printf("insert, %3zu at once      %12.0f %12.0f %8.2f\n", batch, median(a), median(b), median(b) / median(a));
  }

  SqliteStore store(ours);
  Bare loop(bare);
  std::vector<double> a, b;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < repeats; ++i) {
    a.push_back(rate(rows, [&] { for (const Record& r : all) bytes += store.find(r.key)->size(); }));
    b.push_back(rate(rows, [&] { for (const Record& r : all) bytes += loop.find(r.key).size(); }));
  }
  if (bytes != 2 * repeats * rows * 1000) return 1;
  std::printf("hit                      %12.0f %12.0f %8.2f\n", median(a), median(b), median(b) / median(a));

  const std::vector<Record> absent = records(rows, 2 * rows);
  a.clear(), b.clear();
  for (std::size_t i = 0; i < repeats; ++i) {
    a.push_back(rate(rows, [&] { for (const Record& r : absent) bytes += store.find(r.key).has_value(); }));
    b.push_back(rate(rows, [&] { for (const Record& r : absent) bytes += loop.find(r.key).size(); }));
  }
  std::printf("miss                     %12.0f %12.0f %8.2f\n", median(a), median(b), median(b) / median(a));
  std::filesystem::remove_all(folder);
}
