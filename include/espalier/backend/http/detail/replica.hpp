#pragma once

#include <espalier/core/error.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

namespace espalier::backend::detail {

/// One of several servers with the same model.
struct Replica {
  std::string url;    ///< the part before /chat/completions
  double weight = 1;  ///< share of the questions, relative to the other weights, > 0
};

/// An address for results and messages: without user, password, query and fragment.
inline std::string shown_address(std::string url) {
  url.resize(std::min(url.find_first_of("?#"), url.size()));
  const std::size_t host = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  const std::size_t at = url.rfind('@', url.find('/', host));
  return at == std::string::npos || at < host ? url : url.erase(host, at + 1 - host);
}

/// Reads "URL" or "URL*WEIGHT". Throws std::invalid_argument for a weight that is not a number above 0.
inline Replica read_replica(std::string text) {
  const std::size_t star = text.rfind('*');
  if (star == std::string::npos) return {std::move(text)};
  double weight = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + star + 1, last, weight);
  if (error != std::errc() || end != last || !(weight > 0 && weight < 1e6))
    bad_option("endpoint", "..." + text.substr(star), "URL or URL*WEIGHT, a weight above 0 and below 1e6");
  text.resize(star);
  return {std::move(text), weight};
}

}  // namespace espalier::backend::detail
