// The main job from C++: questions and a corpus in, a folder with trees, training data, answers out; the same bytes as
// `espalier expand` writes, which adds a report. Usage: main_job [QUESTIONS.jsonl CORPUS.jsonl OUT]; without arguments
// it makes a small world and works in out/main_job.
#include <espalier/method/decex/face.hpp>
#include <espalier/run/job.hpp>
#include <espalier/run/world.hpp>

#include <exception>
#include <fstream>
#include <iostream>

int main(int argc, char** argv) {
  using namespace espalier;
  try {
    run::Settings settings;  // its model is the simulated one
    if (argc > 3) {
      settings.questions = argv[1];
      settings.retriever.corpus = argv[2];
      settings.output.folder = argv[3];
    } else {
      run::write_world("out/main_job/world", {.passages = 200, .questions = 5});
      settings.questions = "out/main_job/world/questions.jsonl";
      settings.retriever.corpus = "out/main_job/world/corpus.jsonl";
      settings.output.folder = "out/main_job/run";
    }
    run::Job job(settings);
    const run::RunResult result = job();
    std::cout << "Answers of the simulated model, in trees whose rewards saw the gold ones (oracle):\n"
              << std::ifstream(settings.output.folder + "/answers.jsonl").rdbuf();
    std::cout << settings.output.folder << "/trees.jsonl\n";
    return result.open > 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
