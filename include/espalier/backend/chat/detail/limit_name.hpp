#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// True for a refusal because the token limit is called `max_tokens`. It names the newer name as the one to use, or
/// says that it does not know or take the old one. A refusal of the limit's value names the field too, and is none.
inline bool refuses_limit_name(std::string_view refusal) {
  std::string said;
  for (const char c : refusal) said += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto says = [&](std::string_view words) { return said.find(words) != std::string::npos; };
  if (says("too large") || says("too small")) return false;
  if (says("max_completion_tokens")) return true;
  const auto refuses = {"unsupported",   "not support", "unrecogni",  "not recogni", "unknown",
                        "not permitted", "not allowed", "unexpected", "deprecated"};
  return says("max_tokens") && std::any_of(refuses.begin(), refuses.end(), says);
}

}  // namespace espalier::backend::detail
