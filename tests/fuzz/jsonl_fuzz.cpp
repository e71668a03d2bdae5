// Files of JSON that people and servers hand in: questions, passages, trees, batches, heads, records of runs.
#include <espalier/backend/journal/store.hpp>
#include <espalier/backend/value_head.hpp>
#include <espalier/output/dataset.hpp>
#include <espalier/output/flat_json.hpp>
#include <espalier/output/tree_reader.hpp>
#include <espalier/run/batch.hpp>

#include "fuzzing.hpp"

using namespace espalier;

namespace {

/// Reads a file, which fails with an error that names it or not at all.
void attempt(const std::string& file, auto read) {
  try {
    read(file);
  } catch (const InputError& error) {
    fuzz::require(std::string_view(error.what()).starts_with(file), "an error names the file");
  }
}

std::string written(const std::vector<output::RecordedTree>& trees) {
  std::string lines;
  for (const auto& recorded : trees) output::append_tree(recorded.record(), lines);
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file = fuzz::file_of(fuzz::text_of(data, size));
  attempt(file, [](const std::string& path) {
    for (const auto& example : output::read_questions(path))
      fuzz::require(!example.question.id.empty(), "a question has an id");
  });
  attempt(file, [](const std::string& path) {
    for (const auto& passage : output::read_passages(path)) fuzz::require(!passage.id().empty(), "a passage has an id");
  });
  attempt(file, [](const std::string& path) { output::detail::read_flat_json(path); });
  attempt(file, [](const std::string& path) { backend::ValueHead::load(path); });
  attempt(file, [](const std::string& path) {
    backend::MemoryStore journal;
    for (const std::string& key : run::detail::ingest_batch({path}, path, journal).stored)
      fuzz::require(key.size() == 32, "what was stored has a key");
  });
  attempt(file, [](const std::string& path) {  // last: it changes the file
    const std::string lines = written(output::read_trees(path));
    fuzz::require(written(output::read_trees(fuzz::file_of(lines))) == lines,
                  "a tree that was written reads back equal");
  });
  return 0;
}
