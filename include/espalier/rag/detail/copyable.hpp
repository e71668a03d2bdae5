#pragma once

#include <espalier/rag/parse.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::rag::detail {

/// The texts between the marks of a returned tag that stand complete in a prompt's text, and that would be read as a
/// reply: a small model may copy them in place of an answer. A mark that claims the rest of the text claims it up to
/// the next heading ("### ..."). Texts with a slot are left out, because a value takes its place.
inline std::vector<std::string> copyable(std::string_view prompt, const Protocol& protocol,
                                         const Protocol::Purpose& purpose) {
  std::vector<std::string> found;
  for (const std::string& role : purpose.returns) {
    const Protocol::Tag& tag = *protocol.tag(role);
    if (tag.open.empty()) continue;
    for (std::size_t at = prompt.find(tag.open); at != prompt.npos; at = prompt.find(tag.open, at + tag.open.size())) {
      std::string_view rest = prompt.substr(at);
      if (tag.close.empty()) rest = rest.substr(0, rest.find("\n### "));
      const auto [open, close] = marked(rest, tag);
      if (open != 0) continue;  // none, or a later opening mark is nearer to the closing one
      const std::string piece(rest.substr(0, close + tag.close.size()));
      const auto shows = [&](const std::string& slot) { return piece.find('{' + slot + '}') != piece.npos; };
      if (std::any_of(purpose.slots.begin(), purpose.slots.end(), shows)) continue;
      if (std::optional<Reply> reply = parse(ModelText(piece), protocol, purpose))
        found.push_back(std::move(reply->content));
    }
  }
  return found;
}

}  // namespace espalier::rag::detail
