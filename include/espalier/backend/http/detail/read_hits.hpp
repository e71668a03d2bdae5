#pragma once

#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/passage.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::backend::detail {

/// Splits a corpus field "contents": the title on the first line, without its double quotes, then the text. A single
/// line is a text without a title.
inline std::pair<std::string_view, std::string_view> split_contents(std::string_view contents) {
  const std::size_t end = contents.find('\n');
  if (end == std::string_view::npos) return {{}, contents};
  std::string_view title = contents.substr(0, end);
  if (title.ends_with('\r')) title.remove_suffix(1);
  if (title.size() >= 2 && title.starts_with('"') && title.ends_with('"')) title = title.substr(1, title.size() - 2);
  return {title, contents.substr(end + 1)};
}

/// The value of the first of `names` that `object` has.
template <class T>
std::optional<T> first_field(simdjson::dom::element object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto found = field<T>(object, name)) return found;
  return std::nullopt;
}

/// Reads a passage from one hit of a retrieval server. A hit may be a text, a document, or an object that holds the
/// document (or a text) as "document", "doc" (Pyserini) or "_source" (Elasticsearch), with id and score beside it. A
/// document has `contents`, `text`, `paragraph_text` or `snippet`, and may have `title`, `id` and `score`. The default
/// id is the hash of title and text, the default score 0. Throws BackendError (transport) for anything else.
inline Passage read_hit(simdjson::dom::element hit) {
  const auto document = first_field<simdjson::dom::element>(hit, {"document", "doc", "_source"}).value_or(hit);
  auto text = first_field<std::string_view>(document, {"text", "paragraph_text", "snippet"});
  auto title = first_field<std::string_view>(document, {"title"});
  auto contents = first_field<std::string_view>(document, {"contents"});
  if (std::string_view whole; !document.get(whole)) contents = whole;
  if (contents) {
    const auto [first, rest] = split_contents(*contents);
    if (!title) title = first;
    text = *title == first ? rest : *contents;
  }
  if (!text) throw BackendError("a hit without a text");
  std::string id;
  for (const auto& holder : {document, hit}) {
    if (!id.empty()) break;
    if (const auto name = first_field<std::string_view>(holder, {"id", "docid", "_id"})) id = *name;
    else if (const auto number = first_field<std::int64_t>(holder, {"id", "docid"})) id = std::to_string(*number);
  }
  if (id.empty()) id = Hasher().add(title.value_or("")).add(*text).finish().hex();
  const auto score = first_field<double>(hit, {"score", "_score"});
  return Passage(std::move(id), std::string(title.value_or("")), std::string(*text),
                 score ? *score : first_field<double>(document, {"score"}).value_or(0));
}

/// The ranked hits of one query, at most k.
inline Passages read_hits(simdjson::dom::array hits, std::uint32_t k) {
  Passages passages;
  for (const auto hit : hits)
    if (passages.size() < k) passages.push_back(read_hit(hit));
  return passages;
}

}  // namespace espalier::backend::detail
