#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/rag/question.hpp>
#include <espalier/sim/detail/words.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::sim::detail {

/// One fact of the examples: a question without placeholders, its answer, and where it can be read.
struct Fact {
  std::string wording;                     ///< of the question
  std::vector<Word> question;              ///< its content words
  std::vector<std::string> answers;        ///< the first is the main one
  std::vector<std::vector<Word>> written;  ///< the answers as words
  std::vector<std::vector<Word>> titles;   ///< all of these passages are needed
  std::vector<Word> subject;               ///< the name that the question is about, may be empty
  std::uint64_t identity = 0;              ///< hash of question and answer
  std::uint64_t relation = 0;              ///< relation_key of the question
  bool verdict = false;                    ///< yes or no, concluded and not written in a passage

  [[nodiscard]] bool answered_by(std::string_view text) const {
    return std::find(written.begin(), written.end(), words(text)) != written.end();
  }
};

/// One step of a chain: its wording with placeholders, the steps that these refer to, and its fact.
struct Step {
  std::string wording;
  std::vector<std::size_t> needs;
  std::size_t fact = 0;
};

/// A question and the way to its answer.
struct Chain {
  std::string question;
  std::vector<Word> content;
  std::vector<Step> steps;
  std::vector<std::string> gold;
  std::vector<std::string> options;  ///< of a comparison: yes and no, or the things compared. Empty = open
  bool last_step_answers = true;     ///< if false, the answer follows from all steps
  std::uint64_t relation = 0;
};

/// Calls text(run) for plain text and reference(k - 1) for placeholders "#k" of a wording, 1 <= k <= earlier.
void each_part(std::string_view wording, std::size_t earlier, const auto& text, const auto& reference) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < wording.size(); ++i) {
    if (wording[i] != '#') continue;
    std::size_t k = 0, end = i + 1;
    for (; end < wording.size() && end < i + 4 && wording[end] >= '0' && wording[end] <= '9'; ++end)
      k = k * 10 + static_cast<std::size_t>(wording[end] - '0');
    if (k < 1 || k > earlier) continue;
    text(wording.substr(begin, i - begin));
    reference(k - 1);
    begin = end;
    i = end - 1;
  }
  text(wording.substr(begin));
}

/// The wording with value(k) in place of every placeholder.
std::string substitute(std::string_view wording, std::size_t earlier, const auto& value) {
  std::string filled;
  each_part(wording, earlier, [&](std::string_view run) { filled += run; }, [&](std::size_t k) { filled += value(k); });
  return filled;
}

/// The longest run of capitalised words that is not the start of a sentence, including small words inside it.
inline std::vector<Word> name_in(std::string_view question) {
  std::vector<Word> best, run;
  std::size_t named = 0;  // words of `run` up to its last capitalised one
  bool first = true;
  each_word(question, [&](Word w, std::string_view raw) {
    const bool name = is_name(raw) && !(std::exchange(first, false) && (is_function_word(w) || asks(w)));
    if (name || (named > 0 && is_function_word(w))) {
      run.push_back(w);
      if (name) named = run.size();
    } else {
      run.clear();
      named = 0;
    }
    if (named > best.size()) best.assign(run.begin(), run.begin() + static_cast<std::ptrdiff_t>(named));
  });
  return best;
}

/// In a triple form, a subject that the question does not name refers to an earlier answer with the same or mostly the
/// same words. Returns the wording with a placeholder for that answer, or unchanged if there is none.
inline std::string linked(const std::string& wording, std::span<const Word> question,
                          std::span<const rag::ChainStep> earlier) {
  const std::size_t mark = wording.find(" >> ");
  const auto subject = words(std::string_view(wording).substr(0, mark));
  if (mark == std::string::npos || wording.find('#') < mark || contains(question, subject)) return wording;
  std::string link = wording.substr(0, mark);
  std::size_t most = 0;
  for (std::size_t k = 0; k < earlier.size(); ++k) {
    const auto answer = words(earlier[k].answer);
    const auto shared = static_cast<std::size_t>(
        std::count_if(answer.begin(), answer.end(), [&](const Word& w) { return contains(subject, {&w, 1}); }));
    const std::size_t score = answer == subject ? SIZE_MAX : shared * 2 >= answer.size() ? shared : 0;
    if (score <= most) continue;
    most = score;
    link = '#' + std::to_string(k + 1);
  }
  return link + wording.substr(mark);
}

}  // namespace espalier::sim::detail
