// CPU time that the journal takes a response, beside the least that SQLite needs for the same bytes: a loop over
// prepared statements that neither writes JSON nor hashes nor checks. Interleaved runs, medians of process CPU time.
// Three samples per prompt of 3,000 bytes, answers of 400 bytes.

#include <espalier/backend/journal.hpp>
#include <espalier/backend/sqlite_store.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace espalier;
using namespace espalier::detail;
using backend::Journaled;
using backend::SqliteStore;

constexpr std::size_t rows = 21000, samples = 3, repeats = 5;
const Hash fingerprint = Hasher().add("a model").finish();

/// Answers everything that was submitted, at once.
class Instant final : public Service<Prompt, Completion> {
 public:
  void submit(Ticket ticket, const Prompt&) override { replies_.emplace_back(ticket, answer_); }
  std::vector<Reply<Completion>> poll(std::chrono::milliseconds) override { return std::exchange(replies_, {}); }
  [[nodiscard]] bool batch() const override { return false; }

 private:
  Completion answer_{std::string(400, 'a')};
  std::vector<Reply<Completion>> replies_;
};

std::vector<Prompt> prompts(std::size_t first) {
  std::vector<Prompt> made;
  for (std::size_t i = first; made.size() < rows; ++i) {
    PromptBody body;
    body.messages = {{"user", std::string(3000, static_cast<char>('a' + i % 26)) + std::to_string(i)}};
    body.purpose = "rollout";
    body.sampling.temperature = 1;
    const auto shared = std::make_shared<const PromptBody>(std::move(body));
    for (std::uint32_t sample = 0; sample < samples; ++sample) made.emplace_back(shared, i, sample);
  }
  return made;
}

/// The bytes of a response and its request, made before the clock starts.
struct Bytes {
  Hash key, hash;
  std::string value, request;
};
std::vector<Bytes> bytes_of(const std::vector<Prompt>& all) {
  std::vector<Bytes> made;
  for (const Prompt& prompt : all) {
    std::string request = backend::detail::request_json(prompt);
    const Hash hash = Hasher().add(request).finish();
    made.push_back({backend::detail::journal_key<Completion>(fingerprint, prompt), hash,
                    backend::detail::encode(Completion(std::string(400, 'a'))), std::move(request)});
  }
  return made;
}

