#pragma once

#include <espalier/backend/journal/store.hpp>
#include <espalier/core/error.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/llm/prompt.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace espalier::backend::detail {

static_assert(std::endian::native == std::endian::little);

/// Appends fields as bytes: numbers little-endian, floating point by its bits, strings with a 32-bit length in front.
class ByteWriter {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  ByteWriter& add(T number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  ByteWriter& add(std::string_view text) {
    add_count(text.size());
    bytes_ += text;
    return *this;
  }
  ByteWriter& add_count(std::size_t count) {
    if (count > UINT32_MAX) throw Error("a response is too large to be stored: " + std::to_string(count) + " items");
    return add(static_cast<std::uint32_t>(count));
  }
  [[nodiscard]] std::string bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads the same fields back. Throws Error if the bytes end too early.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
    requires std::is_arithmetic_v<T>
  T take() {
    T number;
    std::memcpy(&number, take_bytes(sizeof number).data(), sizeof number);
    return number;
  }
  std::string take_string() { return std::string(take_bytes(take<std::uint32_t>())); }
  /// Reads a number of items of at least `least` bytes each. So a damaged count cannot ask for more memory.
  std::size_t take_count(std::size_t least) {
    const auto count = take<std::uint32_t>();
    if (count > rest_.size() / least) throw Error("the record ends too early");
    return count;
  }
  void finish() const {
    if (!rest_.empty()) throw Error("the record has " + std::to_string(rest_.size()) + " bytes too many");
  }

 private:
  std::string_view take_bytes(std::size_t size) {
    if (size > rest_.size()) throw Error("the record ends too early");
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view rest_;
};

/// Converts a response to bytes and back without loss: kind, write(value, writer), read(reader).
template <class T>
struct Codec;

template <>
struct Codec<Completion> {
  static constexpr Record::Kind kind = Record::Kind::generation;
  static constexpr std::uint8_t thought = 4;  ///< added to the flags where thinking tokens follow
  static constexpr std::uint8_t damaged = 8;
  static constexpr std::uint8_t sampled = 16;  ///< the tokens that were sampled stand at the end
  static void write(const Completion& c, ByteWriter& out) {
    out.add(c.text).add(static_cast<std::uint8_t>(c.finish)).add(c.prompt_tokens).add(c.completion_tokens);
    const int scored = c.logprob ? (c.tokens.empty() ? 1 : 2) : 0;
    out.add(static_cast<std::uint8_t>(scored + (c.thinking_tokens > 0 ? thought : 0) + (c.damaged ? damaged : 0) +
                                      (c.sampled.ids.empty() ? 0 : sampled)));
    if (c.thinking_tokens > 0) out.add(c.thinking_tokens);
    if (c.logprob) out.add(*c.logprob);
    if (scored == 2) {
      out.add_count(c.tokens.size());
      for (const Completion::TokenLogprob& token : c.tokens) out.add(token.text).add(token.logprob);
    }
    if (c.sampled.ids.empty()) return;
    out.add_count(c.sampled.ids.size());
    for (const std::int32_t id : c.sampled.ids) out.add(id);
    out.add_count(c.sampled.logprobs.size());
    for (const double each : c.sampled.logprobs) out.add(each);
  }
  static Completion read(ByteReader& in) {
    Completion c(in.take_string());
    const auto finish = in.take<std::uint8_t>();
    if (finish >= std::size(Completion::finishes)) throw Error("unknown finish reason " + std::to_string(finish));
    c.finish = static_cast<Completion::Finish>(finish);
    c.prompt_tokens = in.take<std::uint32_t>();
    c.completion_tokens = in.take<std::uint32_t>();
    const auto flags = in.take<std::uint8_t>();
    const int scored = flags % thought;
    if (flags >= 2 * sampled || scored > 2) throw Error("a flag is " + std::to_string(flags));
    c.damaged = (flags & damaged) != 0;
    if ((flags & thought) && (c.thinking_tokens = in.take<std::uint32_t>()) == 0)
      throw Error("a thought has no tokens");
    if (scored) c.logprob = in.take<double>();
    std::size_t count = scored < 2 ? 0 : in.take_count(sizeof(std::uint32_t) + sizeof(double));
    if (scored == 2 && count == 0) throw Error("a list of tokens is empty");
    for (std::size_t i = 0; i < count; ++i) {
      std::string text = in.take_string();
      c.tokens.push_back({std::move(text), in.take<double>()});
    }
    if ((flags & sampled) == 0) return c;
    c.sampled.ids.resize(in.take_count(sizeof(std::int32_t)));
    for (std::int32_t& id : c.sampled.ids) id = in.take<std::int32_t>();
    c.sampled.logprobs.resize(in.take_count(sizeof(double)));
    for (double& each : c.sampled.logprobs) each = in.take<double>();
    if (c.sampled.ids.empty() || !c.sampled.possible()) throw Error("its tokens cannot be");
    return c;
  }
};

/// Passages are stored whole, so that a replay needs no index.
template <>
struct Codec<Passages> {
  static constexpr Record::Kind kind = Record::Kind::retrieval;
  static void write(const Passages& passages, ByteWriter& out) {
    out.add_count(passages.size());
    for (const Passage& p : passages) out.add(p.id()).add(p.title()).add(p.text()).add(p.score());
  }
  static Passages read(ByteReader& in) {
    const std::size_t count = in.take_count(3 * sizeof(std::uint32_t) + sizeof(double));
    Passages passages;
    passages.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::string id = in.take_string(), title = in.take_string(), text = in.take_string();
      passages.emplace_back(std::move(id), std::move(title), std::move(text), in.take<double>());
    }
    return passages;
  }
};

template <>
struct Codec<Embedding> {
  static constexpr Record::Kind kind = Record::Kind::embedding;
  static void write(const Embedding& embedding, ByteWriter& out) {
    out.add_count(embedding.size());
    for (float x : embedding) out.add(x);
  }
  static Embedding read(ByteReader& in) {
    Embedding embedding(in.take_count(sizeof(float)));
    for (float& x : embedding) x = in.take<float>();
    return embedding;
  }
};

inline constexpr std::uint8_t codec_version = 1;

/// A response as bytes: codec version, kind, fields.
template <class T>
std::string encode(const T& value) {
  ByteWriter out;
  out.add(codec_version).add(static_cast<std::uint8_t>(Codec<T>::kind));
  Codec<T>::write(value, out);
  return std::move(out).bytes();
}

/// The response from its bytes. Throws Error that describes the damage. What is accepted encodes to the same bytes.
template <class T>
T decode(std::string_view bytes) {
  ByteReader in(bytes);
  const auto version = in.take<std::uint8_t>();
  if (version != codec_version)
    throw Error("the record has version " + std::to_string(version) + ", this build reads " +
                std::to_string(codec_version));
  const auto kind = in.take<std::uint8_t>();
  if (kind != static_cast<std::uint8_t>(Codec<T>::kind)) throw Error("the record is of kind " + std::to_string(kind));
  T value = Codec<T>::read(in);
  in.finish();
  return value;
}

}  // namespace espalier::backend::detail
