#pragma once

#include <espalier/backend/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/passage.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::backend {

/// A corpus field "contents": the title on the first line, its double quotes dropped, then the text. One line alone is
/// a text without a title.
inline std::pair<std::string_view, std::string_view> split_contents(std::string_view contents) {
  const std::size_t end = contents.find('\n');
  if (end == std::string_view::npos) return {{}, contents};
  std::string_view title = contents.substr(0, end);
  if (title.ends_with('\r')) title.remove_suffix(1);
  if (title.size() >= 2 && title.starts_with('"') && title.ends_with('"')) title = title.substr(1, title.size() - 2);
  return {title, contents.substr(end + 1)};
}

/// A passage out of one hit of a retrieval server. Hits in use: a text; a document; {"document": text or document,
/// "score"}. A document has `contents` or `text` or `paragraph_text`, perhaps `title`, `id` and `score`. Without an id
/// it gets the hash of title and text, without a score 0. Throws BackendError (transport) for anything else.
inline Passage read_hit(simdjson::dom::element hit) {
  simdjson::dom::element document = hit;
  if (hit["document"].get(document)) document = hit;
  std::string_view contents, text, title;
  if (document.get(contents) && document["contents"].get(contents) && document["text"].get(text) &&
      document["paragraph_text"].get(text))
    throw BackendError("a hit without a text");
  const bool titled = !document["title"].get(title);
  if (contents.data()) {
    const auto [first, rest] = split_contents(contents);
    if (!titled) title = first;
    text = title == first ? rest : contents;
  }
  std::string id;
  std::string_view name;
  std::int64_t number = 0;
  if (!document["id"].get(name)) id = name;
  else if (!document["id"].get(number)) id = std::to_string(number);
  else id = Hasher().add(title).add(text).finish().hex();
  double score = 0;
  if (hit["score"].get(score) && document["score"].get(score)) score = 0;
  return Passage(std::move(id), std::string(title), std::string(text), score);
}

/// The ranked hits of one query, at most k.
inline Passages read_hits(simdjson::dom::array hits, std::uint32_t k) {
  Passages passages;
  for (const auto hit : hits)
    if (passages.size() < k) passages.push_back(read_hit(hit));
  return passages;
}

}  // namespace espalier::backend
