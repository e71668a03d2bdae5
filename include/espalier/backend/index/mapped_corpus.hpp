#pragma once

#include <espalier/backend/detail/index/checked_file.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/passage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::backend {

/// Passages in a file mapped into memory, read on request. Copies share the mapping. Any number of threads may read.
/// Damage causes an InputError that names the file.
class MappedCorpus {
 public:
  /// The position of a passage in the section "texts" of a corpus file: id, title and text, one after the other.
  struct Place {
    std::uint64_t begin;
    std::uint32_t id_size;
    std::uint32_t title_size;
  };

  class Writer;  ///< in index/corpus_writer.hpp
  static constexpr const char* kind = "corpus";
  static constexpr std::uint32_t version = 1;

  explicit MappedCorpus(const std::string& path) : MappedCorpus(detail::CheckedFile(path, kind, version)) {}
  /// From a file of this kind and version.
  explicit MappedCorpus(detail::CheckedFile file)
      : file_(std::move(file)),
        texts_(file_.section("texts")),
        places_(file_.section("places")),
        hashes_(file_.section("id_hashes")),
        numbers_(file_.section("id_passages")) {
    const auto hash = file_.section("hash").items<std::uint64_t>(0, 2);
    hash_ = {hash[0], hash[1]};
    const std::uint64_t places = places_.count<Place>();  // one more than passages, for the end
    if (places == 0 || places > ~std::uint32_t(0)) places_.fail("has a wrong size");
    size_ = static_cast<std::size_t>(places - 1);
    if (hashes_.count<std::uint64_t>() != size_) hashes_.fail("has a wrong size");
    if (numbers_.count<std::uint32_t>() != size_) numbers_.fail("has a wrong size");
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// The passage at a position below size().
  [[nodiscard]] Passage operator[](std::size_t i) const {
    const auto place = places_.items<Place>(i, 2);
    const std::string_view all = texts_.text(place[0].begin, place[1].begin - place[0].begin);
    if (std::uint64_t(place[0].id_size) + place[0].title_size > all.size())
      places_.fail("names a place outside a passage");
    return Passage(std::string(all.substr(0, place[0].id_size)),
                   std::string(all.substr(place[0].id_size, place[0].title_size)),
                   std::string(all.substr(place[0].id_size + place[0].title_size)));
  }
  /// The position of the passage with this id.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view id) const {
    const std::uint64_t hash = id_hash(id);
    std::size_t first = 0;
    for (std::size_t end = size_; first < end;) {
      const std::size_t middle = first + (end - first) / 2;
      if (hash_at(middle) < hash) first = middle + 1;
      else end = middle;
    }
    for (; first < size_ && hash_at(first) == hash; ++first)
      if (const std::size_t passage = number_at(first); id_at(passage) == id) return passage;
    return std::nullopt;
  }
  /// The first passage whose id an earlier one has, as (the earlier one, itself).
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> repeated_id() const {
    std::optional<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t i = 1; i < size_; ++i) {  // equal hashes are adjacent, in the order of the passages
      std::size_t earlier = i;
      while (earlier > 0 && hash_at(earlier - 1) == hash_at(i) && id_at(number_at(earlier - 1)) != id_at(number_at(i)))
        --earlier;
      if (earlier == 0 || hash_at(earlier - 1) != hash_at(i)) continue;
      if (!found || number_at(i) < found->second) found = {number_at(earlier - 1), number_at(i)};
    }
    return found;
  }
  /// Identity of ids, titles and texts, equal to that of the same passages in memory.
  [[nodiscard]] Hash hash() const { return hash_; }
  [[nodiscard]] const detail::CheckedFile& file() const { return file_; }

  static std::uint64_t id_hash(std::string_view id) { return Hasher().add(id).finish().low; }

 private:
  [[nodiscard]] std::uint64_t hash_at(std::size_t i) const { return hashes_.items<std::uint64_t>(i, 1)[0]; }
  [[nodiscard]] std::size_t number_at(std::size_t i) const { return numbers_.items<std::uint32_t>(i, 1)[0]; }
  [[nodiscard]] std::string_view id_at(std::size_t passage) const {
    const Place place = places_.items<Place>(passage, 1)[0];
    return texts_.text(place.begin, place.id_size);
  }

  detail::CheckedFile file_;
  detail::CheckedFile::Section texts_, places_, hashes_, numbers_;
  std::size_t size_ = 0;
  Hash hash_;
};

}  // namespace espalier::backend
