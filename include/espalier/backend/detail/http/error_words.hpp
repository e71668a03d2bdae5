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

/// True if the value of a status, or the name of an event, is that of a failure: "failed", "CANCELLED", "timeout" ...
inline bool says_failed(std::string_view status) {
  return has_any(status, {"error", "exception", "fail", "abort", "cancel", "incomplete", "reject", "timeout",
                          "timed out", "expired", "interrupt"}) &&
         !has_any(status, {"no error", "noerror", "no fail", "not fail"});
}

/// True if an error's code, or else its words, are those of a prompt that is too long, not of a server that is busy.
inline bool says_too_long(std::string_view code, std::string_view said) {
  if (has_any(code, {"context length exceeded", "tokens limit reached", "exceed context size"})) return true;
  const bool busy =
      has_any(said, {"rate limit", "token rate", " per sec", " per min", " per hour", " per day", "quota", "bucket",
                     "queue", "wait", "took", "timeout", "timed out", "out of memory", "overload", "in flight"}) ||
      has_any(said, {"concurren", "input should be", "list should have", "array too long", "stop s", "].name'"});
  const bool other =  // what is measured is not the prompt
      has_any(said,
              {"image is too", "input image", "input audio", "input video", "pixel", "logprobs", "connection exceed",
               "input stream", "deadline", "expired", "session too", "grammar", "regex", "credits"}) ||
      (has_any(said, {"max tokens is too", "max tokens' is too", "max tokens` is too", "completion tokens is too",
                      "completion tokens' is too", "completion tokens` is too"}) &&
       !has_any(said, {"+", "plus", "sum of"}));
  const bool prompt = has_any(said, {"prompt", "input"}) && has_any(said, {"token", "length", "character", "too long"});
  return !busy && ((prompt && !other &&
                    has_any(said, {"too long", "too many", "too large", "too big", "longer than", "larger than",
                                   "greater than", "exceed", "limit is", "limit of", "supports up to", "must have less",
                                   "prompt length", "input length"})) ||
                   has_any(said, {"context length", "context size", "context window", "contextwindow", "context limit",
                                  "context shift", "max model len", "model length", "max seq len", "sequence length",
                                  "kv size", "model token limit", "expected maxlength", "too large to process",
                                  "string above max length", "`inputs` tokens", "inputs tokens +"}) ||
                   has_any(said, {"max message tokens", "max input characters", "token total exceed",
                                  "reduce the length of the", "超长"}));
}

}  // namespace espalier::backend::detail
