/// An index folder at scale: what building it takes (corpus store and BM25, all cores), how fast its passages are
/// opened, read in any order and verified, beside a plain copy of the same bytes, how fast BM25 is searched, and what
/// memory all that takes. Source, building and searching have a process each, so that none counts what another needed.
/// Words follow Zipf's law, from the 10,000th on with the exponent 1.7, as real texts do (14 M different ones in 2.1
/// G). Arguments: passages (default 300,000), words per passage (100), folder (the temporary one). 21,015,324 passages,
/// as many as Wikipedia's of 2018, want 30 GB of disk at 100 words.
#include <espalier/core/seed.hpp>
#include <espalier/run/build_index.hpp>
#include <espalier/run/index_folder.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace espalier;
using namespace espalier::detail;

/// Seconds of the wall and of this process's CPU since it was made.
class Watch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] double cpu() const { return static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::clock_t cpu_ = std::clock();
};

/// A line of /proc/self/status, in MB.
double status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (double kilobytes = 0; word == name + ":" && file >> kilobytes) return kilobytes / 1024;
  return 0;
}

void say(const char* what, const Watch& watch, double per_second, const char* unit) {
  std::printf("%-40s %8.2f s %8.2f CPU s %12.1f %s\n", what, watch.seconds(), watch.cpu(), per_second, unit);
  std::fflush(stdout);
}

/// The most RssAnon that the process had, in MB, looked at every 20 ms.
class Peak {
 public:
  [[nodiscard]] double megabytes() const { return peak_; }

 private:
  std::atomic<double> peak_ = 0;
  std::jthread thread_{[this](const std::stop_token& stop) {
    for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(20)))
      peak_ = std::max(peak_.load(), status("RssAnon"));
  }};
};

std::string id_of(std::size_t i) { return "wiki-" + std::to_string(i); }

/// The word of this rank: letters, the more frequent the fewer.
std::string_view word(std::uint32_t rank) {
  static char letters[8];
  char* const end = letters + sizeof letters;
  char* at = end;
  for (++rank; rank > 0; rank = (rank - 1) / 26) *--at = static_cast<char>('a' + (rank - 1) % 26);
  return {at, static_cast<std::size_t>(end - at)};
}

/// A rank: 1 / r up to 10,000, then 1 / r^1.7, with the densities equal where they meet.
std::uint32_t rank_of(Random& random) {
  constexpr double bend = 10'000, behind = 0.134;
  const double u = random.uniform();
  if (u >= behind) return static_cast<std::uint32_t>(std::exp(std::log(bend) * (u - behind) / (1 - behind))) - 1;
  return static_cast<std::uint32_t>(std::min(bend * std::pow((u + 1e-12) / behind, -1 / 0.7), 4e9));
}

void write_source(const std::string& path, std::size_t passages, std::size_t words) {
  Random random{Seed(1)};
  std::ofstream file(path, std::ios::binary);
  std::string line;
  for (std::size_t i = 0; i < passages; ++i) {
    line = R"({"id": ")" + id_of(i) + R"(", "title": "Title )" + std::to_string(i / 3) + R"(", "text": ")";
    for (std::size_t w = 0; w < words; ++w) line.append(word(rank_of(random))) += ' ';
    file << (line += "\"}\n");
  }
  if (!file.flush()) throw std::runtime_error(path + " cannot be written");
}

void build(const std::string& source, const std::string& folder) {
  const Peak peak;
  const Watch all;
  std::string stage = "corpus";
  Watch watch;
  const auto end_stage = [&] { say(("  " + stage).c_str(), watch, peak.megabytes(), "MB RssAnon at most so far"); };
  run::build_index({.corpus = source, .out = folder, .lexical = {}},
                   [&](std::string_view now, std::uint64_t, std::uint64_t) {
                     if (now == stage) return;
                     end_stage();
                     stage = now;
                     watch = {};
                   });
  end_stage();
  say("built", all, peak.megabytes(), "MB RssAnon at most");
}

/// Runs f in a process of its own.
template <class F>
void apart(F f) {
  std::fflush(stdout);
  const ::pid_t child = ::fork();
  if (child == 0) {
    f();
    std::fflush(stdout);
    std::_Exit(0);
  }
  int result = 0;
  if (child < 0 || ::waitpid(child, &result, 0) < 0 || result != 0) throw std::runtime_error("a part failed");
}

