// Files of questions, passages and trees.
#include "fuzzing.hpp"

#include <espalier/output/dataset.hpp>
#include <espalier/output/tree_reader.hpp>

using namespace espalier;

namespace {

/// Reads a file, which fails with an error that names it or not at all.
template <class Read>
void attempt(const std::string& file, Read read) {
  try {
    read(file);
  } catch (const InputError& error) {
    fuzz::require(std::string_view(error.what()).starts_with(file), "an error names the file");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file = fuzz::file_of(fuzz::text_of(data, size));
  attempt(file, [](const std::string& path) {
    for (const auto& example : output::read_questions(path)) fuzz::require(!example.question.id.empty(), "a question has an id");
  });
  attempt(file, [](const std::string& path) {
    for (const auto& passage : output::read_passages(path)) fuzz::require(!passage.id().empty(), "a passage has an id");
  });
  attempt(file, [](const std::string& path) { output::read_trees(path); });
  return 0;
}
