#pragma once

#include <espalier/llm/passage.hpp>
#include <espalier/output/json_line.hpp>
#include <espalier/rag/question.hpp>
#include <espalier/rag/text.hpp>

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::output {

namespace detail {

struct ReadOptions {
  std::size_t limit = 0;     ///< number of rows to read, 0 = all
  bool require_gold = true;  ///< a question without gold answers is an error
};

inline bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

/// Adds the triple (subject, relation, object) to a chain as one step.
inline void add_triple(std::vector<rag::ChainStep>& chain, const std::vector<std::string>& titles,
                       const std::string& subject, const std::string& relation, std::string object) {
  const auto earlier = std::ranges::find_if(chain, [&](const rag::ChainStep& step) { return step.answer == subject; });
  const std::string from = earlier == chain.end() ? subject : '#' + std::to_string(earlier - chain.begin() + 1);
  const bool support = std::find(titles.begin(), titles.end(), subject) != titles.end();
  chain.push_back({from + " >> " + relation, std::move(object), support ? subject : "", ""});
}

/// Reads MuSiQue's decomposition, 2Wiki's evidence triples or PopQA's single triple.
inline std::vector<rag::ChainStep> read_chain(const JsonLine& metadata, const std::vector<std::string>& titles) {
  std::vector<rag::ChainStep> chain;
  for (const JsonLine& step : metadata.objects("decomposition"))
    chain.push_back({step.text("question"), step.text("answer"), step.text_or("support_title", ""),
                     step.text_or("support_doc_id", ""), step.text_or("support_text", "")});
  if (!chain.empty()) return chain;
  for (const simdjson::dom::element item : metadata.items("evidences")) {
    std::vector<std::string> triple;
    simdjson::dom::array parts;
    if (item.get(parts) != simdjson::SUCCESS) metadata.fail("evidences", "holds something that is not a list");
    for (const simdjson::dom::element part : parts) {
      std::string_view text;
      if (part.get(text) != simdjson::SUCCESS) metadata.fail("evidences", "holds something that is not a text");
      triple.emplace_back(text);
    }
    if (triple.size() != 3) metadata.fail("evidences", "holds a list that has not three parts");
    add_triple(chain, titles, triple[0], triple[1], triple[2]);
  }
  if (chain.empty() && metadata.has("subject") && metadata.has("relation") && metadata.has("object"))
    add_triple(chain, titles, metadata.text("subject"), metadata.text("relation"), metadata.text("object"));
  return chain;
}

/// What a field's name says: "" or what may stand there, "alias", "gold", or "perhaps" (gold if a row has no other).
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
  if (one_of({"has", "is", "num", "model", "gpt", "chatgpt", "llm", "pred", "generated", "wrong", "incorrect",
              "plausible", "salias", "subject"},
             begins) ||
      one_of({"id",         "ids",         "type",     "types",   "start",      "starts",   "end",     "ends",
              "able",       "title",       "titles",   "passage", "passages",   "doc",      "docs",    "document",
              "documents",  "context",     "contexts", "ctxs",    "paragraphs", "evidence", "facts",   "sentences",
              "source",     "url",         "format",   "score",   "count",      "length",   "choices", "options",
              "candidates", "explanation", "idx",      "index",   "language",   "category"},
             ends))
    return "";
  if ((holds("alias") && !begins("oalias")) || (holds("answer") && one_of({"other", "alt", "additional"}, begins)) ||
      one_of({"synonyms", "alsoknownas", "aka", "nicknames", "demonyms", "alsoaccepted", "answervariants"}, is))
    return "alias";
  if (one_of({"answer", "gold", "alias", "truth"}, holds) || one_of({"accepted", "variants"}, is)) return "gold";
  const bool perhaps = one_of({"target", "targets", "targettext", "label", "labels", "reference", "references"}, is) ||
                       one_of({"ref", "refs", "solution", "output", "outputs", "expectedoutput", "response"}, is) ||
                       one_of({"result", "expected", "correct", "ans", "gt", "gts"}, is);
  return perhaps ? "perhaps" : "";
}

/// True if a value says nothing that is not in `forms`, the normal forms of the gold answers.
inline bool all_known(simdjson::dom::element value, const rag::Gold& forms) {
  if (std::string_view text; value.get(text) == simdjson::SUCCESS)
    return text.empty() || std::find(forms.begin(), forms.end(), rag::detail::form_or_text(text)) != forms.end();
  const auto known = [&](simdjson::dom::element item) { return all_known(item, forms); };
  if (simdjson::dom::array items; value.get(items) == simdjson::SUCCESS) return std::ranges::all_of(items, known);
  if (simdjson::dom::object object; value.get(object) == simdjson::SUCCESS)
    return std::all_of(object.begin(), object.end(), [&](const auto& member) { return known(member.value); });
  return value.is_null() || !forms.empty();
}

/// The first field of a question that looks like gold or an alias and says what is not among its gold answers, "" =
/// none. What lists hold comes last. All is looked into but options and the chain, and beside gold what is of passages,
/// a subject or the like. Beside gold, inner fields count that are aliases, or "..._answers" that no list holds.
/// `forms` become the answers' normal forms.
inline std::string unread_gold(simdjson::dom::element value, rag::Gold forms, const std::string& path = "",
                               bool listed = false) {
  if (path.empty())
    for (std::string& answer : forms) answer = rag::detail::form_or_text(answer);
  if (simdjson::dom::array items; !value.get(items))
    for (const auto item : items)
      if (const auto found = unread_gold(item, forms, path, true); !found.empty()) return found;
  simdjson::dom::object row;
  if (value.get(row)) return "";
  for (const bool lists : {false, true})
    for (const auto [key, inner] : row) {
      const std::string name(key);
      const std::string_view kind = gold_name(name);
      const bool whole = path.empty() || (name.ends_with("nswers") && !listed);
      const bool looks = kind == "alias" || (kind == "gold" && whole) || (!kind.empty() && forms.empty());
      if (looks && !all_known(inner, forms)) return path + name;
      const bool within = !gold_name(name + "alias").empty() && !gold_name("answer" + name).empty();
      const bool other = name.ends_with("hoices") || name.ends_with("ptions") || name.ends_with("andidates") ||
                         name.ends_with("ecomposition");
      if (looks || other || inner.is_array() != lists || !(forms.empty() || within)) continue;
      if (const auto found = unread_gold(inner, forms, path + name + '.', listed); !found.empty()) return found;
    }
  return "";
}

/// A text, or a whole number as its decimal text.
inline std::string read_id(const JsonLine& row, std::span<const std::string_view> names) {
  const std::string field(row.first_of(names));
  if (auto whole = row.element()[field]; whole.is_int64() || whole.is_uint64()) return simdjson::minify(whole.value());
  std::string id = row.text(field);
  if (id.empty()) row.fail(field, "is empty");
  return id;
}

/// Checks that no id occurs twice.
class Ids {
 public:
  void add(const JsonLine& row, const std::string& id) {
    const auto [known, fresh] = lines_.emplace(id, row.line());
    if (!fresh) row.fail("id", "'" + id + "' stands in line " + std::to_string(known->second) + " too");
  }

 private:
  std::unordered_map<std::string, std::size_t> lines_;
};

/// Reads a passage of FlashRAG, Pyserini, BEIR or DPR: an id, perhaps a title, and "contents" = title, newline, text,
/// or another name for a text without a title line. Throws InputError.
inline Passage read_passage(const JsonLine& row) {
  std::string id = read_id(row, espalier::detail::passage_ids);
  std::optional<std::string_view> title;
  const std::string_view name = row.first_of(espalier::detail::title_fields);
  if (row.has(name)) title = row.as<std::string_view>(name, "a text");
  const std::string_view field = row.has("contents") ? "contents" : row.first_of(espalier::detail::text_fields);
  std::string_view text = row.as<std::string_view>(row.has(field) ? field : "contents", "a text");
  if (field == "contents") std::tie(title, text) = espalier::detail::split_contents(text, title);
  return Passage(std::move(id), std::string(title.value_or("")), std::string(text));
}

}  // namespace detail