/// The bare loop. Errors are not looked at: it is the lower bound.
class Bare {
 public:
  explicit Bare(const std::string& file) {
    sqlite3_open(file.c_str(), &db_);
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        "CREATE TABLE record (key BLOB NOT NULL, value BLOB NOT NULL); CREATE UNIQUE INDEX record_key ON record (key);"
        "CREATE TABLE request (hash BLOB NOT NULL, json BLOB NOT NULL); CREATE UNIQUE INDEX request_hash ON request "
        "(hash);");
    insert_ = prepare("INSERT OR IGNORE INTO record (key, value) VALUES (?1, ?2)");
    request_ = prepare("INSERT OR IGNORE INTO request (hash, json) VALUES (?1, ?2)");
    select_ = prepare("SELECT value FROM record WHERE key = ?1");
    begin_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
  ~Bare() {
    for (sqlite3_stmt* statement : {insert_, request_, select_, begin_, commit_}) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }
  void put(const Bytes* first, std::size_t count) {
    step(begin_);
    for (const Bytes* b = first; b != first + count; ++b) {
      bind(insert_, b->key, b->value);
      bind(request_, b->hash, b->request);
    }
    step(commit_);
  }
  std::size_t find(Hash key) {
    sqlite3_bind_blob(select_, 1, &key, 16, SQLITE_STATIC);
    std::string value;
    if (sqlite3_step(select_) == SQLITE_ROW)
      value.assign(static_cast<const char*>(sqlite3_column_blob(select_, 0)),
                   static_cast<std::size_t>(sqlite3_column_bytes(select_, 0)));
    sqlite3_reset(select_);
    return value.size();
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
  static void bind(sqlite3_stmt* statement, const Hash& key, const std::string& value) {
    sqlite3_bind_blob(statement, 1, &key, 16, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 2, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    step(statement);
  }
  sqlite3* db_ = nullptr;
  sqlite3_stmt *insert_ = nullptr, *request_ = nullptr, *select_ = nullptr, *begin_ = nullptr, *commit_ = nullptr;
};

/// CPU microseconds per operation.
template <class F>
double cost(std::size_t operations, F f) {
  const std::clock_t start = std::clock();
  f();
  return 1e6 * double(std::clock() - start) / CLOCKS_PER_SEC / double(operations);
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
void clear(const std::string& file) {
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
}
void print(const char* what, const std::vector<double>& ours, const std::vector<double>& bare) {
  std::printf("%-24s %12.2f %12.2f %8.2f\n", what, median(ours), median(bare), median(ours) / median(bare));
}

using Journal = Journaled<Prompt, Completion>;
std::unique_ptr<Journal> open(const std::string& file) {
  return std::make_unique<Journal>(std::make_unique<Instant>(), std::make_shared<SqliteStore>(file, "run"), fingerprint,
                                   "model");
}
/// Asks for all, so many at once; returns how many answers came.
std::size_t ask(Journal& journal, const std::vector<Prompt>& all, std::size_t batch) {
  std::size_t answers = 0;
  for (std::size_t i = 0; i < all.size();) {
    for (const std::size_t end = std::min(i + batch, all.size()); i < end; ++i) journal.submit(i + 1, all[i]);
    answers += journal.poll(std::chrono::milliseconds(0)).size();
  }
  return answers;
}

}  // namespace

int main() {
  const auto folder = std::filesystem::temp_directory_path() / "espalier-bench-journal";
  std::filesystem::create_directories(folder);
  const std::string ours = (folder / "ours").string(), bare = (folder / "bare").string();
  const std::vector<Prompt> all = prompts(0), absent = prompts(rows);
  const std::vector<Bytes> bytes = bytes_of(all), no_bytes = bytes_of(absent);

  bool right = true;
  std::printf("%-24s %12s %12s %8s\n", "CPU us a response", "journal", "bare SQLite", "ratio");
  for (const std::size_t batch : {1UL, 16UL, 64UL, 256UL}) {
    std::vector<double> a, b;
    for (std::size_t i = 0; i < repeats; ++i) {
      clear(ours), clear(bare);
      const auto journal = open(ours);
      a.push_back(cost(rows, [&] { right = ask(*journal, all, batch) == rows && right; }));
      Bare loop(bare);
      b.push_back(cost(rows, [&] {
        for (std::size_t at = 0; at < rows; at += batch) loop.put(&bytes[at], std::min(batch, rows - at));
      }));
    }
    print(("stored, " + std::to_string(batch) + " at once").c_str(), a, b);
  }

  SqliteStore store(ours);
  Bare loop(bare);
  std::vector<double> hit_a, hit_b, miss_a, miss_b;
  for (std::size_t i = 0; i < repeats; ++i) {
    const auto journal = open(ours);
    hit_a.push_back(cost(rows, [&] { right = ask(*journal, all, 64) == rows && right; }));
    right = journal->accounts().cached == rows && right;
    hit_b.push_back(cost(rows, [&] {
      for (const Bytes& b : bytes) right = loop.find(b.key) > 0 && right;
    }));
    miss_a.push_back(cost(rows, [&] {
      for (const Bytes& b : no_bytes) right = !store.find(b.key) && right;
    }));
    miss_b.push_back(cost(rows, [&] {
      for (const Bytes& b : no_bytes) right = loop.find(b.key) == 0 && right;
    }));
  }
  print("answered from it", hit_a, hit_b);
  print("not found", miss_a, miss_b);
  std::filesystem::remove_all(folder);
  return right ? 0 : 1;
}
