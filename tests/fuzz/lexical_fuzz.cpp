// Content of lexical indexes behind right checksums: a good index with some bytes changed, by edits of four bytes each:
// section, position (two, little-endian) and what is added there; 255 cuts the section that was edited last.
#include <espalier/backend/detail/index/checked_writer.hpp>
#include <espalier/backend/detail/lexical/search.hpp>
#include <espalier/backend/lexical/builder.hpp>

#include "fuzzing.hpp"

#include <array>
#include <string>
#include <vector>

using namespace espalier;

namespace {

constexpr std::array<const char*, 7> names{"facts", "analyzer", "norms", "terms", "text", "slots", "postings"};

struct Sections {
  std::array<std::string, names.size()> bytes;
  [[nodiscard]] backend::detail::CheckedFile written() const {
    backend::detail::CheckedWriter writer(std::nullopt, backend::LexicalIndex::kind, backend::LexicalIndex::version);
    for (std::size_t i = 0; i < names.size(); ++i) {
      writer.begin(names[i]);
      writer.write(std::string_view(bytes[i]));
    }
    return writer.commit();
  }
};

Sections good_index() {
  std::vector<Passage> corpus;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (int word = 0; word < 12; ++word)
      if ((i * 7 + word * word) % (word + 2) == 0) text += "w" + std::to_string(word) + ' ';
    corpus.emplace_back("p" + std::to_string(i), "t", text);
  }
  const backend::Bm25Options options;
  const backend::detail::CheckedFile memory = backend::detail::LexicalBuilder(options)(corpus);
  Sections all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto section = memory.section(names[i]);
    all.bytes[i] = section.text(0, section.size());
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Sections good = good_index();
  Sections changed = good;
  std::size_t last = 0;
  for (std::size_t i = 0; i + 4 <= size; i += 4) {
    const std::size_t position = std::size_t(data[i + 1]) | std::size_t(data[i + 2]) << 8;
    if (data[i] != 255) last = data[i] % names.size();
    std::string& bytes = changed.bytes[last];
    if (bytes.empty()) continue;
    if (data[i] == 255) bytes.resize(position % bytes.size());
    else
      bytes[position % bytes.size()] =
          static_cast<char>(bytes[position % bytes.size()] + static_cast<char>(data[i + 3]));
  }
  try {
    const backend::LexicalIndex index(changed.written());
    backend::detail::LexicalSearch search;
    for (const char* words : {"w1 w2 w3", "w0", "w11 w1 none"})
      for (const std::size_t k : {1, 10}) {
        std::vector<std::string> query{words};
        for (std::size_t blank; (blank = query.back().find(' ')) != std::string::npos;) {
          const std::string rest = query.back().substr(blank + 1);
          query.back().resize(blank);
          query.push_back(rest);
        }
        const auto& hits = search(index, query, k);
        fuzz::require(hits.size() <= k, "no more than k hits");
        for (const auto& hit : hits) fuzz::require(hit.row < index.passages(), "hits are passages of the corpus");
      }
  } catch (const Error& error) {
    fuzz::require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
