#pragma once

#include <espalier/rag/question.hpp>
#include <espalier/rag/text.hpp>

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>

namespace espalier::output::detail {

/// What a field's name says, without case and separators: "" or what may stand there, "alias", "gold", or "perhaps",
/// which is gold where a row has no other.
inline std::string_view gold_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c))) plain += static_cast<char>(std::tolower(c));
  const auto one_of = [](std::initializer_list<std::string_view> parts, auto fits) {
    return std::any_of(parts.begin(), parts.end(), fits);
  };
  const auto is = [&](std::string_view part) { return plain == part; };
  const auto begins = [&](std::string_view part) { return plain.starts_with(part); };
  const auto ends = [&](std::string_view part) { return plain.ends_with(part); };
  const auto holds = [&](std::string_view part) { return plain.find(part) != plain.npos; };
  if (one_of({"alias", "aliases", "answeralias", "answeraliases", "goldaliases", "goldenaliases"}, is)) return "alias";
  if (one_of({"has", "is", "num", "model", "pred", "generated", "wrong", "incorrect", "plausible", "salias", "subject"},
             begins) ||
      one_of({"id",        "ids",     "type",     "types",   "start",      "starts",   "end",   "ends",
              "able",      "title",   "titles",   "passage", "passages",   "doc",      "docs",  "document",
              "documents", "context", "contexts", "ctxs",    "paragraphs", "evidence", "facts", "sentences",
              "source",    "url",     "format",   "score",   "count",      "length"},
             ends))
    return "";
  if (one_of({"answer", "gold", "alias", "truth"}, holds)) return "gold";
  const bool perhaps = one_of({"target", "targets", "label", "labels", "reference", "references", "solution", "output",
                               "outputs", "response", "expected", "correct", "ans", "gt", "gts"},
                              is);
  return perhaps ? "perhaps" : "";
}

/// True if a value says nothing that is not in `forms`, the normal forms of the gold answers.
inline bool all_known(simdjson::dom::element value, const rag::Gold& forms) {
  if (std::string_view text; value.get(text) == simdjson::SUCCESS)
    return text.empty() || std::find(forms.begin(), forms.end(), rag::detail::form_or_text(text)) != forms.end();
  const auto known = [&](simdjson::dom::element item) { return all_known(item, forms); };
  if (simdjson::dom::array items; value.get(items) == simdjson::SUCCESS)
    return std::all_of(items.begin(), items.end(), known);
  if (simdjson::dom::object object; value.get(object) == simdjson::SUCCESS)
    return std::all_of(object.begin(), object.end(), [&](const auto& member) { return known(member.value); });
  return value.is_null() || !forms.empty();
}

/// The first field of a question that looks like gold or an alias and says what is not among its gold answers, "" =
/// none. Inner objects are looked into where there is no gold, and "metadata" is looked into for aliases.
inline std::string unread_gold(simdjson::dom::object row, const rag::Gold& gold, const std::string& path = "") {
  rag::Gold forms;
  for (const std::string& answer : gold) forms.push_back(rag::detail::form_or_text(answer));
  for (const auto [name, value] : row) {
    const std::string_view kind = gold_name(name);
    const bool looks = kind == "alias" || (kind == "gold" && path.empty()) || (!kind.empty() && gold.empty());
    if (looks && !all_known(value, forms)) return path + std::string(name);
    simdjson::dom::object inner;
    if (looks || !(gold.empty() || name == "metadata") || value.get(inner) != simdjson::SUCCESS) continue;
    if (const std::string found = unread_gold(inner, gold, path + std::string(name) + '.'); !found.empty())
      return found;
  }
  return "";
}

}  // namespace espalier::output::detail
