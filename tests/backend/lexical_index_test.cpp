#include <espalier/backend/bm25.hpp>
#include <espalier/core/seed.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lexical_index_test {

using namespace espalier;
using namespace espalier::backend;
using namespace espalier::backend::detail;
using namespace espalier::test;

namespace {

using Words = std::vector<std::string>;

/// Passages of up to `longest` words of `vocabulary`, the first words the most frequent; some are empty, some equal.
std::vector<Passage> random_corpus(Random& random, std::uint32_t passages, std::uint32_t vocabulary,
                                   std::uint32_t longest) {
  std::vector<Passage> corpus;
  for (std::uint32_t i = 0; i < passages; ++i) {
    std::string text;
    for (std::uint32_t n = random.below(longest + 1); n > 0; --n)
      text += "w" + std::to_string(std::uint32_t(std::pow(double(vocabulary), random.uniform())) - 1) + " ";
    if (i > 0 && random.below(5) == 0) text = corpus[random.below(i)].text();
    corpus.emplace_back("p" + std::to_string(i), "", text);
  }
  return corpus;
}

/// BM25 from the formula, in the arithmetic that is promised: floats, added in the order of the words.
class Plain {
 public:
  Plain(const std::vector<Passage>& corpus, const Bm25Options& options) : options_(options) {
    for (const Passage& p : corpus) {
      const Words words = options.analyzer(p.title() + "\n" + p.text());
      lengths_.push_back(double(words.size()));
      std::map<std::string, double> counts;
      for (const auto& word : words) ++counts[word];
      for (const auto& [word, count] : counts) postings_[word].emplace_back(lengths_.size() - 1, count);
    }
  }
  [[nodiscard]] std::vector<Hit> best(Words words, std::size_t k) const {
    double sum = 0;
    for (double length : lengths_) sum += length;
    const double n = double(lengths_.size()), mean = sum / n;
    std::vector<float> scores(lengths_.size());
    std::sort(words.begin(), words.end());
    for (auto word = words.begin(); word != words.end();) {
      const auto next = std::upper_bound(word, words.end(), *word);
      if (const auto found = postings_.find(*word); found != postings_.end()) {
        const double with = double(found->second.size()), idf = std::log(1 + (n - with + 0.5) / (with + 0.5));
        for (const auto& [passage, f] : found->second) {
          const auto norm = static_cast<float>(options_.k1 * (1 - options_.b + options_.b * lengths_[passage] / mean));
          const auto once = static_cast<float>(idf * (f / (f + norm)));
          scores[passage] += static_cast<float>(once * double(next - word));
        }
      }
      word = next;
    }
    std::vector<Hit> hits;
    for (std::uint32_t i = 0; i < scores.size(); ++i)
      if (scores[i] >= std::numeric_limits<float>::min()) hits.emplace_back(i, double(scores[i]));
    std::sort(hits.begin(), hits.end());
    hits.resize(std::min(hits.size(), k), Hit(0, 0));
    return hits;
  }

 private:
  const Bm25Options& options_;
  std::vector<double> lengths_;
  std::map<std::string, std::vector<std::pair<std::size_t, double>>> postings_;
};

Words random_query(Random& random, std::uint32_t vocabulary) {
  Words words;
  for (std::uint32_t n = 1 + random.below(8); n > 0; --n)
    words.push_back("w" + std::to_string(random.below(3) == 0 ? random.below(6) : random.below(vocabulary + 2)));
  if (random.below(4) == 0) words.push_back(words[0]);
  return words;
}

}  // namespace

TEST_CASE("packed numbers of every width come back") {
  Random random{Seed(1)};
  for (unsigned bits = 0; bits <= 32; ++bits) {
    PackedNumbers numbers, found;
    for (auto& n : numbers) n = bits == 0 ? 0 : random.below(~std::uint32_t(0)) >> (32 - bits);
    if (bits > 0) numbers[random.below(128)] |= 1u << (bits - 1);
    REQUIRE(bits_for(numbers) == bits);
    std::string bytes = "x";  // unaligned
    pack(numbers, bits, bytes);
    REQUIRE(bytes.size() == 1 + 16 * bits);
    unpack(std::as_bytes(std::span(bytes)).data() + 1, bits, found);
    CHECK(found == numbers);
  }
}

