// 5 million passages on disk: built by one process, searched by another that holds less than 300 MB. A passage is
// arithmetic and of the same length, so every answer is known without an index.
#include <espalier/core/hash.hpp>
#include <espalier/run/build_index.hpp>
#include <espalier/run/index_folder.hpp>

#include <backend/temporary_folder.hpp>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace espalier;
using namespace espalier::detail;

constexpr std::size_t passages = 5'000'000, last = passages - 1, stride = 99'991, fillers = 5, vocabulary = 50'000;

std::size_t filler(std::size_t passage, std::size_t place) { return mix64(passage * fillers + place) % vocabulary; }

std::string id_of(std::size_t passage) { return "p" + std::to_string(passage); }

void write_source(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  std::string line;
  for (std::size_t i = 0; i < passages; ++i) {
    line.assign(R"({"id": ")").append(id_of(i)).append(R"(", "title": "every", "text": ")");
    line.append(i % 2 == 0 ? "even" : "odd").append(i == 0 || i == 4'194'304 || i == last ? " needle" : " hay");
    line.append(" m").append(std::to_string(i % stride));
    for (std::size_t place = 0; place < fillers; ++place) line.append(" w").append(std::to_string(filler(i, place)));
    file << line.append("\"}\n");
  }
}

/// What the process has in memory that is no file's, in MB.
double anonymous() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kilobytes = 0; word == "RssAnon:" && status >> kilobytes) return kilobytes / 1024;
  return -1;
}

using Ids = std::vector<std::string>;

/// Every passage whose number is `first` and every `by` from there on.
Ids each(std::size_t first, std::size_t by) {
  Ids ids;
  for (std::size_t i = first; i < passages; i += by) ids.push_back(id_of(i));
  return ids;
}

Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("5 million passages are searched with less than 300 MB, and the answers are those that arithmetic gives") {
  const test::TemporaryFolder folder;
  const std::string source = folder / "corpus.jsonl", built = folder / "index";
  const ::pid_t child = ::fork();
  if (child == 0) {  // so that this process is fresh when it opens the index
    try {
      write_source(source);
      run::build_index({.corpus = source, .out = built, .lexical = {}});
    } catch (...) {
      std::_Exit(1);
    }
    std::_Exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);

  const run::detail::IndexFolder index(built);
  backend::Bm25 bm25 = index.bm25();
  REQUIRE(bm25.size() == passages);
  CHECK(bm25.index().facts().words == passages * (fillers + 4));
  const auto found = [&](const char* text, std::uint32_t k) {
    const Query query(text, k);
    return bm25(std::span(&query, 1)).front();
  };
  const auto ids = [&](const char* text, std::uint32_t k) {
    Ids names;
    for (const Passage& passage : found(text, k)) names.push_back(passage.id());
    return names;
  };

  CHECK(ids("needle", 9) == Ids{"p0", "p4194304", "p4999999"});
  CHECK(ids("every", 3) == Ids{"p0", "p1", "p2"});
  CHECK(ids("m77", 100) == each(77, stride));
  CHECK(ids("m77 every odd", 52) == each(77, 2 * stride) + each(77 + stride, 2 * stride) + Ids{"p1"});
  CHECK(ids("nowhere", 3) == Ids{});
  // Each passage is as long as the mean: a word's weight over 1 + k1.
  CHECK(found("needle", 1)[0].score() == doctest::Approx(std::log(1 + (passages - 3 + 0.5) / 3.5) / 2.2).epsilon(1e-6));
  CHECK(index.corpus()[last].text().starts_with("odd needle m449 w"));
  CHECK(index.corpus()[last].id() == "p4999999");

  for (const std::size_t word : {std::size_t(0), std::size_t(4'242), vocabulary - 1}) {
    std::size_t with = 0;
    for (std::size_t i = 0; i < passages; ++i) {
      bool has = false;
      for (std::size_t place = 0; place < fillers; ++place) has = has || filler(i, place) == word;
      with += has;
    }
    CHECK(with > 300);
    CHECK(bm25.index().find("w" + std::to_string(word)).size() == with);
  }
  CHECK(bm25.index().find("even").size() == passages / 2);

  const double megabytes = anonymous();
  CAPTURE(megabytes);
  CHECK(megabytes > 0);
  CHECK(megabytes < 300);
}
