#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace espalier::backend::detail {

/// True if a text has one of these words, which are in lower case, in any case and with `_` for a space.
inline bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a | 0x20 : a == '_' ? ' ' : a) == (b == '_' ? ' ' : b);
  };
  return std::ranges::any_of(words, [&](auto word) { return !std::ranges::search(text, word, same).empty(); });
}

/// True if an error's words are those of a prompt that is too long for the model, not of a server that is busy.
inline bool says_too_long(std::string_view said) {
  const bool busy =
      has_any(said, {"rate limit", " per sec", " per min", " per hour", " per day", "quota", "bucket", "queue", "wait",
                     "took", "timeout", "timed out", "out of memory", "input should be", "stop sequence"});
  const bool prompt = has_any(said, {"prompt", "input"}) && has_any(said, {"token", "length", "character", "too long"});
  return !busy && ((prompt && has_any(said, {"too long", "too many", "too large", "too big", "longer than",
                                             "larger than", "greater than", "exceed", "limit is", "limit of",
                                             "supports up to", "must have less"})) ||
                   has_any(said, {"context length", "context size", "context window", "contextwindow", "context limit",
                                  "context shift", "max model len", "model length", "max seq len", "sequence length",
                                  "prompt length", "input length", "kv size", "model token limit", "expected maxlength",
                                  "too large to process", "above max length", "`inputs` tokens", "inputs tokens +"}));
}

}  // namespace espalier::backend::detail
