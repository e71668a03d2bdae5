#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/passage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::backend {

/// What a family of encoders was trained with. Prefixes, length and cut are the client's to do; the pooling is the server's,
/// and stands here so that it is part of the fingerprint and can be told to whoever starts one.
struct EncoderProfile {
  enum class Pooling : std::uint8_t { unknown, mean, cls, last };
  std::string name = "none";
  std::string query_prefix = {};    ///< put before queries
  std::string passage_prefix = {};  ///< put before passages
  Pooling pooling = Pooling::unknown;
  bool normalise = false;      ///< scale embeddings to length 1
  std::size_t max_tokens = 0;  ///< what the model reads of a text, special tokens included; 0 = not known
};

/// All profiles by name; the cards of the models say the same.
inline const std::array<EncoderProfile, 6>& encoder_profiles() {
  using Pooling = EncoderProfile::Pooling;
  static const std::array<EncoderProfile, 6> all = {{
      {},
      {"e5", "query: ", "passage: ", Pooling::mean, true, 512},
      {"e5-instruct", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ", "", Pooling::mean, true, 512},
      {"bge", "Represent this sentence for searching relevant passages: ", "", Pooling::cls, true, 512},
      {"gte", "", "", Pooling::mean, true, 512},
      {"minilm", "", "", Pooling::mean, true, 256},
  }};
  return all;
}

/// Throws std::invalid_argument for an unknown name.
inline const EncoderProfile& encoder_profile(std::string_view name) {
  std::string known;
  for (const EncoderProfile& profile : encoder_profiles()) {
    if (profile.name == name) return profile;
    known.append(known.empty() ? "" : ", ").append(profile.name);
  }
  bad_option("profile", std::string(name), known);
}

/// The text as the model is to see it.
inline std::string prefixed(const EncodeRequest& request, const EncoderProfile& profile) {
  return (request.role == EncodeRequest::Role::query ? profile.query_prefix : profile.passage_prefix) + request.text;
}

}  // namespace espalier::backend
