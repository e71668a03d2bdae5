/// BM25: build time, sizes and queries per second in memory and in a mapped file, beside an exhaustive scorer over the
/// same postings, unpacked and weighed beforehand (no analysis, no dictionary, no passages handed out), whose answers
/// must be the same. 100 words per passage, 50,000 words by Zipf's law, 6 words per query, the best 10. Arguments:
/// number of passages (default 100,000); a folder for corpus, queries, answers and figures, if other libraries are to
/// be given the same (lexical.py). CPU seconds stand beside seconds, for machines that are shared.
#include <espalier/backend/bm25.hpp>
#include <espalier/core/seed.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace espalier;
using namespace espalier::detail;

constexpr std::uint32_t vocabulary = 50'000, words_a_passage = 100, words_a_query = 6, best = 10;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Of all threads.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Resident memory that belongs to no file, in MB.
double resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssAnon:" && status >> word) return std::stod(word) / 1024;
  return 0;
}

std::string word(std::uint32_t rank) { return "word" + std::to_string(rank); }

std::vector<Passage> zipf_corpus(std::uint32_t passages) {
  std::vector<double> cumulative(vocabulary);
  double sum = 0;
  for (std::uint32_t i = 0; i < vocabulary; ++i) cumulative[i] = sum += 1.0 / (i + 1);
  Random random{Seed(1)};
  std::vector<Passage> corpus;
  corpus.reserve(passages);
  for (std::uint32_t p = 0; p < passages; ++p) {
    std::string text;
    for (std::uint32_t w = 0; w < words_a_passage; ++w) {
      const auto at = std::lower_bound(cumulative.begin(), cumulative.end(), random.uniform() * sum);
      text += word(static_cast<std::uint32_t>(at - cumulative.begin())) + ' ';
    }
    corpus.emplace_back(std::to_string(p), "", std::move(text));
  }
  return corpus;
}

/// Words from the middle of the vocabulary; the last `common` of them among the 20 most frequent ones.
std::vector<Query> queries_with(std::uint32_t common) {
  Random random{Seed(2)};
  std::vector<Query> queries;
  for (int q = 0; q < (common ? 200 : 2000); ++q) {
    std::string text;
    for (std::uint32_t w = 0; w < words_a_query; ++w)
      text += word(w < words_a_query - common ? 500 + random.below(20'000) : random.below(20)) + ' ';
    queries.emplace_back(std::move(text), best);
  }
  return queries;
}

struct Weighed {
  std::uint32_t passage;
  float impact;
};
using Lists = std::vector<std::vector<Weighed>>;

/// The postings of a query's words in the order of the words, each with its impact.
Lists weighed(const backend::LexicalIndex& index, const Query& query) {
  std::vector<std::string> words = backend::Analyzer::simple()(query.text);
  std::sort(words.begin(), words.end());
  Lists lists;
  for (auto word = words.begin(); word != words.end();) {
    const auto next = std::upper_bound(word, words.end(), *word);
    const backend::detail::PostingList list = index.find(*word);
    lists.emplace_back();
    backend::detail::OpenBlock block;
    for (std::size_t b = 0; b < list.blocks(); ++b) {
      list.open(b, block);
      for (std::size_t i = 0; i < block.size; ++i) {
        const double f = block.counts[i];
        const float once = static_cast<float>(index.idf(list.size()) * (f / (f + index.norms()[block.passages[i]])));
        lists.back().push_back({block.passages[i], static_cast<float>(once * static_cast<double>(next - word))});
      }
    }
    word = next;
  }
  return lists;
}

/// The best of one query by additions and one walk, with scores[] all 0 before and after.
void exhaustive(const Lists& lists, std::vector<float>& scores, std::vector<backend::Hit>& top) {
  for (const auto& list : lists)
    for (const auto& p : list) scores[p.passage] += p.impact;
  top.clear();
  for (const auto& list : lists) {
    for (const auto& p : list) {
      const float score = std::exchange(scores[p.passage], 0.0f);
      if (score == 0) continue;
      const backend::Hit hit(p.passage, static_cast<double>(score));
      if (top.size() == best && !(hit < top.back())) continue;
      if (top.size() == best) top.pop_back();
      top.insert(std::upper_bound(top.begin(), top.end(), hit), hit);
    }
  }
}

/// Writes a query and its answers a line, ids and scores behind a tab.
void write_answers(const std::string& file, const std::vector<Query>& queries, backend::Bm25& bm25) {
  std::ofstream out(file);
  out.precision(9);
  const auto answers = bm25(queries);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    out << queries[q].text << '\t';
    for (const Passage& p : answers[q]) out << p.id() << ' ' << p.score() << ' ';
    out << '\n';
  }
}

/// Returns queries a CPU second of the first engine.
double compare(const char* name, std::vector<std::pair<const char*, backend::Bm25*>> engines,
               const std::vector<Query>& queries) {
  const backend::LexicalIndex& index = engines[0].second->index();
  std::vector<float> scores(index.passages());
  std::vector<backend::Hit> top;
  const double n = static_cast<double>(queries.size());
  double bound = 1e9;
  std::vector<double> ours(engines.size(), 1e9);
  std::size_t wrong = 0, postings = 0;
  for (int round = 0; round < 3; ++round) {  // interleaved, the best of each, in CPU time
    std::vector<std::vector<Passages>> answers;
    for (std::size_t e = 0; e < engines.size(); ++e) {
      const double start = cpu_seconds();
      answers.push_back((*engines[e].second)(queries));
      ours[e] = std::min(ours[e], cpu_seconds() - start);
    }
    double spent = 0;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const Lists lists = weighed(index, queries[q]);
      const double start = cpu_seconds();
      exhaustive(lists, scores, top);
      spent += cpu_seconds() - start;
      for (const auto& list : lists) postings += round == 0 ? list.size() : 0;
      for (const auto& answer : answers) {
        bool equal = answer[q].size() == top.size();
        for (std::size_t i = 0; equal && i < top.size(); ++i)
          equal = answer[q][i].id() == std::to_string(top[i].row) && answer[q][i].score() == top[i].score;
        wrong += !equal;
      }
    }
    bound = std::min(bound, spent);
  }
  std::printf("  %s, %.0f postings a query: exhaustive %.0f queries a CPU second\n", name,
              static_cast<double>(postings) / n, n / bound);
  for (std::size_t e = 0; e < engines.size(); ++e)
    std::printf("    %s %.0f queries a CPU second, ratio to exhaustive %.2f\n", engines[e].first, n / ours[e],
                ours[e] / bound);
  std::printf("    %zu answers differ\n", wrong);
  return n / ours[0];
}

}  // namespace

