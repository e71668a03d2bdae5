#pragma once

#include <espalier/core/nfkc.hpp>
#include <espalier/core/unicode.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Turns a text into the terms of a lexical index, in order, repetitions included. The name stands for what it does in
/// fingerprints, so two that differ need two names. Indexing may call it from several threads at once.
class Analyzer {
 public:
  using Function = std::function<std::vector<std::string>(std::string_view)>;
  Analyzer(std::string name, Function terms) : name_(std::move(name)), terms_(std::move(terms)) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::vector<std::string> operator()(std::string_view text) const { return terms_(text); }

 private:
  std::string name_;
  Function terms_;
};

/// `simple`: NFKC, case-folded, every longest run of letters and digits ([^\W_]+ of a Python regular expression).
inline Analyzer simple_analyzer() {
  return {"simple", [](std::string_view text) {
            const std::string folded = casefold(nfkc(text));
            std::vector<std::string> terms;
            for (std::size_t i = 0; i < folded.size();) {
              const std::size_t begin = i;
              std::size_t end = i;
              while (i < folded.size() && is_alnum(decode_utf8(folded, i))) end = i;
              if (end > begin) terms.emplace_back(folded, begin, end - begin);
            }
            return terms;
          }};
}

}  // namespace espalier::backend
