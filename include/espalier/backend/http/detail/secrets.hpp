#pragma once

#include <espalier/core/json_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::backend::detail {

/// Texts that no message may show: keys, passwords and the queries of addresses. It cleans only texts for messages and
/// logs, never a reply.
class Secrets {
 public:
  /// "" is ignored. A server may quote a secret as it is or inside a JSON string.
  void add(const std::string& secret) {
    if (secret.empty()) return;
    std::string quoted;
    JsonWriter(quoted).value(secret);
    secrets_.push_back(quoted.substr(1, quoted.size() - 2));
    secrets_.push_back(secret);
    std::sort(secrets_.begin(), secrets_.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  }
  /// The text with "[key]" in place of every secret. The longest secret that matches is replaced. Inserted text is not
  /// searched again.
  [[nodiscard]] std::string clean(std::string_view text) const {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const auto found = std::find_if(secrets_.begin(), secrets_.end(),
                                      [&](const std::string& secret) { return text.substr(at).starts_with(secret); });
      if (found == secrets_.end()) out += text[at++];
      else out += "[key]", at += found->size();
    }
    return out;
  }

 private:
  std::vector<std::string> secrets_;  ///< longest first
};

}  // namespace espalier::backend::detail