TEST_CASE("a list of postings comes back, whatever its length and its gaps") {
  Random random{Seed(2)};
  for (std::uint32_t size : {1u, 2u, 127u, 128u, 129u, 256u, 1000u}) {
    CheckedWriter memory(std::nullopt, "test", 1);
    memory.begin("postings");
    PostingListWriter writer;
    std::string bytes;
    std::vector<Posting> postings;
    for (std::uint32_t i = 0, passage = random.below(3); i < size;
         ++i, passage += 1 + random.below(1u << random.below(22)))
      postings.push_back({passage, 1 + random.below(1u << random.below(20))});
    const std::uint32_t passages = postings.back().passage + 1;
    for (const Posting& p : postings) writer.add(p, 1.5F);
    const auto share = writer.finish(bytes);
    memory.write("before" + bytes);
    const CheckedFile::Section section = memory.commit().section("postings");
    const PostingList list(section, 6, 6 + bytes.size(), size, share, passages);
    OpenBlock block;
    std::size_t at = 0;
    for (std::size_t b = 0; b < list.blocks(); ++b) {
      CHECK(list.block_of(postings[at].passage, 0) == b);
      list.open(b, block);
      double most = 0;
      for (std::size_t i = 0; i < block.size; ++i, ++at) {
        REQUIRE(block.passages[i] == postings[at].passage);
        REQUIRE(block.counts[i] == postings[at].count);
        most = std::max(most, Share::of(block.counts[i], 1.5F));
      }
      CHECK(list.last(b) == postings[at - 1].passage);
      CHECK(list.share(b) >= most * Share::whole);
    }
    CHECK(at == size);
    CHECK_THROWS_AS(PostingList(section, 6, 6 + bytes.size(), size, share, passages - 1).open(list.blocks() - 1, block),
                    Error);
  }
}

TEST_CASE("what a search passes over is never among the best: equal to scoring every passage, to the last bit") {
  Random random{Seed(3)};
  struct Shape {
    std::uint32_t passages, vocabulary, longest;
  };
  for (const Shape shape : {Shape{1, 3, 5}, {2, 2, 2}, {40, 5, 3}, {300, 40, 30}, {9000, 300, 12}, {30000, 3000, 20}}) {
    for (const auto& [k1, b] : {std::pair{1.2, 0.75}, {0.9, 0.4}, {0.0, 0.0}}) {
      const Bm25Options options{.k1 = k1, .b = b};
      const std::vector<Passage> corpus = random_corpus(random, shape.passages, shape.vocabulary, shape.longest);
      const LexicalIndex index = LexicalIndex(LexicalBuilder(options)(corpus));
      const Plain plain(corpus, options);
      LexicalSearch search;
      for (int i = 0; i < (shape.passages > 1000 ? 25 : 80); ++i) {
        const Words words = random_query(random, shape.vocabulary);
        const std::size_t k = i % 5 == 0 ? 2 * shape.passages : 1 + random.below(12);
        CAPTURE(words);
        REQUIRE(search(index, words, k) == plain.best(words, k));
      }
    }
  }
}

TEST_CASE("an index has the same bytes for any number of threads, and answers from its file as from memory") {
  Random random{Seed(4)};
  const TemporaryFolder folder;
  const std::vector<Passage> corpus = random_corpus(random, 25000, 800, 10);
  std::vector<std::string> files;
  for (unsigned threads : {1u, 2u, 5u}) {
    const std::string path = folder / ("threads" + std::to_string(threads));
    Bm25::write_index(corpus, {.threads = threads}, path);
    files.push_back(read_bytes(path));
    CHECK(files.back() == files.front());
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 3);  // nothing else is left
  const Bm25Options three{.threads = 3};
  const LexicalIndex memory(LexicalBuilder(three)(corpus)), file = LexicalIndex::open(folder / "threads1");
  CHECK(memory.facts().corpus == file.facts().corpus);
  CHECK(file.analyzer() == "simple");
  LexicalSearch search, other;
  for (int i = 0; i < 50; ++i) {
    const Words words = random_query(random, 800);
    REQUIRE(search(memory, words, 10) == other(file, words, 10));
  }
}