/// Reads questions, one per line: {"id", "question", "golden_answers": [...], "metadata": {...}}, plain or .gz.
/// `{.limit = N}` reads N rows, and `{.require_gold = false}` takes questions without gold answers. Throws InputError,
/// also for another field that looks like gold.
inline std::vector<rag::Example> read_questions(const std::string& path, const detail::ReadOptions& options = {}) {
  std::vector<rag::Example> examples;
  detail::Ids ids;
  detail::for_each_line(path, [&](const detail::JsonLine& row) {
    rag::Example example;
    example.question = {detail::read_id(row, espalier::detail::question_ids), row.text("question")};
    ids.add(row, example.question.id);
    if (detail::blank(example.question.text)) row.fail("question", "is empty");
    example.gold = row.texts("golden_answers");
    if (const std::string field = detail::unread_gold(row.element(), example.gold); !field.empty())
      row.fail(field, "looks like gold answers, which are read from 'golden_answers' alone");
    if (options.require_gold && !row.has("golden_answers")) row.fail("golden_answers", "is missing");
    if (options.require_gold && example.gold.empty()) row.fail("golden_answers", "is empty");
    if (std::ranges::any_of(example.gold, detail::blank)) row.fail("golden_answers", "holds an empty answer");
    if (row.has("metadata")) {
      const detail::JsonLine metadata = row.object("metadata");
      example.supporting_titles = metadata.texts("supporting_titles");
      example.type = metadata.text_or("type", "");
      const std::uint64_t hops = metadata.count_or("hops", 0);
      if (hops > 1000) metadata.fail("hops", "is above 1000");
      example.hops = static_cast<std::uint32_t>(hops);
      example.chain = detail::read_chain(metadata, example.supporting_titles);
    }
    examples.push_back(std::move(example));
    return options.limit == 0 || examples.size() < options.limit;
  });
  return examples;
}

/// Reads passages with unique ids, as JSON lines or as a .tsv with a header, plain or .gz. Throws InputError.
inline std::vector<Passage> read_passages(const std::string& path, const detail::ReadOptions& options = {}) {
  std::vector<Passage> passages;
  detail::Ids ids;
  detail::for_each_line(path, [&](const detail::JsonLine& row) {
    passages.push_back(detail::read_passage(row));
    ids.add(row, passages.back().id());
    return options.limit == 0 || passages.size() < options.limit;
  });
  return passages;
}

}  // namespace espalier::output
