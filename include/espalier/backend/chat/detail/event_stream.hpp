#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// Calls `take` with the data of every event of a text/event-stream (WHATWG HTML, 9.2). Lines end in CR, LF or both. An
/// event ends with an empty line, and its data lines are joined by line ends. Comments and other fields are skipped. An
/// event that is cut off is ignored.
template <class Take>
void for_each_event(std::string_view text, Take take) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string data;
  bool any = false;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n");
    if (end == std::string_view::npos) return;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
    if (line.empty()) {
      if (any) take(std::string_view(data));
      data.clear();
      any = false;
    } else if (line.substr(0, line.find(':')) == "data") {
      std::string_view value = line.substr(line.find(':') == std::string_view::npos ? 4 : 5);
      if (value.starts_with(' ')) value.remove_prefix(1);
      if (any) data += '\n';
      data += value;
      any = true;
    }
  }
}

}  // namespace espalier::backend::detail