TEST_CASE("passages of scripts without spaces are found, alike in memory and in a file") {
  const char* const known[][2] = {{"东京塔高333米。", "东京塔有多高？"},
                                  {"さくらのガラスは赤い", "ｶﾞﾗｽ"},
                                  {"서울은 한국의 수도이다", "서울에서"},
                                  {"กรุงเทพเป็นเมือง", "เมืองไหน"},
                                  {"မြန်မာဘာသာစကား", "ဘာသာ"},
                                  {"བོད་སྐད་ཀྱི་ཡི་གེ", "སྐད"},
                                  {"ꆈꌠꁱꂷꉙꅉ", "ꁱꂷ"},
                                  {"店は𠮷野家です", "𠮷野"},
                                  {"新しいiPhone手机", "which iphone"},
                                  {"x 猫 y", "猫"}};
  std::vector<Passage> corpus = {{"mill", "阿尔德伯里", "磨坊位于特恩河畔。"}};
  for (const auto& [text, question] : known) corpus.emplace_back(question, "", text);
  const TemporaryFolder folder;
  Bm25::write_index(corpus, {}, folder / "index");
  Bm25 memory(corpus), file(corpus, LexicalIndex::open(folder / "index"), Analyzer::simple());
  for (const auto& [text, question] : known) {
    const std::vector<Query> queries = {{question, 3}};
    const Passages found = memory(queries).front();
    REQUIRE_MESSAGE(!found.empty(), question);
    CHECK(found[0].id() == question);
    CHECK(found == file(queries).front());
  }
}

TEST_CASE("only bigrams change a fingerprint of before, and a file of before is to be built anew") {
  for (const char* text : {"café", "塔"}) {
    const Bm25 bm25(std::vector<Passage>{{"1", "T", text}});
    const LexicalIndex::Facts& f = bm25.index().facts();
    const Hash before = Hasher().add("bm25").add(f.corpus).add("simple").add(f.k1).add(f.b).finish();
    CHECK((bm25.fingerprint() == before) == (f.bigrams == 0));
    CHECK(f.bigrams == (text == std::string("塔")));
  }
  const TemporaryFolder folder;
  CheckedWriter(folder / "old", LexicalIndex::kind, 1).commit();
  CHECK_THROWS_WITH_AS(LexicalIndex::open(folder / "old"), doctest::Contains("build the index again (espalier"), Error);
}

TEST_CASE("a build tells how far it is, and what that throws stops it without a trace") {
  Random random{Seed(5)};
  const TemporaryFolder folder;
  const std::vector<Passage> corpus = random_corpus(random, 20000, 50, 4);
  std::map<std::string, std::uint64_t> done, all;
  Bm25Options options{.threads = 3, .progress = [&](std::string_view step, std::uint64_t now, std::uint64_t total) {
                        CHECK(now > done[std::string(step)]);
                        done[std::string(step)] = now;
                        all[std::string(step)] = total;
                      }};
  const LexicalIndex index = LexicalIndex(LexicalBuilder(options)(corpus));
  CHECK(done == all);
  CHECK(done == std::map<std::string, std::uint64_t>{{"read", 20000}, {"merge", index.facts().postings}});
  options.progress = [](std::string_view step, std::uint64_t, std::uint64_t) {
    if (step == "merge") throw std::runtime_error("stopped");
  };
  CHECK_THROWS_WITH(Bm25::write_index(corpus, options, folder / "index"), "stopped");
  CHECK(std::filesystem::is_empty(folder.path()));
}

namespace {

/// Sections whose bytes were changed after they were written.
struct Changed {
  std::map<std::string, std::string, std::less<>> sections;
  [[nodiscard]] CheckedFile written() const {
    CheckedWriter writer(std::nullopt, LexicalIndex::kind, LexicalIndex::version);
    for (const auto& [name, bytes] : sections) {
      writer.begin(name);
      writer.write(std::string_view(bytes));
    }
    return writer.commit();
  }
};

}  // namespace

TEST_CASE("an index with wrong content under right checksums gives wrong answers or an Error, and reads nothing else") {
  Random random{Seed(6)};
  const Bm25Options options;
  const CheckedFile memory = LexicalBuilder(options)(random_corpus(random, 600, 12, 8));
  Changed good;
  for (const char* name : {"facts", "analyzer", "norms", "terms", "text", "slots", "postings"}) {
    const CheckedFile::Section section = memory.section(name);
    good.sections[name] = section.text(0, section.size());
  }
  LexicalSearch search;
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    Changed changed = good;
    auto section = changed.sections.begin();
    std::advance(section, random.below(7));
    std::string& bytes = section->second;
    for (std::uint32_t n = 1 + random.below(3); n > 0; --n) {
      const std::uint32_t at = random.below(static_cast<std::uint32_t>(bytes.size()));
      bytes[at] =
          static_cast<char>(random.below(2) ? bytes[at] ^ (1 << random.below(8)) : static_cast<int>(random.below(256)));
    }
    if (random.below(10) == 0) bytes.resize(random.below(static_cast<std::uint32_t>(bytes.size())));
    try {
      const LexicalIndex index(changed.written());
      for (int q = 0; q < 3; ++q) search(index, random_query(random, 12), 1 + random.below(20));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

}  // namespace lexical_index_test