int main(int argc, char** argv) {
  const auto passages = static_cast<std::uint32_t>(argc > 1 ? std::atol(argv[1]) : 100'000);
  auto start = std::chrono::steady_clock::now();
  const backend::detail::AnyCorpus corpus(zipf_corpus(passages));
  const double text = resident();
  std::printf("%u passages of %u words: %.1f s to generate, %.0f MB\n", passages, words_a_passage, seconds_since(start),
              text);

  const std::filesystem::path folder = argc > 2 ? argv[2] : std::filesystem::temp_directory_path();
  const std::string file = (folder / ("bench_retrieval." + std::to_string(passages))).string();
  double cpu = cpu_seconds();
  start = std::chrono::steady_clock::now();
  backend::Bm25::write_index(corpus, {.threads = 2}, file);
  const double seconds = seconds_since(start), cpu_spent = cpu_seconds() - cpu;
  std::printf("2 threads: file written in %.2f s, CPU %.2f s\n", seconds, cpu_spent);
  start = std::chrono::steady_clock::now();
  cpu = cpu_seconds();
  backend::Bm25 memory(corpus, {.threads = 1}),
      mapped(corpus, backend::LexicalIndex::open(file), backend::Analyzer::simple(), 1);
  std::printf("1 thread: built in memory in %.2f s, CPU %.2f s, %.0f MB more\n", seconds_since(start),
              cpu_seconds() - cpu, resident() - text);
  const backend::LexicalIndex::Facts& facts = memory.index().facts();
  std::printf("%llu terms, %llu postings of %.2f bytes, file of %.0f MB\n",
              static_cast<unsigned long long>(facts.terms), static_cast<unsigned long long>(facts.postings),
              static_cast<double>(memory.index().postings_size()) / static_cast<double>(facts.postings),
              static_cast<double>(std::filesystem::file_size(file)) / 1e6);
  std::filesystem::remove(file);
  const double content = compare("content words", {{"mapped", &mapped}, {"in memory", &memory}}, queries_with(0));
  const double common =
      compare("4 content and 2 common words", {{"mapped", &mapped}, {"in memory", &memory}}, queries_with(2));
  if (argc > 2) {
    std::ofstream texts(folder / "corpus.txt");
    for (std::uint32_t p = 0; p < passages; ++p) texts << corpus[p].text() << '\n';
    write_answers((folder / "content.txt").string(), queries_with(0), mapped);
    write_answers((folder / "common.txt").string(), queries_with(2), mapped);
    std::ofstream(folder / "figures.json") << "{\"content\": " << content << ", \"common\": " << common
                                           << ", \"build\": " << seconds << ", \"build_cpu\": " << cpu_spent << "}\n";
  }
}
