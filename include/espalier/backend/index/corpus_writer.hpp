#pragma once

#include <espalier/backend/detail/index/checked_writer.hpp>
#include <espalier/backend/index/mapped_corpus.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/passage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// Identity of passages: ids, titles and texts in order. It is a hash of the hashes of blocks of `block` passages, so
/// that threads can share the work.
class CorpusHasher {
 public:
  static constexpr std::size_t block = 8192;

  void add(std::string_view id, std::string_view title, std::string_view text) {
    open_.add(id).add(title).add(text);
    if (++in_block_ == block) end_block();
  }
  [[nodiscard]] Hash finish() {
    if (in_block_ > 0) end_block();
    return all_.finish();
  }

 private:
  void end_block() {
    all_.add(open_.finish());
    open_ = Hasher();
    in_block_ = 0;
  }
  Hasher all_, open_;
  std::size_t in_block_ = 0;
};

}  // namespace espalier::backend::detail

namespace espalier::backend {

/// Writes a corpus file, passage by passage. The file appears at commit(). It needs 32 bytes per passage in memory.
class MappedCorpus::Writer {
 public:
  explicit Writer(std::string path) : file_(std::move(path), MappedCorpus::kind, MappedCorpus::version) {
    file_.begin("texts");
  }

  void add(const Passage& passage) {
    if (id_hashes_.size() == ~std::uint32_t(0) - 1) throw Error("an index holds at most 2^32 - 2 passages");
    places_.push_back({file_.position(), size(passage.id()), size(passage.title())});
    id_hashes_.emplace_back(MappedCorpus::id_hash(passage.id()), static_cast<std::uint32_t>(id_hashes_.size()));
    hasher_.add(passage.id(), passage.title(), passage.text());
    for (const std::string* part : {&passage.id(), &passage.title(), &passage.text()}) file_.write(*part);
  }

  void commit() {
    places_.push_back({file_.position(), 0, 0});
    file_.begin("places");
    file_.write(std::span(places_));
    std::sort(id_hashes_.begin(), id_hashes_.end());
    file_.begin("id_hashes");
    for (const auto& [hash, passage] : id_hashes_) file_.write(std::span(&hash, 1));
    file_.begin("id_passages");
    for (const auto& [hash, passage] : id_hashes_) file_.write(std::span(&passage, 1));
    const Hash hash = hasher_.finish();
    file_.begin("hash");
    const std::uint64_t words[] = {hash.high, hash.low};
    file_.write(std::span(words));
    file_.commit();
  }

 private:
  static std::uint32_t size(const std::string& text) {
    if (text.size() > ~std::uint32_t(0)) throw Error("an id or title is longer than 4 GiB");
    return static_cast<std::uint32_t>(text.size());
  }
  detail::CheckedWriter file_;
  detail::CorpusHasher hasher_;
  std::vector<Place> places_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> id_hashes_;
};

}  // namespace espalier::backend
