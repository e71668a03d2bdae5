#pragma once

#include <espalier/core/protocol.hpp>
#include <espalier/rag/neutral.hpp>
#include <espalier/rag/read_scores.hpp>
#include <espalier/rag/read_verdict.hpp>
#include <espalier/rag/transcript.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::rag {

/// A model's reply, read: what it thought and the one thing it decided on.
struct Reply {
  std::string tag;      ///< the role of the tag found, such as "answer"; empty for a bare text
  std::string content;  ///< what stands in it, never empty
  std::string thought;  ///< what stands before it, without the thought tags
};

namespace detail {

inline std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

inline void erase_all(std::string& text, std::string_view mark) {
  for (std::size_t at = 0; !mark.empty() && (at = text.find(mark, at)) != std::string::npos;) text.erase(at, mark.size());
}

/// The first complete piece between a tag's marks: where the opening mark nearest before the closing one begins, and where
/// the closing one does; npos if there is none. Brackets are balanced, a line ends with the text too.
inline std::pair<std::size_t, std::size_t> marked(std::string_view text, const Tag& tag) {
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
  const std::size_t close = tag.close == "\n" ? std::min(text.find('\n', from), text.size()) : text.find(tag.close, from);
  return close == none ? std::pair(none, none) : std::pair(text.rfind(tag.open, close - tag.open.size()), close);
}

}  // namespace detail

/// Reads a reply by its purpose: the first tag to be complete of those that the purpose returns, from the mark nearest
/// before its closing one, so that a server which stops at closing marks changes nothing; or, if the purpose returns none,
/// the first line that is not empty; a tag without marks claims the whole reply if no other does. Nothing if there is no such tag or nothing in it, or if
/// scores are not in their form. A reasoning model's own `<think>`
/// blocks in front are part of the thought and never searched.
inline std::optional<Reply> parse(const ModelText& text, const Protocol& protocol, const Purpose& purpose) {
  std::string_view rest = detail::trim(text.str());
  Reply reply;
  constexpr std::string_view open_think = "<think>", close_think = "</think>";
  while (rest.starts_with(open_think)) {
    const auto end = rest.find(close_think);
    if (end == std::string_view::npos) return std::nullopt;
    if (!reply.thought.empty()) reply.thought += '\n';
    reply.thought += detail::trim(rest.substr(open_think.size(), end - open_think.size()));
    rest = detail::trim(rest.substr(end + close_think.size()));
  }
  if (purpose.returns.empty()) {
    const std::string_view line = detail::trim(rest.substr(0, rest.find('\n')));
    if (line.empty() || line.find('<') != std::string_view::npos) return std::nullopt;
    reply.content = restore(line);
    return reply;
  }
  const Tag* found = nullptr;
  std::size_t begin = 0, end = std::string_view::npos;
  for (const auto& role : purpose.returns) {
    const Tag* tag = protocol.tag(role);
    if (tag == nullptr || tag->open.empty()) continue;
    const auto [open, close] = detail::marked(rest, *tag);
    if (close >= end) continue;
    found = tag;
    begin = open;
    end = close;
  }
  if (found == nullptr) {  // a whole reply is what no mark has claimed
    for (const auto& role : purpose.returns)
      if (const Tag* tag = protocol.tag(role); tag && tag->open.empty() && !found) found = tag;
    begin = 0;
    end = rest.size();
  }
  if (found == nullptr) return std::nullopt;
  const std::string_view content = detail::trim(rest.substr(begin + found->open.size(), end - begin - found->open.size()));
  if (content.empty()) return std::nullopt;
  std::string before(detail::trim(rest.substr(0, begin)));
  for (const char* role : {"thought", "reasoning"})
    if (const Tag* tag = protocol.tag(role)) {
      detail::erase_all(before, tag->open);
      if (tag->close != "\n") detail::erase_all(before, tag->close);
    }
  if (!reply.thought.empty() && !before.empty()) reply.thought += '\n';
  reply.thought += detail::trim(before);
  reply.thought = restore(reply.thought);
  reply.content = restore(content);
  reply.tag = found->name;
  if (reply.tag == "score" && !read_scores(reply.content, purpose.scores)) return std::nullopt;
  if (reply.tag == "verdict" && !read_verdict(reply.content)) return std::nullopt;
  if (reply.tag == "preference" && !read_preference(reply.content)) return std::nullopt;
  if (reply.tag == "choice" && !read_choice(reply.content)) return std::nullopt;
  return reply;
}

}  // namespace espalier::rag
