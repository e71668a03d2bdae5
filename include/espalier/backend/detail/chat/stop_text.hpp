#pragma once

#include <espalier/llm/prompt.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// The stop string that a server removed from the end of `text`, or "". Servers differ in whether they keep it. Our
/// completions include it (see Completion). For a completion that ended by a stop:
/// 1. If the text holds a stop string, the server kept it, and nothing is missing.
/// 2. If the server reported a string (vLLM's stop_reason, SGLang's matched_stop), that string is missing.
/// 3. Else the stop that closes the innermost open tag of the text: `</x>` closes `<x>`, and a tag of the method's
///    protocol closes its own mark.
/// 4. Else the only stop, if it closes no tag or a tag that the prompt left open.
/// 5. Else nothing: the model ended by itself.
inline std::string_view missing_stop(std::string_view text, const PromptBody& body,
                                     std::optional<std::string_view> reported) {
  constexpr std::size_t none = std::string_view::npos;
  const auto& stops = body.sampling.stop;
  for (const auto& stop : stops)
    if (text.find(stop) != none) return {};
  if (reported && !reported->empty()) return *reported;
  const auto mark_of = [&](const std::string& stop) -> std::string {
    if (body.protocol)
      for (const auto& tag : body.protocol->tags)
        if (tag.close == stop) return tag.open;
    return stop.starts_with("</") ? "<" + stop.substr(2) : "";
  };
  std::string_view innermost;
  std::size_t opened = none;
  for (const auto& stop : stops) {
    const std::string mark = mark_of(stop);
    const std::size_t at = mark.empty() ? none : text.rfind(mark);
    if (at != none && (opened == none || at > opened)) {
      innermost = stop;
      opened = at;
    }
  }
  if (opened != none) return innermost;
  if (stops.size() != 1) return {};
  const std::string mark = mark_of(stops[0]);
  const std::string& prompt = body.messages.back().content;
  const std::size_t at = mark.empty() ? none : prompt.rfind(mark);
  const bool open = at != none && prompt.find(stops[0], at) == none;
  return mark.empty() || open ? std::string_view(stops[0]) : std::string_view();
}

}  // namespace espalier::backend::detail
