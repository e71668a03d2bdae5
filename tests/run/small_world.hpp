#pragma once

#include <espalier/run/job.hpp>
#include <espalier/run/world.hpp>

#include "../backend/temporary_folder.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>

namespace espalier::testing {

/// A small world on disk, and settings of runs over it.
class SmallWorld {
 public:
  explicit SmallWorld(std::size_t questions) {
    run::write_world(folder_ / "world", {.passages = 100, .questions = questions, .seed = 5});
  }
  [[nodiscard]] run::Settings settings(const std::string& out) const {
    run::Settings s;
    s.questions = folder_ / "world/questions.jsonl";
    s.retriever.corpus = folder_ / "world/corpus.jsonl";
    s.output.folder = folder_ / out;
    return s;
  }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return folder_.path() / name; }

 private:
  test::TemporaryFolder folder_;
};

/// The bytes of a file, which must be there.
inline std::string content(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) throw InputError(path.string(), 0, "", "is not there");
  return test::read_bytes(path.string());
}

inline run::RunResult run_job(run::Settings settings, const run::ProgressHook& hook = nullptr) {
  run::Job job(std::move(settings));
  return job(hook);
}

}  // namespace espalier::testing