/// Six words each, of ranks 500 to 20,500, the last `common` among the 20 most frequent.
std::vector<Query> queries(int count, int common) {
  Random random{Seed(4)};
  std::vector<Query> made;
  for (int q = 0; q < count; ++q) {
    std::string text;
    for (int w = 6; w > 0; --w) text.append(word(w > common ? 500 + random.below(20'000) : random.below(20))) += ' ';
    made.emplace_back(std::move(text), 10);
  }
  return made;
}

void search(const run::detail::IndexFolder& index) {
  const Watch opening;
  backend::Bm25 bm25 = index.bm25(1);
  const backend::LexicalIndex::Facts& facts = bm25.index().facts();
  say("BM25 opened", opening, static_cast<double>(facts.terms), "words");
  std::printf("%-40s %.0f M of %.2f bytes\n", "postings", static_cast<double>(facts.postings) / 1e6,
              static_cast<double>(bm25.index().postings_size()) / static_cast<double>(facts.postings));
  for (const int common : {0, 2}) {
    for (const char* time : {"first touch", "once more"}) {
      const auto asked = queries(common == 0 ? 500 : 100, common);
      const std::string what = (common == 0 ? "6 content words, " : "4 content, 2 common words, ") + std::string(time);
      const Watch watch;
      for (const Query& query : asked)
        if (bm25(std::span(&query, 1)).front().empty()) throw std::runtime_error("nothing found");
      say(what.c_str(), watch, static_cast<double>(asked.size()) / watch.cpu(), "queries a CPU second");
    }
  }
}

void read(const run::detail::IndexFolder& index) {
  const backend::MappedCorpus& corpus = index.corpus();
  constexpr std::size_t reads = 100'000;
  for (const char* what : {"passages at random, first touch", "passages at random, once more"}) {
    Random random{Seed(2)};
    const Watch watch;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < reads; ++i) bytes += corpus[random.next() % corpus.size()].text().size();
    say(what, watch, static_cast<double>(reads) / watch.cpu(), "a CPU second");
    if (bytes == 0) throw std::runtime_error("no text");
  }
}

void verify(const std::string& folder) {
  double size = 0;
  for (const char* file : {"corpus.bin", "bm25.bin"}) {
    const double bytes = static_cast<double>(std::filesystem::file_size(folder + "/" + file));
    std::printf("%-40s %.2f GB\n", file, bytes / 1e9);
    size += bytes;
  }
  const Watch verifying;
  run::detail::IndexFolder(folder).verify();
  say("every byte verified", verifying, size / 1e6 / verifying.cpu(), "MB a CPU second");
  const Watch copying;  // the least that reading every byte can take
  std::vector<char> block(1 << 16);
  for (const char* file : {"corpus.bin", "bm25.bin"}) {
    std::ifstream in(folder + "/" + file, std::ios::binary);
    while (in.read(block.data(), static_cast<std::streamsize>(block.size()))) {
    }
  }
  say("every byte copied (lower bound)", copying, size / 1e6 / copying.cpu(), "MB a CPU second");
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t passages = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 300'000;
  const std::size_t words = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100;
  const std::filesystem::path where = argc > 3 ? argv[3] : std::filesystem::temp_directory_path();
  const std::string folder = (where / ("espalier-index-" + std::to_string(::getpid()))).string(),
                    source = folder + ".jsonl";
  std::printf("%zu passages of %zu words\n", passages, words);
  apart([&] { write_source(source, passages, words); });
  apart([&] { build(source, folder); });
  std::filesystem::remove(source);

  const Peak peak;
  const Watch opening;
  const run::detail::IndexFolder index(folder);
  say("folder opened", opening, static_cast<double>(index.corpus().size()), "passages");
  search(index);
  read(index);
  std::printf("%-40s %8.1f MB RssAnon at most, %.0f MB RssFile\n", "memory, searched and read", peak.megabytes(),
              status("RssFile"));
  verify(folder);
  std::filesystem::remove_all(folder);
}
