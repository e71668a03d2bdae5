#pragma once

#include <espalier/llm/protocol.hpp>
#include <espalier/rag/render.hpp>
#include <espalier/rag/transcript.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace espalier::rag {

/// A model's reply after parsing: its thought and the one thing that it decided.
struct Reply {
  std::string tag;               ///< role of the tag found, such as "answer", empty for a bare text
  std::string content;           ///< text inside the tag, never empty
  std::string thought;           ///< text before the tag, without the thought tags
  std::vector<double> scores{};  ///< the numbers of the role "score"
  bool to_end = false;           ///< no mark ends the content, but the end of the reply
};

namespace detail {

inline std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// --- Readers of what a judge decides. Each takes the text of one role, and gives nothing for any other form ----------

/// Reads a judge's numbers: exactly form.count numbers in [form.low, form.high], separated by commas, and nothing else.
/// So "85/100", "about 7" and "nan" are not scores. No number is clamped, and nothing becomes 0.
inline std::optional<std::vector<double>> read_scores(std::string_view text, const Protocol::ScoreForm& form) {
  std::vector<double> numbers;
  for (;;) {
    text = trim(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !(number >= form.low && number <= form.high)) return std::nullopt;
    numbers.push_back(number);
    text = trim(text.substr(static_cast<std::size_t>(end - text.data())));
    if (text.empty()) break;
    if (text[0] != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  if (numbers.size() != form.count) return std::nullopt;
  return numbers;
}

/// The leading letters in lower case, after blanks, line ends and opening brackets.
inline std::string first_word(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  while (!text.empty() && (text.front() == ' ' || text.front() == '(' || text.front() == '\n')) text.remove_prefix(1);
  std::string word(text.begin(), std::find_if_not(text.begin(), text.end(), letter));
  for (char& c : word)
    if (c < 'a') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

/// Reads a reply in the role "verdict". Its first word must be yes or no.
inline std::optional<bool> read_verdict(std::string_view text) {
  const std::string word = first_word(text);
  if (word == "yes") return true;
  if (word == "no") return false;
  return std::nullopt;
}

/// Reads a reply in the role "choice". Its first word must be one letter, which is returned as a capital.
inline std::optional<char> read_choice(std::string_view text) {
  const std::string word = first_word(text);
  if (word.size() != 1) return std::nullopt;
  return static_cast<char>(word.front() - 'a' + 'A');
}

/// A reply in the role "preference": candidate `better` over `worse`, counted from 1. 0 over 0 = none.
struct Preference {
  std::size_t better = 0;
  std::size_t worse = 0;
};

/// Reads "2 over 1" or "none". Anything else gives nothing.
inline std::optional<Preference> read_preference(std::string_view text) {
  constexpr std::string_view over = "over";
  const auto number = [&](std::size_t& n) {
    text = trim(text);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || n == 0) return false;
    text = trim(text.substr(static_cast<std::size_t>(end - text.data())));
    return true;
  };
  Preference read;
  if (first_word(text) == "none" && trim(text).size() == 4) return read;
  if (!number(read.better) || !text.starts_with(over)) return std::nullopt;
  text.remove_prefix(over.size());
  if (!number(read.worse) || !text.empty() || read.better == read.worse) return std::nullopt;
  return read;
}

inline void erase_all(std::string& text, std::string_view mark) {
  for (std::size_t at = 0; !mark.empty() && (at = text.find(mark, at)) != text.npos;) text.erase(at, mark.size());
}

/// Finds the first complete piece between a tag's marks. Returns the positions of the closing mark and of the nearest
/// opening mark before it, or npos twice. Brackets are balanced. A line may also end with the text.
inline std::pair<std::size_t, std::size_t> marked(std::string_view text, const Protocol::Tag& tag) {
  constexpr auto none = std::string_view::npos;
  constexpr std::string_view opening = "([{", closing = ")]}";
  const std::size_t open = text.find(tag.open);
  if (open == none) return {none, none};
  const std::size_t from = open + tag.open.size();
  const std::size_t bracket = opening.find(tag.open.back());
  if (bracket != none && tag.close == closing.substr(bracket, 1)) {
    std::size_t depth = 1;
    for (std::size_t i = from; i < text.size(); ++i) {
      if (text[i] == opening[bracket]) ++depth;
      if (text[i] == closing[bracket] && --depth == 0) return {open, i};
    }
    return {none, none};
  }
  if (tag.close.empty()) return {text.rfind(tag.open), text.size()};
  const auto close = tag.close == "\n" ? std::min(text.find('\n', from), text.size()) : text.find(tag.close, from);
  return close == none ? std::pair(none, none) : std::pair(text.rfind(tag.open, close - tag.open.size()), close);
}

/// Moves the `<think>` blocks at the beginning of a reply into `thought`. The first one needs no opening mark, which a
/// template may write. False if the last one is never closed. Then its text up to its last opening mark is moved.
inline bool take_thoughts(std::string_view& rest, std::string& thought) {
  constexpr std::string_view open = "<think>", close = "</think>";
  std::size_t begin = rest.find(open) > rest.find(close) ? 0 : open.size();
  while (begin == 0 || rest.starts_with(open)) {
    const bool closed = rest.find(close) != std::string_view::npos;
    const std::size_t end = closed ? rest.find(close) : rest.rfind(open);
    const std::string_view words = end > begin ? trim(rest.substr(begin, end - begin)) : std::string_view();
    if (!thought.empty() && !words.empty()) thought += '\n';
    thought += words;
    rest = trim(rest.substr(end + (closed ? close : open).size()));
    if (!closed) return false;
    begin = open.size();
  }
  return true;
}

/// True for a reply that has nothing but `<think>` blocks, the last one closed or not.
inline bool only_thinks(std::string_view reply) {
  std::string thought;
  std::string_view rest = trim(reply);
  const std::size_t size = rest.size();
  return !take_thoughts(rest, thought) || (rest.empty() && size > 0);
}

/// True for a tag that a mark in the text closes: neither the end of a line nor that of the text.
inline bool closes_itself(const Protocol::Tag& tag) { return !tag.close.empty() && tag.close != "\n"; }

}  // namespace detail

/// Reads a reply by its purpose.
/// - Of the tags that the purpose returns, the first complete one counts. It begins at the opening mark nearest before
///   its closing mark, so it does not matter if a server stops at closing marks.
/// - A tag without marks takes the whole reply if no other tag is found.
/// - If the purpose returns no tag, the first line that is not empty counts.
/// - `<think>` blocks of a reasoning model at the beginning belong to the thought and are not searched. So does a text
///   that ends with `</think>` and has no opening mark.
/// - Of a `<think>` block that is never closed, what stands behind its last opening mark is read. Only a tag with a
///   closing mark of its own counts there, because the end of a line or of the text may cut a thought.
/// Returns nothing if no tag is found, if it is empty, or if a score, verdict, preference or choice has a wrong form.
inline std::optional<Reply> parse(const ModelText& text, const Protocol& protocol, const Protocol::Purpose& purpose) {
  std::string_view rest = detail::trim(text.str());
  Reply reply;
  const bool thought_out = detail::take_thoughts(rest, reply.thought);
  if (purpose.returns.empty()) {
    if (!thought_out) return std::nullopt;
    const std::string_view line = detail::trim(rest.substr(0, rest.find('\n')));
    if (line.empty() || line.find('<') != std::string_view::npos) return std::nullopt;
    reply.content = detail::restore(line);
    return reply;
  }
  const Protocol::Tag* found = nullptr;
  std::size_t begin = 0, end = std::string_view::npos;
  for (const auto& role : purpose.returns) {
    const Protocol::Tag* tag = protocol.tag(role);
    if (tag == nullptr || tag->open.empty() || (!thought_out && !detail::closes_itself(*tag))) continue;
    const auto [open, close] = detail::marked(rest, *tag);
    if (close >= end) continue;
    found = tag;
    begin = open;
    end = close;
  }
  if (found == nullptr && thought_out) {  // a whole reply is what no mark has claimed
    for (const auto& role : purpose.returns)
      if (const Protocol::Tag* tag = protocol.tag(role); tag && tag->open.empty() && !found) found = tag;
    begin = 0;
    end = rest.size();
  }
  if (found == nullptr) return std::nullopt;
  const auto content = detail::trim(rest.substr(begin + found->open.size(), end - begin - found->open.size()));
  if (content.empty()) return std::nullopt;
  std::string before(detail::trim(rest.substr(0, begin)));
  for (const char* role : {"thought", "reasoning"})
    if (const Protocol::Tag* tag = protocol.tag(role)) {
      detail::erase_all(before, tag->open);
      if (tag->close != "\n") detail::erase_all(before, tag->close);
    }
  if (!reply.thought.empty() && !before.empty()) reply.thought += '\n';
  reply.thought += detail::trim(before);
  reply.thought = detail::restore(reply.thought);
  reply.content = detail::restore(content);
  reply.tag = found->name;
  reply.to_end = end == rest.size();
  if (reply.tag == "score") {
    std::optional<std::vector<double>> numbers = detail::read_scores(reply.content, purpose.scores);
    if (!numbers) return std::nullopt;
    reply.scores = std::move(*numbers);
  }
  if (reply.tag == "verdict" && !detail::read_verdict(reply.content)) return std::nullopt;
  if (reply.tag == "preference" && !detail::read_preference(reply.content)) return std::nullopt;
  if (reply.tag == "choice" && !detail::read_choice(reply.content)) return std::nullopt;
  return reply;
}

}  // namespace espalier::rag
