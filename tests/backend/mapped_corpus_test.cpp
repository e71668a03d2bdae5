#include <espalier/backend/bm25.hpp>
#include <espalier/backend/detail/index/checked_writer.hpp>
#include <espalier/backend/index/mapped_corpus.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace mapped_corpus_test {

using namespace espalier;
using namespace espalier::backend;
using namespace espalier::backend::detail;

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

TEST_CASE_FIXTURE(test::InFolder, "a corpus file gives back its passages by position") {
  const auto passages = numbered(2000);
  const MappedCorpus corpus = written(folder / "c", passages);
  REQUIRE(corpus.size() == passages.size());
  for (std::size_t i = 0; i < passages.size(); ++i) CHECK(corpus[i] == passages[i]);
  CHECK_THROWS_AS((void)corpus[2000], InputError);
  CHECK_THROWS_AS((void)corpus[~std::size_t(0)], InputError);
}

TEST_CASE_FIXTURE(test::InFolder, "ids, titles and texts may hold any bytes, and none") {
  const std::vector<Passage> odd{
      {std::string("\0\n", 2), "", ""}, {"", std::string(3, '\0'), "\xff"}, {"é", "\"t\"", ""}};
  const MappedCorpus corpus = written(folder / "c", odd);
  for (std::size_t i = 0; i < odd.size(); ++i) CHECK(corpus[i] == odd[i]);
  const MappedCorpus empty = written(folder / "e", {});
  CHECK(empty.size() == 0);
  CHECK_THROWS_AS((void)empty[0], InputError);
}

TEST_CASE_FIXTURE(test::InFolder, "a corpus file has the hash of the same passages in memory") {
  for (const std::size_t n : {0, 1, 8191, 8192, 8193, 20000}) {
    const auto passages = numbered(n);
    const MappedCorpus corpus = written(folder / "c", passages);
    const backend::Bm25 memory(passages);
    CHECK(memory.fingerprint() == Hasher().add("bm25").add(corpus.hash()).add("simple").add(1.2).add(0.75).finish());
  }
}

