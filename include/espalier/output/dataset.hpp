#pragma once

#include <espalier/core/passage.hpp>
#include <espalier/output/json_line.hpp>
#include <espalier/rag/question.hpp>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::output {

struct ReadOptions {
  std::size_t limit = 0;      ///< the first so many rows, 0 = all
  bool require_gold = true;   ///< a question without gold answers is an error
};

namespace detail {

/// MuSiQue's decomposition, 2Wiki's evidence triples, PopQA's one triple: whichever is there.
inline std::vector<rag::ChainStep> read_chain(const JsonLine& metadata, const std::vector<std::string>& titles) {
  std::vector<rag::ChainStep> chain;
  for (const JsonLine& step : metadata.objects("decomposition"))
    chain.push_back({step.text("question"), step.text("answer"), step.text_or("support_title", ""), step.text_or("support_doc_id", "")});
  if (!chain.empty()) return chain;
  const auto add = [&](const std::string& subject, const std::string& relation, const std::string& object) {
    std::string from = subject;
    for (std::size_t i = 0; i < chain.size(); ++i)
      if (chain[i].answer == subject) from = "#" + std::to_string(i + 1);
    const bool support = std::find(titles.begin(), titles.end(), subject) != titles.end();
    chain.push_back({from + " >> " + relation, object, support ? subject : "", ""});
  };
  if (metadata.has("evidences")) {
    simdjson::dom::array triples;
    if (metadata.element()["evidences"].get(triples) != simdjson::SUCCESS) metadata.fail("evidences", "is not a list");
    for (const simdjson::dom::element item : triples) {
      std::vector<std::string> triple;
      simdjson::dom::array parts;
      if (item.get(parts) != simdjson::SUCCESS) metadata.fail("evidences", "holds something that is not a list");
      for (const simdjson::dom::element part : parts) {
        std::string_view text;
        if (part.get(text) != simdjson::SUCCESS) metadata.fail("evidences", "holds something that is not a text");
        triple.emplace_back(text);
      }
      if (triple.size() != 3) metadata.fail("evidences", "holds a list that has not three parts");
      add(triple[0], triple[1], triple[2]);
    }
  } else if (metadata.has("subject") && metadata.has("relation") && metadata.has("object")) {
    add(metadata.text("subject"), metadata.text("relation"), metadata.text("object"));
  }
  return chain;
}

/// Remembers ids and refuses one that comes again.
class Ids {
 public:
  void add(const JsonLine& row, const std::string& id) {
    if (id.empty()) row.fail("id", "is empty");
    const auto [known, fresh] = lines_.emplace(id, row.line());
    if (!fresh) row.fail("id", "'" + id + "' stands in line " + std::to_string(known->second) + " too");
  }

 private:
  std::unordered_map<std::string, std::size_t> lines_;
};

}  // namespace detail

/// Questions: {"id", "question", "golden_answers": [...], "metadata": {...}} a line. Throws InputError.
inline std::vector<rag::Example> read_questions(const std::string& path, const ReadOptions& options = {}) {
  std::vector<rag::Example> examples;
  detail::Ids ids;
  for_each_line(path, [&](const JsonLine& row) {
    rag::Example example;
    example.question = {row.text("id"), row.text("question")};
    ids.add(row, example.question.id);
    if (example.question.text.empty()) row.fail("question", "is empty");
    if (options.require_gold && !row.has("golden_answers")) row.fail("golden_answers", "is missing");
    example.gold = row.texts("golden_answers");
    if (options.require_gold && example.gold.empty()) row.fail("golden_answers", "is empty");
    if (row.has("metadata")) {
      const JsonLine metadata = row.object("metadata");
      example.supporting_titles = metadata.texts("supporting_titles");
      example.type = metadata.text_or("type", "");
      if (metadata.has("hops")) {
        const double hops = metadata.number("hops");
        if (!(hops >= 0 && hops < 1000)) metadata.fail("hops", "is not a number of hops");
        example.hops = static_cast<std::uint32_t>(hops);
      }
      example.chain = detail::read_chain(metadata, example.supporting_titles);
    }
    examples.push_back(std::move(example));
    return options.limit == 0 || examples.size() < options.limit;
  });
  return examples;
}

/// Passages: {"id", "title", "contents"} a line, contents = title, newline, text. Without "title" the first line of the
/// contents is the title, quotes around it taken off; "text" in place of contents is the text itself. Throws InputError.
inline std::vector<Passage> read_passages(const std::string& path, const ReadOptions& options = {}) {
  std::vector<Passage> passages;
  detail::Ids ids;
  for_each_line(path, [&](const JsonLine& row) {
    const std::string id = row.text("id");
    ids.add(row, id);
    std::string title = row.text_or("title", "");
    if (!row.has("contents") && row.has("text")) {
      passages.emplace_back(id, std::move(title), row.text("text"));
    } else {
      const std::string contents = row.text("contents");
      const auto end = contents.find('\n');
      std::string first = contents.substr(0, end);
      if (!row.has("title")) {
        if (first.size() >= 2 && first.front() == '"' && first.back() == '"') first = first.substr(1, first.size() - 2);
        title = first;
      }
      const bool titled = first == title && end != std::string::npos;
      passages.emplace_back(id, std::move(title), titled ? contents.substr(end + 1) : contents);
    }
    return options.limit == 0 || passages.size() < options.limit;
  });
  return passages;
}

}  // namespace espalier::output
