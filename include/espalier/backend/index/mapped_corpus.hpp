#pragma once

#include <espalier/backend/detail/index/checked_writer.hpp>
#include <espalier/backend/detail/index/corpus.hpp>
#include <espalier/backend/index/checked_file.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/llm/passage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Passages in a mapped file, read on request, by any number of threads. Copies share it. Damage is an InputError.
class MappedCorpus {
 public:
  /// The position of a passage in the section "texts" of a corpus file: id, title and text, one after the other.
  struct Bounds {
    std::uint64_t begin;
    std::uint32_t id_size;
    std::uint32_t title_size;
  };

  class Writer;
  static constexpr const char* kind = "corpus";
  static constexpr std::uint32_t version = 2;

  explicit MappedCorpus(const std::string& path) : MappedCorpus(detail::CheckedFile(path, kind, version)) {}
  /// From a file of this kind and version.
  explicit MappedCorpus(detail::CheckedFile file)
      : file_(std::move(file)), texts_(file_.section("texts")), places_(file_.section("places")) {
    hash_ = file_.section("hash").items<Hash>(0, 1).front();
    const std::uint64_t places = places_.size() / sizeof(Bounds);  // one more than passages, for the end
    if (places == 0 || places > ~0U || places_.size() % sizeof(Bounds) != 0) places_.fail("has a wrong size");
    size_ = static_cast<std::size_t>(places - 1);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// The passage at a position below size().
  [[nodiscard]] Passage operator[](std::size_t i) const {
    const auto place = places_.items<Bounds>(i, 2);
    const std::string_view all = texts_.text(place[0].begin, place[1].begin - place[0].begin);
    if (std::uint64_t(place[0].id_size) + place[0].title_size > all.size())
      places_.fail("names a place outside a passage");
    return Passage(std::string(all.substr(0, place[0].id_size)),
                   std::string(all.substr(place[0].id_size, place[0].title_size)),
                   std::string(all.substr(place[0].id_size + place[0].title_size)));
  }
  /// Identity of ids, titles and texts, equal to that of the same passages in memory.
  [[nodiscard]] Hash hash() const { return hash_; }
  [[nodiscard]] const detail::CheckedFile& file() const { return file_; }

 private:
  detail::CheckedFile file_;
  detail::CheckedFile::Section texts_, places_;
  std::size_t size_ = 0;
  Hash hash_;
};

/// Writes a corpus file, passage by passage. The file appears at commit(). It needs 40 bytes per passage in memory.
class MappedCorpus::Writer {
 public:
  /// `source` is the name of the passages' file in messages.
  explicit Writer(std::string path, std::string source = "the corpus")
      : file_(std::move(path), MappedCorpus::kind, MappedCorpus::version), source_(std::move(source)) {
    file_.begin("texts");
  }

  /// `line` is its line in the source.
  void add(const Passage& passage, std::size_t line) {
    if (places_.size() == ~std::uint32_t(0) - 1) throw Error("an index holds at most 2^32 - 2 passages");
    places_.push_back({file_.position(), size(passage.id()), size(passage.title())});
    ids_.emplace_back(Hasher().add(passage.id()).finish(), line);
    hasher_.add(passage.id()).add(passage.title()).add(passage.text());
    if (places_.size() % detail::passages_hashed_together == 0) end_block();
    for (const std::string* part : {&passage.id(), &passage.title(), &passage.text()}) file_.write(*part);
  }

  /// Returns the corpus. Throws InputError for the first passage whose id an earlier one has.
  template <class = void>
  MappedCorpus commit() {
    std::sort(ids_.begin(), ids_.end());
    std::pair<std::size_t, std::size_t> first{0, 0};  // the lines of a passage and of the earlier one, 0 = none
    for (std::size_t i = 1; i < ids_.size(); ++i)
      if (ids_[i].first == ids_[i - 1].first && (first.first == 0 || ids_[i].second < first.first))
        first = {ids_[i].second, ids_[i - 1].second};
    if (first.first != 0)
      throw InputError(source_, first.first, "id", "the same stands in line " + std::to_string(first.second));
    if (places_.size() % detail::passages_hashed_together != 0) end_block();
    places_.push_back({file_.position(), 0, 0});
    file_.write("places", std::span(places_));
    const Hash hash = hash_.finish();
    file_.write("hash", std::span(&hash, 1));
    return MappedCorpus(file_.commit());
  }

 private:
  static std::uint32_t size(const std::string& text) {
    if (text.size() > ~std::uint32_t(0)) throw Error("an id or title is longer than 4 GiB");
    return static_cast<std::uint32_t>(text.size());
  }
  void end_block() { hash_.add(std::exchange(hasher_, Hasher()).finish()); }

  detail::CheckedWriter file_;
  std::string source_;
  Hasher hash_, hasher_;  // of all blocks, and of the open one
  std::vector<Bounds> places_;
  std::vector<std::pair<Hash, std::size_t>> ids_;  // hashes of ids, and lines
};

}  // namespace espalier::backend
