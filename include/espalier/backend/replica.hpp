#pragma once

#include <espalier/core/error.hpp>

#include <charconv>
#include <string>
#include <system_error>
#include <utility>

namespace espalier::backend {

/// One of several servers with the same model.
struct Replica {
  std::string url;    ///< what stands before /chat/completions
  double weight = 1;  ///< its share of the questions beside the others' weights, > 0
};

/// Reads "URL" or "URL*WEIGHT". Throws std::invalid_argument for a weight that is no number above 0.
inline Replica read_replica(std::string text) {
  const std::size_t star = text.rfind('*');
  if (star == std::string::npos) return {std::move(text)};
  double weight = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + star + 1, last, weight);
  if (error != std::errc() || end != last || !(weight > 0 && weight < 1e6))
    bad_option("endpoint", text.substr(star), "URL or URL*WEIGHT, a weight above 0 and below 1e6");
  text.resize(star);
  return {std::move(text), weight};
}

}  // namespace espalier::backend
