#include <espalier/backend/bm25.hpp>
#include <espalier/backend/index/mapped_corpus.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace mapped_corpus_test {

using namespace espalier;
using backend::MappedCorpus;
using test::TemporaryFolder;

namespace {

MappedCorpus written(const std::string& path, const std::vector<Passage>& passages) {
  MappedCorpus::Writer writer(path, "source");
  std::size_t line = 0;
  for (const Passage& passage : passages) writer.add(passage, ++line);
  writer.commit();
  return MappedCorpus(path);
}

std::vector<Passage> numbered(std::size_t n) {
  std::vector<Passage> passages;
  for (std::size_t i = 0; i < n; ++i)
    passages.emplace_back("p" + std::to_string(i), i % 3 ? "Title " + std::to_string(i) : "",
                          "text of " + std::string(i % 700, 'x'));
  return passages;
}

}  // namespace

TEST_CASE("a corpus file gives back its passages by position") {
  const TemporaryFolder folder;
  const auto passages = numbered(2000);
  const MappedCorpus corpus = written(folder / "c", passages);
  REQUIRE(corpus.size() == passages.size());
  for (std::size_t i = 0; i < passages.size(); ++i) CHECK(corpus[i] == passages[i]);
  CHECK_THROWS_AS((void)corpus[2000], InputError);
  CHECK_THROWS_AS((void)corpus[~std::size_t(0)], InputError);
}

TEST_CASE("ids, titles and texts may hold any bytes, and none") {
  const TemporaryFolder folder;
  const std::vector<Passage> odd{
      {std::string("\0\n", 2), "", ""}, {"", std::string(3, '\0'), "\xff"}, {"é", "\"t\"", ""}};
  const MappedCorpus corpus = written(folder / "c", odd);
  for (std::size_t i = 0; i < odd.size(); ++i) CHECK(corpus[i] == odd[i]);
  const MappedCorpus empty = written(folder / "e", {});
  CHECK(empty.size() == 0);
  CHECK_THROWS_AS((void)empty[0], InputError);
}

TEST_CASE("a corpus file has the hash of the same passages in memory") {
  const TemporaryFolder folder;
  for (const std::size_t n : {0, 1, 8191, 8192, 8193, 20000}) {
    const auto passages = numbered(n);
    const MappedCorpus corpus = written(folder / "c", passages);
    const backend::Bm25 memory(passages);
    CHECK(memory.fingerprint() == Hasher().add("bm25").add(corpus.hash()).add("simple").add(1.2).add(0.75).finish());
  }
}

TEST_CASE("a repeated id is refused, the first of several, and no file is left") {
  const TemporaryFolder folder;
  auto passages = numbered(100);
  passages[90] = Passage("p3", "", "");
  passages[70] = Passage("p60", "", "");
  passages[80] = Passage("p60", "", "");
  CHECK_THROWS_WITH_AS(written(folder / "c", passages), "source:71: field 'id': the same stands in line 61",
                       InputError);
  CHECK_THROWS_WITH_AS(written(folder / "d", std::vector<Passage>(5000, passages[0])),
                       "source:2: field 'id': the same stands in line 1", InputError);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("places that lie outside the texts are refused though every checksum is right") {
  const TemporaryFolder folder;
  const auto file = [&](std::vector<backend::MappedCorpus::Place> places, std::string_view more = "") {
    backend::detail::CheckedWriter writer(folder / "c", MappedCorpus::kind, MappedCorpus::version);
    writer.begin("texts");
    writer.write("idtitletext");
    writer.begin("places");
    writer.write(std::span(places));
    writer.write(more);
    writer.begin("hash");
    const std::uint64_t hash[2] = {};
    writer.write(std::span(hash));
    return MappedCorpus(writer.commit());
  };
  CHECK(file({{0, 2, 5}, {11, 0, 0}})[0] == Passage("id", "title", "text"));
  CHECK_THROWS_WITH_AS((void)file({{0, 2, 5}, {11, 0, 0}}, "x"), doctest::Contains("'places' has a wrong size"),
                       InputError);
  CHECK_THROWS_AS((void)file({{0, 2, 5}, {12, 0, 0}})[0], InputError);
  CHECK_THROWS_AS((void)file({{4, 2, 5}, {0, 0, 0}})[0], InputError);
  CHECK_THROWS_AS((void)file({{0, 2, 10}, {11, 0, 0}})[0], InputError);
  CHECK_THROWS_AS((void)file({{0, ~0u, ~0u}, {11, 0, 0}})[0], InputError);
}

}  // namespace mapped_corpus_test