TEST_CASE_FIXTURE(test::InFolder, "a repeated id is refused, the first of several, and no file is left") {
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

TEST_CASE_FIXTURE(test::InFolder, "places that lie outside the texts are refused though every checksum is right") {
  const auto file = [&](std::vector<backend::MappedCorpus::Bounds> places, std::string_view more = "") {
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

namespace {

constexpr std::size_t header = sizeof(backend::detail::CheckedHeader);

/// Three sections: "few" = 1, 2, 3; "many" = 0 ... n - 1; "none" is empty.
CheckedFile write_example(const std::optional<std::string>& path, std::uint32_t n) {
  CheckedWriter writer(path, "example", 7);
  writer.begin("few");
  const std::uint16_t few[] = {1, 2, 3};
  writer.write(std::span(few));
  CHECK(writer.position() == 6);
  writer.begin("many");
  std::vector<std::uint32_t> many(n);
  std::iota(many.begin(), many.end(), 0u);
  for (std::size_t i = 0; i < n; i += 1000)
    writer.write(std::span<const std::uint32_t>(many).subspan(i, std::min<std::size_t>(1000, n - i)));
  writer.begin("none");
  if (path) CHECK(!std::filesystem::exists(*path));
  return writer.commit();
}

/// What an open-and-read-all is refused with, or "".
std::string refusal(const std::string& path, std::string_view kind = "example", std::uint32_t version = 7) {
  try {
    const CheckedFile file(path, kind, version);
    file.verify();
    const auto many = file.section("many");
    for (const std::uint32_t number : many.items<std::uint32_t>(0, many.size() / 4)) CHECK(number < 1000000);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

/// The message of the InputError that f throws.
std::string message(auto f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE_FIXTURE(test::InFolder, "a checked file gives back its sections, at offsets that suit every type") {
  const std::string path = folder / "a";
  write_example(path, 100000);
  const CheckedFile file(path, "example", 7);
  CHECK(file.section("few").items<std::uint16_t>(0, 3)[2] == 3);
  const auto many = file.section("many");
  CHECK(many.size() / 4 == 100000);
  CHECK(many.items<std::uint32_t>(16383, 2)[1] == 16384);  // the first block ends in between
  CHECK(many.items<std::uint32_t>(99999, 1)[0] == 99999);
  CHECK(many.items<std::byte>(4, 4)[0] == std::byte(1));
  CHECK(file.section("none").size() == 0);
  CHECK(file.section("none").text(0, 0).empty());
  file.verify();
  CHECK(!std::filesystem::exists(path + ".part"));
  write_example(folder / "b", 100000);
  write_example(folder / "c", 99999);
  CHECK(CheckedFile(folder / "b", "example", 7).identity() == file.identity());
  CHECK(write_example(std::nullopt, 100000).identity() == file.identity());  // in memory
  CHECK(CheckedFile(folder / "c", "example", 7).identity() != file.identity());
}

TEST_CASE_FIXTURE(test::InFolder, "nothing is read beyond a section, whatever is asked for") {
  write_example(folder / "a", 10);
  const CheckedFile file(folder / "a", "example", 7);
  const auto few = file.section("few");
  CHECK(message([&] { (void)few.items<std::uint16_t>(3, 1); }) ==
        (folder / "a") + ": section 'few' has 3 items, asked for 1 from 3");
  CHECK_THROWS_AS((void)few.items<std::uint16_t>(1, ~std::uint64_t(0)), InputError);
  CHECK_THROWS_AS((void)few.items<std::uint16_t>(~std::uint64_t(0), 2), InputError);
  CHECK_THROWS_AS((void)few.text(0, 7), InputError);
  CHECK_THROWS_AS((void)few.items<std::uint32_t>(1, 1), InputError);
  CHECK(message([&] { (void)file.section("other"); }) == (folder / "a") + ": section 'other' is missing");
}

TEST_CASE_FIXTURE(test::InFolder, "a writer that is not committed leaves nothing, and an older file as it was") {
  write_example(folder / "a", 10);
  const std::string before = test::read_bytes(folder / "a");
  {
    CheckedWriter writer(folder / "a", "example", 7);
    writer.begin("few");
    writer.write("something else");
  }
  CHECK(test::read_bytes(folder / "a") == before);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  CHECK_THROWS_AS(CheckedWriter(folder / "missing/a", "example", 7), InputError);
}

TEST_CASE_FIXTURE(test::InFolder, "another kind, version or file is refused by name") {
  const std::string path = folder / "a";
  write_example(path, 10);
  CHECK(refusal(path) == "");
  CHECK(refusal(path, "other") == path + ": holds 'example', not 'other'");
  CHECK(refusal(path, "example", 8) ==
        path + ": is of version 7 of 'example', this version reads 8: build the index again (espalier index build)");
  CHECK(refusal(folder / "b").starts_with((folder / "b") + ": cannot be read"));
  CHECK(refusal(folder.path().string()).find("cannot be read") != std::string::npos);
  test::write_bytes(folder / "c", std::string(5000, 'x'));
  CHECK(refusal(folder / "c") == (folder / "c") + ": is not an index file of Espalier");
  test::write_bytes(folder / "c", "");
  CHECK(refusal(folder / "c") == (folder / "c") + ": is cut: it has 0 bytes, less than a header");
}

TEST_CASE_FIXTURE(test::InFolder, "every cut and every flipped byte of a file is refused") {
  const std::string path = folder / "a", damaged = folder / "damaged";
  write_example(path, 33);
  const std::string bytes = test::read_bytes(path);
  REQUIRE(refusal(path) == "");
  for (std::size_t size = 0; size < bytes.size(); size += size < header - 40 ? 97 : 1) {
    test::write_bytes(damaged, bytes.substr(0, size));
    CHECK_MESSAGE(refusal(damaged).find("cut") != std::string::npos, size);
  }
  test::write_bytes(damaged, bytes + '\0');
  CHECK(refusal(damaged).find("cut") != std::string::npos);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int flip : {1, 0x80, 0xff}) {
      std::string copy = bytes;
      copy[i] = static_cast<char>(copy[i] ^ flip);
      test::write_bytes(damaged, copy);
      CHECK_MESSAGE(refusal(damaged).starts_with(damaged + ": "), i);
    }
}

TEST_CASE_FIXTURE(test::InFolder, "damage is found when it is touched and named by section and bytes") {
  const std::string path = folder / "a";
  write_example(path, 100000);
  std::string bytes = test::read_bytes(path);
  bytes[header + 64 + 4 * 20000] = static_cast<char>(bytes[header + 64 + 4 * 20000] ^ 1);  // in the second block
  test::write_bytes(path, bytes);
  const CheckedFile file(path, "example", 7);
  const auto many = file.section("many");
  CHECK(many.items<std::uint32_t>(16000, 1)[0] == 16000);
  CHECK(many.items<std::uint32_t>(50000, 1)[0] == 50000);
  const std::string expected = path + ": section 'many' is damaged between its bytes 65472 and 131008";
  CHECK(message([&] { (void)many.items<std::uint32_t>(16383, 2); }) == expected);
  CHECK(message([&] { (void)many.items<std::uint32_t>(20000, 1); }) == expected);
  CHECK(message([&] { file.verify(); }) == expected);
}

TEST_CASE_FIXTURE(test::InFolder, "threads read and check a file at the same time") {
  write_example(folder / "a", 300000);
  const CheckedFile file(folder / "a", "example", 7);
  std::atomic<std::uint64_t> sum{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        const auto many = file.section("many");
        for (std::uint64_t i = 0; i < 300000; i += 100) sum += many.items<std::uint32_t>(i, 1)[0];
      });
  }
  CHECK(sum == 4 * 100 * (2999 * 3000 / 2));
}

}  // namespace mapped_corpus_test
