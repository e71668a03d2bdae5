#pragma once

#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/passage.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// The floats in base64 text of little-endian 32-bit numbers. Throws BackendError (transport) if the text is not that.
inline Embedding decode_floats(std::string_view base64) {
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  while (base64.ends_with('=')) base64.remove_suffix(1);
  for (const char c : base64) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) throw BackendError("an embedding that is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((held += 6) >= 8) bytes += static_cast<char>(bits >> (held -= 8) & 0xff);
  }
  if (bytes.size() % 4 != 0) throw BackendError("an embedding that is cut off");
  Embedding embedding(bytes.size() / 4);
  for (std::size_t i = 0; i < embedding.size(); ++i) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 4; ++k) word |= std::uint32_t(static_cast<unsigned char>(bytes[4 * i + k])) << (8 * k);
    std::memcpy(&embedding[i], &word, 4);
  }
  return embedding;
}

/// An embedding as a list of numbers or as base64. Throws BackendError (transport) if it is empty or not finite.
inline Embedding read_embedding(simdjson::dom::element value) {
  Embedding embedding;
  simdjson::dom::array numbers;
  std::string_view base64;
  if (!value.get(base64)) {
    embedding = decode_floats(base64);
  } else {
    if (value.get(numbers)) throw BackendError("an embedding that is neither a list nor base64");
    for (const auto item : numbers) {
      double number = 0;
      if (item.get(number) || std::abs(number) > std::numeric_limits<float>::max())
        throw BackendError("an embedding with something else than floats");
      embedding.push_back(static_cast<float>(number));
    }
  }
  for (const float x : embedding)
    if (!std::isfinite(x)) throw BackendError("an embedding with a number that is not finite");
  if (embedding.empty()) throw BackendError("an empty embedding");
  return embedding;
}

/// Scales to length 1, with a sum in order and in double. Zero stays zero.
inline void normalise(Embedding& embedding) {
  double sum = 0;
  for (const float x : embedding) sum += double(x) * double(x);
  if (sum == 0) return;
  const double scale = 1 / std::sqrt(sum);
  for (float& x : embedding) x = static_cast<float>(double(x) * scale);
}

}  // namespace espalier::backend::detail
