// The main job from C++: questions and a corpus in, a folder with trees, training data, answers and a report out; the same
// bytes as `espalier expand` writes. Usage: main_job [QUESTIONS.jsonl CORPUS.jsonl OUT [in flight]]; without arguments it
// makes a small world in a temporary folder.
#include <espalier/run/expand.hpp>
#include <espalier/run/world.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

int main(int argc, char** argv) {
  using namespace espalier;
  try {
    run::Settings settings;
    if (argc > 3) {
      settings.questions = argv[1];
      settings.corpus = argv[2];
      settings.out = argv[3];
      if (argc > 4) settings.in_flight = std::stoul(argv[4]);
    } else {
      const auto folder = std::filesystem::temp_directory_path() / "espalier-main-job";
      std::filesystem::remove_all(folder);
      run::write_world((folder / "world").string(), {.passages = 200, .questions = 5});
      settings.questions = (folder / "world/questions.jsonl").string();
      settings.corpus = (folder / "world/corpus.jsonl").string();
      settings.out = (folder / "run").string();
    }
    run::Run job(settings);
    const run::RunResult result = job();
    std::printf("%s\n%s/report.html\n", result.summary.c_str(), settings.out.c_str());
    return result.open > 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
