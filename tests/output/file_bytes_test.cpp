#include <espalier/output/dataset.hpp>
#include <espalier/output/file_bytes.hpp>

#include <backend/temporary_folder.hpp>
#include <doctest/doctest.h>

#include <iterator>
#include <string>

namespace file_bytes_test {

using namespace espalier;

namespace {

std::string read_all(const std::string& path) {
  output::detail::FileStream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void write_gzip(const std::string& path, const std::string& bytes) {
  const ::gzFile file = ::gzopen(path.c_str(), "wb");
  REQUIRE(::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
  ::gzclose(file);
}

}  // namespace

TEST_CASE_FIXTURE(test::InFolder, "questions and passages are read from .gz as from the plain file") {
  write_gzip(folder / "q.jsonl.gz", R"({"id":1,"question":"Who?","golden_answers":["Ada"]})");
  write_gzip(folder / "p.tsv.gz", "id\ttext\n1\tAda wrote.\n");
  CHECK(output::read_questions(folder / "q.jsonl.gz").at(0).gold == rag::Gold{"Ada"});
  CHECK(output::read_passages(folder / "p.tsv.gz").at(0) == Passage("1", "", "Ada wrote."));
}

TEST_CASE_FIXTURE(test::InFolder, "files are read as they are or decompressed; cut and damaged ones are refused") {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "line " + std::to_string(i) + "\n";
  test::write_bytes(folder / "plain", text);
  write_gzip(folder / "packed", text);
  CHECK(read_all(folder / "plain") == text);
  CHECK(read_all(folder / "packed") == text);
  const std::string packed = test::read_bytes(folder / "packed");
  test::write_bytes(folder / "twice", packed + packed);  // as bgzip and cat leave them
  CHECK(read_all(folder / "twice") == text + text);
  const std::string zeros(600'000, '\0');
  test::write_bytes(folder / "padded", packed + zeros);
  CHECK(read_all(folder / "padded") == text);
  std::string flipped = packed;
  flipped[packed.size() / 2] = static_cast<char>(flipped[packed.size() / 2] ^ 0x10);
  for (const std::string& bytes : {packed.substr(0, packed.size() / 2), packed.substr(0, packed.size() - 1), flipped,
                                   packed + packed.substr(1), packed + packed.substr(3), packed + packed.substr(0, 5),
                                   packed + "\n", packed + zeros + "rubbish", packed + std::string(2 << 20, '\0')}) {
    test::write_bytes(folder / "damaged", bytes);
    CHECK_THROWS_WITH_AS(read_all(folder / "damaged"), doctest::Contains("damaged"), InputError);
  }
  CHECK_THROWS_AS(read_all(folder / "missing"), InputError);
  CHECK_THROWS_AS(read_all(folder.path().string()), InputError);
}

}  // namespace file_bytes_test
