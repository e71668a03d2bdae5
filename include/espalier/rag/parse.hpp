#pragma once

#include <espalier/core/protocol.hpp>
#include <espalier/rag/neutral.hpp>
#include <espalier/rag/transcript.hpp>

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace detail

/// Reads a reply by its purpose: the first tag to be complete of those that the purpose returns, from the mark nearest
/// before its closing one, so that a server which stops at closing marks changes nothing; or, if the purpose returns none,
/// the first line that is not empty. Nothing if there is no such tag or nothing in it. A reasoning model's own <think>
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
    const auto open = tag ? rest.find(tag->open) : std::string_view::npos;
    const auto close = open < rest.size() ? rest.find(tag->close, open + tag->open.size()) : std::string_view::npos;
    if (close >= end) continue;
    found = tag;
    begin = rest.rfind(tag->open, close - tag->open.size());
    end = close;
  }
  if (found == nullptr) return std::nullopt;
  const std::string_view content = detail::trim(rest.substr(begin + found->open.size(), end - begin - found->open.size()));
  if (content.empty()) return std::nullopt;
  std::string before(detail::trim(rest.substr(0, begin)));
  for (const char* role : {"thought", "reasoning"})
    if (const Tag* tag = protocol.tag(role)) {
      detail::erase_all(before, tag->open);
      detail::erase_all(before, tag->close);
    }
  if (!reply.thought.empty() && !before.empty()) reply.thought += '\n';
  reply.thought += detail::trim(before);
  reply.thought = restore(reply.thought);
  reply.content = restore(content);
  reply.tag = found->name;
  return reply;
}

}  // namespace espalier::rag
