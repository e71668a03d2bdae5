#include <espalier/output/dataset.hpp>
#include <espalier/run/build_index.hpp>
#include <espalier/run/index_folder.hpp>

#include <backend/temporary_folder.hpp>
#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace index_folder_test {

using namespace espalier;
using namespace espalier::detail;
using run::build_index;
using run::detail::IndexFolder;
using test::TemporaryFolder;

namespace {

const std::string corpus_lines =
    "\n"
    R"({"id":"a","title":"Ada Lovelace","contents":"Ada Lovelace\nwrote the first program"})"
    "\n\n"
    R"({"id":"b","contents":"\"Charles Babbage\"\nplanned the engine, the analytical engine"})"
    "\r\n"
    R"({"id":"c","title":"Loom","text":"weaves"})"
    "\n";

/// The folder of an index of those lines.
std::string built(const TemporaryFolder& folder, const run::Lexical& lexical = {}) {
  test::write_bytes(folder / "corpus.jsonl", corpus_lines);
  build_index({folder / "corpus.jsonl", folder / "index", lexical});
  return folder / "index";
}

std::string refusal(auto f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE_FIXTURE(test::InFolder, "an index folder answers as BM25 in memory does") {
  const run::Lexical lexical{0.9, 0.4, "english-lucene"};
  const IndexFolder index(built(folder, lexical));
  const auto passages = output::read_passages(folder / "corpus.jsonl");
  REQUIRE(index.corpus().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(index.corpus()[i] == passages[i]);
  CHECK(index.lexical().k1 == 0.9);
  CHECK(index.lexical().b == 0.4);
  CHECK(index.lexical().analyzer == "english-lucene");
  backend::Bm25 mapped = index.bm25(), memory(passages, {0.9, 0.4, backend::Analyzer::named("english-lucene")});
  CHECK(mapped.fingerprint() == memory.fingerprint());
  const std::vector<Query> queries{{"who planned the engines?", 3}, {"Ada's program", 1}, {"nobody", 5}};
  CHECK(mapped(queries) == memory(queries));
  CHECK(mapped(queries)[0].at(0).id() == "b");
  index.verify();
  CHECK(run::detail::describe(index).find(R"("passages":3)") != std::string::npos);
}

TEST_CASE_FIXTURE(test::InFolder, "an index built with an encoder holds the vectors of its passages") {
  const auto lengths = [](std::span<const EncodeRequest> texts) {
    std::vector<Embedding> embeddings;
    for (const EncodeRequest& text : texts) embeddings.push_back({float(text.text.size()), 0.1F});
    return embeddings;
  };
  test::write_bytes(folder / "corpus.jsonl", corpus_lines);
  run::IndexOptions::Encoding encoding{lengths, "lengths", "none", Hash{1, 2}, backend::Metric::l2};
  build_index({.corpus = folder / "corpus.jsonl", .out = folder / "index", .lexical = {}, .encoding = encoding});
  const IndexFolder index(folder / "index");
  index.verify();
  CHECK(index.dense().metric() == backend::Metric::l2);
  CHECK(index.dense().read(2, 1)[0] == 11);  // "Loom\nweaves"
  CHECK(index.dense().read(2, 1)[1] == 0.1F);
  CHECK_NOTHROW(index.check_encoder("lengths", Hash{1, 2}));
  CHECK_NOTHROW(index.check_encoder("", std::nullopt));
  CHECK_NOTHROW(index.check_encoder("lengths", std::nullopt));
  CHECK(refusal([&] { index.check_encoder("lengths", Hash{1, 3}); }).find("\"lengths\" with the profile \"none\"") !=
        std::string::npos);
  CHECK_THROWS_AS(index.check_encoder("widths", std::nullopt), std::invalid_argument);
  CHECK(index.hash(true) != index.hash(false));
  CHECK(run::detail::describe(index).find(R"("dense":{"encoder":"lengths")") != std::string::npos);

  encoding.encoder = [](std::span<const EncodeRequest> texts) {
    return std::vector<Embedding>(texts.size(), {0, 7e30F});
  };
  const run::IndexOptions again{.corpus = folder / "corpus.jsonl",
                                .out = folder / "index",
                                .lexical = {},
                                .overwrite = true,
                                .encoding = encoding};
  CHECK(refusal([&] { build_index(again); }) == "an embedding holds a number that is not finite or too large");
  CHECK_THROWS_AS(IndexFolder{folder / "index"}, InputError);
  build_index({folder / "corpus.jsonl", folder / "index", {}});
  CHECK_THROWS_AS((void)IndexFolder(folder / "index").dense(), std::invalid_argument);
  CHECK(!std::filesystem::exists(folder / "index/dense.bin"));
}

TEST_CASE_FIXTURE(test::InFolder, "a build that was not finished is no index, and one that is there is kept") {
  const std::string path = built(folder);
  CHECK(refusal([&] { build_index({folder / "corpus.jsonl", path, {}}); }).find("holds an index already") !=
        std::string::npos);
  std::filesystem::rename(path + "/index.json", path + "/kept");
  CHECK(refusal([&] { IndexFolder{path}; }) == path + ": is not the folder of a finished index: it has no index.json");
  std::filesystem::rename(path + "/kept", path + "/index.json");
  const auto stop = [](std::string_view stage, std::uint64_t, std::uint64_t) {
    if (stage.starts_with("bm25")) throw std::runtime_error("stopped");
  };
  CHECK(refusal([&] { build_index({folder / "corpus.jsonl", path, {}, 1, true}, stop); }) == "stopped");
  CHECK_THROWS_AS(IndexFolder{path}, InputError);
  build_index({folder / "corpus.jsonl", path, {}});
  CHECK(IndexFolder(path).corpus().size() == 3);
  CHECK(std::distance(std::filesystem::directory_iterator(path), {}) == 3);  // nothing temporary is left
}

TEST_CASE_FIXTURE(test::InFolder, "files of different builds are refused") {
  const std::string path = built(folder);
  test::write_bytes(folder / "other.jsonl", R"({"id":"z","title":"Z","text":"other words"})"
                                            "\n");
  build_index({folder / "other.jsonl", folder / "other", {}});
  for (const char* part : {"/corpus.bin", "/bm25.bin"}) {
    std::filesystem::copy_file(path + part, folder / "kept");
    std::filesystem::copy_file(folder / "other" + part, path + part, std::filesystem::copy_options::overwrite_existing);
    CHECK(refusal([&] { IndexFolder{path}; }) ==
          path + part + ": is not the file that index.json names: build the index again");
    std::filesystem::rename(folder / "kept", path + part);
  }
  CHECK(IndexFolder(path).corpus().size() == 3);
  std::string bytes = test::read_bytes(path + "/bm25.bin");
  bytes[4200] = static_cast<char>(bytes.at(4200) ^ 1);
  test::write_bytes(path + "/bm25.bin", bytes);
  CHECK(refusal([&] { IndexFolder(path).verify(); }).starts_with(path + "/bm25.bin: section '"));
  test::write_bytes(path + "/index.json", R"({"format":2})");
  CHECK(refusal([&] { IndexFolder{path}; }) ==
        path + "/index.json: field 'format': is not 1, which this version reads: build the index again");
  for (const char* text : {"", "[]", "{", "null", R"({"format":{"a":1}})", R"({"format":1})"}) {
    test::write_bytes(path + "/index.json", text);
    CHECK_THROWS_AS(IndexFolder{path}, InputError);
  }
}

TEST_CASE_FIXTURE(test::InFolder, "bad corpora are refused by file, line and field, and leave no index") {
  const auto refused = [&](const std::string& lines) {
    test::write_bytes(folder / "bad.jsonl", lines);
    const std::string what = refusal([&] { build_index({folder / "bad.jsonl", folder / "index", {}}); });
    CHECK(!std::filesystem::exists(folder / "index/index.json"));
    CHECK(!std::filesystem::exists(folder / "index/corpus.bin"));
    CHECK(what.starts_with(folder / "bad.jsonl"));
    return what.substr(std::min(what.size(), (folder / "bad.jsonl").size()));
  };
  const std::string a = R"({"id":"a","text":"1"})"
                        "\n",
                    b = R"({"id":"b","text":"2"})"
                        "\n";
  CHECK(refused("\n" + a + "\n\n" + b + b) == ":6: field 'id': the same stands in line 5");
  CHECK(refused(a + b + "\n" + a + b) == ":4: field 'id': the same stands in line 1");
  CHECK(refused(a + R"({"id":"b"})") == ":2: field 'contents': is missing");
  CHECK(refused(a + R"({"id":"","text":""})") == ":2: field 'id': is empty");
  CHECK(refused(a + R"({"id":7.5,"text":""})") == ":2: field 'id': is not a text");
  CHECK(refused(a + "{").starts_with(":2: is not JSON"));
  CHECK(refused("\n") == ": is empty");
  std::filesystem::remove(folder / "bad.jsonl");
  CHECK(refusal([&] {
          build_index({folder / "bad.jsonl", folder / "index", {}});
        }).starts_with((folder / "bad.jsonl") + ": cannot be read"));
  CHECK_THROWS_AS(build_index({folder / "bad.jsonl", folder / "index", {-1, 0.5, "simple"}}), std::invalid_argument);
  CHECK_THROWS_AS(build_index({folder / "bad.jsonl", folder / "index", {1, 0.5, "french"}}), std::invalid_argument);
}

}  // namespace index_folder_test
