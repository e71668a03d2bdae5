#pragma once

#include <espalier/core/hash.hpp>

#include <cstdint>
#include <string_view>

namespace espalier {

/// The seed of one place in one search. A request's seed is derived from (run seed, question id, node path, purpose,
/// sample index). It never depends on a clock, a thread or a position in a batch.
class Seed {
 public:
  constexpr Seed() = default;
  constexpr explicit Seed(std::uint64_t value) : Seed(value, value, 0) {}
  /// The seed at the root of a question's tree.
  Seed(std::uint64_t run_seed, std::string_view question_id)
      : Seed(Hasher().add(run_seed).add(question_id).finish().low) {}

  /// The seed of the `ordinal`-th child of this place.
  [[nodiscard]] constexpr Seed child(std::uint64_t ordinal) const {
    return Seed(detail::mix64(value_ ^ detail::mix64(ordinal + 1)), origin_,
                ((rank_ >> 32) + 1) << 32 | (ordinal & 0xffff'ffff));
  }
  /// The seed for one purpose at this place.
  [[nodiscard]] Seed purpose(std::string_view name) const {
    return Seed(Hasher().add(value_).add(name).finish().low, origin_, rank_);
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
  /// The value of the root seed that this one comes from, one per question. For execution hints, never for draws.
  [[nodiscard]] constexpr std::uint64_t origin() const { return origin_; }
  /// Orders places for people: by depth, then by ordinal among siblings. Several places may share one.
  [[nodiscard]] constexpr std::uint64_t rank() const { return rank_; }

 private:
  constexpr Seed(std::uint64_t value, std::uint64_t origin, std::uint64_t rank)
      : value_(value), origin_(origin), rank_(rank) {}
  std::uint64_t value_ = 0;
  std::uint64_t origin_ = 0;
  std::uint64_t rank_ = 0;  ///< depth in the high half, ordinal in the low one
};

/// A small random generator for decisions of the search itself (random rollouts, ties). Equal on every platform.
class Random {
 public:
  constexpr explicit Random(Seed seed) : state_(seed.value()) {}
  constexpr std::uint64_t next() { return detail::mix64(state_++); }
  /// Uniform in [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Uniform in [0, n), n > 0. The bias is below n / 2^32.
  constexpr std::uint32_t below(std::uint32_t n) { return std::uint32_t(((next() >> 32) * std::uint64_t(n)) >> 32); }

 private:
  std::uint64_t state_;
};

}  // namespace espalier
