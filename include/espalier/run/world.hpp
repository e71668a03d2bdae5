#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/run/work_folder.hpp>
#include <espalier/sim/world.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace espalier::run {

/// Writes a generated world into a folder: questions.jsonl and corpus.jsonl, each whole or not at all. Throws
/// InputError if they cannot be written, and std::invalid_argument for a bad option.
inline void write_world(const std::string& folder, const sim::World::Options& options) {
  const sim::World world(options);
  detail::with_files([&] { std::filesystem::create_directories(folder); });
  detail::AtomicFile questions((std::filesystem::path(folder) / "questions.jsonl").string());
  detail::AtomicFile corpus((std::filesystem::path(folder) / "corpus.jsonl").string());
  std::string line;
  for (const rag::Example& example : world.examples()) {
    std::vector<std::string> documents;
    for (const rag::ChainStep& step : example.chain)
      if (std::ranges::find(documents, step.support_id) == documents.end()) documents.push_back(step.support_id);
    line.clear();
    JsonWriter json(line);
    json.begin_object().field("id", example.question.id).field("question", example.question.text);
    json.key("golden_answers").array(example.gold);
    json.key("metadata").begin_object().field("type", example.type).field("hops", example.hops);
    json.key("supporting_titles").array(example.supporting_titles).key("gold_doc_ids").array(documents);
    json.field("source_repo", "generated");
    json.objects("decomposition", example.chain, [&](const rag::ChainStep& step) {
      json.field("question", step.question).field("answer", step.answer);
      json.field("support_title", step.support_title).field("support_doc_id", step.support_id);
      json.field("support_text", world.support(step).text());
    });
    json.end_object().end_object();
    questions.write(line += '\n');
  }
  for (std::size_t i = 0; i < world.size(); ++i) {
    line.clear();
    const Passage passage = world.passage(i);
    JsonWriter json(line);
    json.begin_object().field("id", passage.id()).field("title", passage.title());
    json.field("contents", passage.title() + "\n" + passage.text()).end_object();
    line += '\n';
    corpus.write(line);
  }
  questions.commit();
  corpus.commit();
}

}  // namespace espalier::run
