#pragma once

#include <espalier/backend/detail/lexical/posting_codec.hpp>
#include <espalier/backend/index/checked_file.hpp>
#include <espalier/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace espalier::backend::detail {

/// The largest share of its weight that a term gives to a passage, rounded up to a multiple of 1 / 65,535.
struct Share {
  static constexpr double whole = 65535;
  /// count / (count + norm), 0 to 1.
  static double of(std::uint32_t count, float norm) { return count / (static_cast<double>(count) + norm); }
  static std::uint16_t above(double share) { return static_cast<std::uint16_t>(std::min(whole, share * whole + 1)); }
};

/// 128 postings packed together: gaps minus one, then counts minus one.
struct PostingBlock {
  std::uint32_t last;   ///< last passage of the block
  std::uint32_t place;  ///< in units of 16 bytes after the list's last PostingBlock
  std::uint16_t share;  ///< upper bound of the postings' shares
  std::uint8_t gap_bits, count_bits;
};
static_assert(sizeof(PostingBlock) == 12);

/// Writes a term's postings as bytes: a PostingBlock for every full block, the full blocks, then the rest one by one.
class PostingListWriter {
 public:
  void add(Posting p, float norm) {
    share_ = std::max(share_, Share::of(p.count, norm));
    gaps_[open_] = p.passage - last_ - 1;
    counts_[open_++] = p.count - 1;
    last_ = p.passage;
    ++size_;
    if (open_ == packed_numbers) end_block();
  }
  [[nodiscard]] std::uint32_t size() const { return size_; }

  /// Appends the list and begins the next one. Returns an upper bound of its postings' shares.
  std::uint16_t finish(std::string& out) {
    out += blocks_;
    out += packed_;
    std::uint32_t before = ended_;
    for (std::size_t i = 0; i < open_; ++i) {
      const Posting p{before + 1 + gaps_[i], counts_[i] + 1};
      put_posting(out, before, p);
      before = p.passage;
    }
    const std::uint16_t share = std::max(most_, Share::above(share_));
    blocks_.clear();
    packed_.clear();
    last_ = ended_ = ~std::uint32_t(0);
    open_ = size_ = most_ = 0;
    share_ = 0;
    return share;
  }

 private:
  void end_block() {
    const PostingBlock block{last_, static_cast<std::uint32_t>(packed_.size() / 16), Share::above(share_),
                             static_cast<std::uint8_t>(bits_for(gaps_)), static_cast<std::uint8_t>(bits_for(counts_))};
    blocks_.append(reinterpret_cast<const char*>(&block), sizeof block);
    pack(gaps_, block.gap_bits, packed_);
    pack(counts_, block.count_bits, packed_);
    ended_ = last_;
    most_ = std::max(most_, block.share);
    share_ = 0;
    open_ = 0;
  }

  std::string blocks_, packed_;
  PackedNumbers gaps_{}, counts_{};
  std::uint32_t open_ = 0, size_ = 0;                                   // postings in the open block, and in the list
  std::uint32_t last_ = ~std::uint32_t(0), ended_ = ~std::uint32_t(0);  // last passage: of all, of full blocks
  double share_ = 0;                                                    // largest share in the open block
  std::uint16_t most_ = 0;                                              // largest share in the full blocks
};

/// The postings of one block, unpacked.
struct OpenBlock {
  std::size_t number, size;
  PackedNumbers passages, counts;
};

/// Reads a term's postings block by block. The last block holds the postings that do not fill one. It checks that every
/// byte lies in the section, and that passages increase and are below `passages`. Otherwise it throws Error.
class PostingList {
 public:
  PostingList() = default;
  PostingList(const CheckedFile::Section& section, std::uint64_t begin, std::uint64_t end, std::uint32_t size,
              std::uint32_t share, std::uint32_t passages)
      : section_(&section), end_(end), size_(size), share_(share), passages_(passages), full_(size / packed_numbers) {
    if (end < begin || (end - begin) / sizeof(PostingBlock) < full_)
      throw Error("an index holds a list that is too short");
    if (size > passages) throw Error("an index holds a list that is too long");
    packed_ = begin + full_ * sizeof(PostingBlock);
    blocks_ = section.items<std::byte>(begin, packed_ - begin);
  }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::size_t blocks() const { return full_ + (size_ % packed_numbers != 0); }
  /// Upper bound of the block's passages.
  [[nodiscard]] std::uint32_t last(std::size_t block) const { return block < full_ ? load(block).last : passages_ - 1; }
  /// Upper bound of the block's shares.
  [[nodiscard]] std::uint32_t share(std::size_t block) const { return block < full_ ? load(block).share : share_; }
  /// The first block from `from` on that may hold this or a later passage, or blocks().
  [[nodiscard]] std::size_t block_of(std::uint32_t passage, std::size_t from) const {
    std::size_t step = 1, end = from;
    for (; end < full_ && load(end).last < passage; step *= 2) from = end + 1, end += step;
    for (end = std::min(end, full_); from < end;) {
      const std::size_t middle = (from + end) / 2;
      if (load(middle).last < passage) from = middle + 1;
      else end = middle;
    }
    return from;
  }

  void open(std::size_t block, OpenBlock& out) const {
    out.number = block;
    const std::uint32_t before = block == 0 ? ~std::uint32_t(0) : load(block - 1).last;
    if (block == full_) return open_rest(before, out);
    out.size = packed_numbers;
    const PostingBlock head = load(block);
    if (head.gap_bits > 32 || head.count_bits > 32) throw Error("an index holds a block that cannot be");
    const auto bytes = section_->items<std::byte>(packed_ + 16 * std::uint64_t(head.place),
                                                  16 * (head.gap_bits + std::uint64_t(head.count_bits)));
    unpack(bytes.data(), head.gap_bits, out.passages);
    unpack(bytes.data() + std::size_t(16) * head.gap_bits, head.count_bits, out.counts);
    std::uint64_t next = std::uint32_t(before + 1);
    for (std::size_t i = 0; i < packed_numbers; ++i) {
      next += out.passages[i];
      out.passages[i] = static_cast<std::uint32_t>(next++);
      ++out.counts[i];
    }
    if (next != std::uint64_t(head.last) + 1 || head.last >= passages_)
      throw Error("an index holds a block that cannot be");
  }

 private:
  [[nodiscard]] PostingBlock load(std::size_t block) const {
    PostingBlock head;
    std::memcpy(&head, blocks_.data() + block * sizeof head, sizeof head);
    return head;
  }
  void open_rest(std::uint32_t before, OpenBlock& out) const {
    std::uint64_t begin = packed_;
    if (full_ > 0) {
      const PostingBlock head = load(full_ - 1);
      begin += 16 * (std::uint64_t(head.place) + head.gap_bits + head.count_bits);
    }
    if (begin > end_) throw Error("an index holds a list that is too short");
    auto bytes = section_->items<std::byte>(begin, end_ - begin);
    out.size = size_ % packed_numbers;
    for (std::size_t i = 0; i < out.size; ++i) {
      const Posting p = take_posting(bytes, before, passages_);
      out.passages[i] = before = p.passage;
      out.counts[i] = p.count;
    }
  }

  const CheckedFile::Section* section_ = nullptr;
  std::span<const std::byte> blocks_;
  std::uint64_t packed_ = 0, end_ = 0;  // bytes in the section: first full block, end of the list
  std::uint32_t size_ = 0, share_ = 0, passages_ = 0;
  std::size_t full_ = 0;
};

}  // namespace espalier::backend::detail
