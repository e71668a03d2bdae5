/// The corpus store: how fast passages are written, opened, read in any order, found by id and verified, and what memory that
/// takes, beside a plain copy of the same bytes. The corpus is made by a process of its own, so that what it needed is not
/// counted. Arguments: passages (default 1,000,000), words a passage (100), folder (the temporary one). 21,015,324 passages, as
/// many as Wikipedia's of 2018, take 14 GB at 100 words.
#include <espalier/backend/index/corpus_writer.hpp>
#include <espalier/backend/index/mapped_corpus.hpp>
#include <espalier/core/seed.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace espalier;

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
  std::printf("%-34s %8.2f s %8.2f CPU s %12.1f %s\n", what, watch.seconds(), watch.cpu(), per_second, unit);
  std::fflush(stdout);
}

std::string id_of(std::size_t i) { return "wiki-" + std::to_string(i); }

void write(const std::string& path, std::size_t passages, std::size_t words) {
  Random random{Seed(1)};
  const Watch watch;
  backend::CorpusWriter writer(path);
  std::string text;
  for (std::size_t i = 0; i < passages; ++i) {
    text.clear();
    for (std::size_t w = 0; w < words; ++w) {
      const double u = random.uniform();
      text.append("word").append(std::to_string(static_cast<unsigned>(u * u * u * 99))).append(" ");
    }
    writer.add(Passage(id_of(i), "Title " + std::to_string(i / 3), text));
  }
  writer.commit();
  say("made and written", watch, static_cast<double>(std::filesystem::file_size(path)) / 1e6 / watch.cpu(),
      "MB a CPU second");
  std::printf("%-34s %8.0f MB at most\n", "memory while writing", status("VmHWM"));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t passages = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const std::size_t words = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100;
  const std::filesystem::path folder = argc > 3 ? argv[3] : std::filesystem::temp_directory_path();
  const std::string path = (folder / ("espalier-corpus-" + std::to_string(::getpid()) + ".bin")).string();
  std::printf("%zu passages of %zu words\n", passages, words);
  std::fflush(stdout);
  if (const ::pid_t child = ::fork(); child == 0) {
    write(path, passages, words);
    std::fflush(stdout);
    std::_Exit(0);
  } else {
    int result = 0;
    if (child < 0 || ::waitpid(child, &result, 0) < 0 || result != 0) return 1;
  }

  const double before = status("RssAnon");
  const Watch opening;
  const backend::MappedCorpus corpus(path);
  say("opened", opening, static_cast<double>(corpus.file().size()) / 1e6, "MB in the file");
  constexpr std::size_t reads = 100'000;
  for (const char* what : {"passages at random, first touch", "passages at random, once more"}) {
    Random random{Seed(2)};
    const Watch watch;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < reads; ++i) bytes += corpus[random.next() % passages].text().size();
    say(what, watch, static_cast<double>(reads) / watch.cpu(), "a CPU second");
    if (bytes == 0) return 1;
  }
  Random random{Seed(3)};
  const Watch finding;
  for (std::size_t i = 0; i < reads; ++i) {
    const std::size_t passage = random.next() % passages;
    if (corpus.find(id_of(passage)) != passage) return 1;
  }
  say("found by id", finding, static_cast<double>(reads) / finding.cpu(), "a CPU second");
  std::printf("%-34s %8.1f MB RssAnon (+%.1f), %.0f MB RssFile\n", "memory, opened and read", status("RssAnon"),
              status("RssAnon") - before, status("RssFile"));

  const Watch verifying;
  backend::MappedCorpus(path).file().verify();  // opened anew: nothing is verified yet
  const double size = static_cast<double>(corpus.file().size()) / 1e6;
  say("every byte verified", verifying, size / verifying.cpu(), "MB a CPU second");
  const Watch copying;  // the least that reading every byte can take
  std::ifstream in(path, std::ios::binary);
  std::vector<char> block(1 << 16);
  std::uint64_t sum = 0;
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0)
    sum += static_cast<unsigned char>(block[0]);
  say("every byte copied (lower bound)", copying, size / copying.cpu(), "MB a CPU second");
  std::filesystem::remove(path);
  return sum == 0;
}
