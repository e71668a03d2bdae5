#pragma once

#include <espalier/rag/text.hpp>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// A line without the number or bullet that begins it: "1. Where?" and "- Where?" are "Where?".
inline std::string_view without_number(std::string_view line) {
  line = rag::detail::strip(line);
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  const bool numbered = digits > 0 && digits + 1 < line.size() && (line[digits] == '.' || line[digits] == ')');
  const bool bullet = digits == 0 && line.size() > 1 && (line[0] == '-' || line[0] == '*');
  const std::size_t mark = numbered ? digits + 1 : bullet ? 1 : 0;
  return mark > 0 && line[mark] == ' ' ? rag::detail::strip(line.substr(mark)) : line;
}

/// The lines of a list of queries, without those in `answered`, which holds normal forms. Equal lines are one query.
/// Empty if the text says "None".
inline std::vector<std::string> fresh_queries(const std::string& text, std::set<std::string> answered) {
  std::vector<std::string> queries;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::string_view query = without_number(line);
    std::string form = rag::normalise(query);
    if (!query.empty() && form != "none" && answered.insert(std::move(form)).second) queries.emplace_back(query);
  }
  return queries;
}

}  // namespace espalier::method::detail
