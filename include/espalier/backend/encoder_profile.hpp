#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/passage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::backend {

/// How a family of encoders was trained. The client adds prefixes, normalises and cuts. The server does the pooling. It
/// is listed here because it belongs to the fingerprint and to the instructions for starting a server.
struct EncoderProfile {
  enum class Pooling : std::uint8_t { unknown, mean, cls, last };
  std::string name = "none";
  std::string query_prefix = {};    ///< put before queries
  std::string passage_prefix = {};  ///< put before passages
  Pooling pooling = Pooling::unknown;
  bool normalise = false;      ///< scale embeddings to length 1
  std::size_t max_tokens = 0;  ///< tokens that the model reads of a text, special tokens included, 0 = unknown

  /// The profile of this name, as in the model card, or null.
  static const EncoderProfile* find(std::string_view name);
  /// The same. Throws std::invalid_argument for an unknown name.
  static const EncoderProfile& named(std::string_view name) {
    if (const EncoderProfile* found = find(name)) return *found;
    bad_option("profile", std::string(name), "none, e5, e5-instruct, bge, gte, minilm");
  }
};

inline const EncoderProfile* EncoderProfile::find(std::string_view name) {
  static const std::array<EncoderProfile, 6> all = {{
      {},
      {"e5", "query: ", "passage: ", Pooling::mean, true, 512},
      {"e5-instruct", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
       "", Pooling::mean, true, 512},
      {"bge", "Represent this sentence for searching relevant passages: ", "", Pooling::cls, true, 512},
      {"gte", "", "", Pooling::mean, true, 512},
      {"minilm", "", "", Pooling::mean, true, 256},
  }};
  for (const EncoderProfile& profile : all)
    if (profile.name == name) return &profile;
  return nullptr;
}

namespace detail {

/// The text with the prefix for its role.
inline std::string prefixed(const EncodeRequest& request, const EncoderProfile& profile) {
  return (request.role == EncodeRequest::Role::query ? profile.query_prefix : profile.passage_prefix) + request.text;
}

}  // namespace detail

}  // namespace espalier::backend
