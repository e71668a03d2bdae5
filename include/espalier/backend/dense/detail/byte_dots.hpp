#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace espalier::backend::detail {

/// Number of rows in a panel. Their bytes are stored as [groups of 4 dimensions, panel_rows, 4], so one instruction
/// serves many rows.
inline constexpr std::size_t panel_rows = 16;

/// A query for byte_dots(): [groups, 4] numbers from -127 to 127, the last group padded with 0.
struct ByteQuery {
  const std::int8_t* bytes;
  const std::int16_t* words;  ///< the same numbers
};

/// Instruction sets for byte_dots(). They differ only in speed, because integer sums are exact.
enum class Instructions : std::uint8_t { plain, avx2, avx512_vnni };

/// The best set of this processor.
inline Instructions best_instructions() {
#if defined(__x86_64__)
  static const Instructions best = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw")
                                       ? Instructions::avx512_vnni
                                   : __builtin_cpu_supports("avx2") ? Instructions::avx2
                                                                    : Instructions::plain;
  return best;
#else
  return Instructions::plain;
#endif
}

inline void dots_plain(const std::uint8_t* panel, std::size_t groups, const ByteQuery& query, std::int32_t* dots) {
  std::fill_n(dots, panel_rows, 0);
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t row = 0; row < panel_rows; ++row)
      for (std::size_t j = 0; j < 4; ++j)
        dots[row] += std::int32_t(panel[(g * panel_rows + row) * 4 + j]) * query.bytes[g * 4 + j];
}

#if defined(__x86_64__)

/// Q queries by half a panel: 8 rows.
template <std::size_t Q>
__attribute__((target("avx2"))) inline void dots_avx2(const std::uint8_t* half, std::size_t groups,
                                                      const ByteQuery* queries, std::int32_t* dots,
                                                      std::size_t stride) {
  __m256i low[Q], high[Q];  // rows 0 to 3 and 4 to 7, two sums per row
  for (std::size_t q = 0; q < Q; ++q) low[q] = high[q] = _mm256_setzero_si256();
  for (std::size_t g = 0; g < groups; ++g) {
    const auto* bytes = reinterpret_cast<const __m128i*>(half + g * panel_rows * 4);
    const __m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128(bytes)),
                  b = _mm256_cvtepu8_epi16(_mm_loadu_si128(bytes + 1));
    for (std::size_t q = 0; q < Q; ++q) {
      long long four = 0;
      std::memcpy(&four, queries[q].words + g * 4, sizeof four);
      const __m256i wanted = _mm256_set1_epi64x(four);
      low[q] = _mm256_add_epi32(low[q], _mm256_madd_epi16(a, wanted));
      high[q] = _mm256_add_epi32(high[q], _mm256_madd_epi16(b, wanted));
    }
  }
  for (std::size_t q = 0; q < Q; ++q)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dots + q * stride),
                        _mm256_permute4x64_epi64(_mm256_hadd_epi32(low[q], high[q]), 0xD8));
}

/// Q queries by P panels.
template <std::size_t P, std::size_t Q>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) inline void dots_vnni(const std::uint8_t* panels,
                                                                             std::size_t groups,
                                                                             const ByteQuery* queries,
                                                                             std::int32_t* dots, std::size_t stride) {
  __m512i sums[P][Q];
  for (std::size_t p = 0; p < P; ++p)
    for (std::size_t q = 0; q < Q; ++q) sums[p][q] = _mm512_setzero_si512();
  for (std::size_t g = 0; g < groups; ++g) {
    __m512i rows[P];
    for (std::size_t p = 0; p < P; ++p) rows[p] = _mm512_loadu_si512(panels + (p * groups + g) * panel_rows * 4);
    for (std::size_t q = 0; q < Q; ++q) {
      int four = 0;
      std::memcpy(&four, queries[q].bytes + g * 4, sizeof four);
      const __m512i wanted = _mm512_set1_epi32(four);
      for (std::size_t p = 0; p < P; ++p) sums[p][q] = _mm512_dpbusd_epi32(sums[p][q], rows[p], wanted);
    }
  }
  for (std::size_t p = 0; p < P; ++p)
    for (std::size_t q = 0; q < Q; ++q) _mm512_storeu_si512(dots + q * stride + p * panel_rows, sums[p][q]);
}

#endif

/// The inner products of `queries` with the rows of `count` panels of `groups` groups, exact, to dots[query * stride +
/// row].
inline void byte_dots(const std::uint8_t* panels, std::size_t count, std::size_t groups,
                      std::span<const ByteQuery> queries, std::int32_t* dots, std::size_t stride,
                      Instructions instructions = best_instructions()) {
  const std::size_t size = groups * panel_rows * 4;
#if defined(__x86_64__)
  if (instructions == Instructions::avx512_vnni) {
    std::size_t q = 0;
    for (; q + 8 <= queries.size(); q += 8) {
      std::size_t p = 0;
      for (; p + 2 <= count; p += 2)
        detail::dots_vnni<2, 8>(panels + p * size, groups, &queries[q], dots + q * stride + p * panel_rows, stride);
      if (p < count)
        detail::dots_vnni<1, 8>(panels + p * size, groups, &queries[q], dots + q * stride + p * panel_rows, stride);
    }
    for (; q < queries.size(); ++q) {
      std::size_t p = 0;
      for (; p + 4 <= count; p += 4)
        detail::dots_vnni<4, 1>(panels + p * size, groups, &queries[q], dots + q * stride + p * panel_rows, stride);
      for (; p < count; ++p)
        detail::dots_vnni<1, 1>(panels + p * size, groups, &queries[q], dots + q * stride + p * panel_rows, stride);
    }
    return;
  }
  if (instructions == Instructions::avx2) {
    for (std::size_t half = 0; half < 2 * count; ++half) {
      const std::uint8_t* rows = panels + half / 2 * size + half % 2 * panel_rows * 2;
      std::int32_t* to = dots + half * panel_rows / 2;
      std::size_t q = 0;
      for (; q + 4 <= queries.size(); q += 4) detail::dots_avx2<4>(rows, groups, &queries[q], to + q * stride, stride);
      for (; q < queries.size(); ++q) detail::dots_avx2<1>(rows, groups, &queries[q], to + q * stride, stride);
    }
    return;
  }
#endif
  (void)instructions;
  for (std::size_t q = 0; q < queries.size(); ++q)
    for (std::size_t p = 0; p < count; ++p)
      detail::dots_plain(panels + p * size, groups, queries[q], dots + q * stride + p * panel_rows);
}

}  // namespace espalier::backend::detail
