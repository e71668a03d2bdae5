#pragma once

#include <espalier/rag/text.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// The queries of one search. A text in square brackets is a list: its items stand between commas, with or without
/// quotes, and equal ones are one query. Any other text is one query.
inline std::vector<std::string> query_list(std::string_view text) {
  std::string_view rest = rag::detail::strip(text);
  if (rest.size() < 2 || rest.front() != '[' || rest.back() != ']') return {std::string(text)};
  rest = rest.substr(1, rest.size() - 2);
  std::vector<std::string> queries;
  while (!rest.empty()) {
    rest = rag::detail::strip(rest);
    const char quote = rest.empty() ? ' ' : rest.front();
    std::size_t begin = 0, end = rest.find(',');
    if (quote == '"' || quote == '\'')
      if (const std::size_t closed = rest.find(quote, 1); closed != rest.npos) {
        begin = 1;
        end = closed;
      }
    std::string query(rag::detail::strip(rest.substr(begin, end == rest.npos ? end : end - begin)));
    const std::size_t comma = end == rest.npos ? end : rest.find(',', end);
    rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
    if (!query.empty() && std::find(queries.begin(), queries.end(), query) == queries.end())
      queries.push_back(std::move(query));
  }
  if (queries.empty()) queries.emplace_back(text);
  return queries;
}

}  // namespace espalier::method::detail
