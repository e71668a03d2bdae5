// The main job, files and journal included, over N and 2N questions: CPU seconds per 1,000 model calls, peak memory,
// and how time grows. Usage: main_job [QUESTIONS.jsonl CORPUS.jsonl]; without files on a generated world.
#include <espalier/run/job.hpp>
#include <espalier/run/world.hpp>

#include "world.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>

using namespace espalier;

namespace {

struct Cost {
  double cpu = 0, wall = 0, calls = 0;
};

Cost measure(const std::string& questions, const std::string& corpus, const std::filesystem::path& out,
             std::size_t limit) {
  run::Settings settings;
  settings.questions = questions;
  settings.retriever.corpus = corpus;
  settings.output.folder = out.string();
  settings.limit = limit;
  run::Progress last;
  const double cpu = benchmarks::cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  run::Job job(settings);
  job([&](const run::Progress& progress) { last = progress; });
  return {benchmarks::cpu_seconds() - cpu,
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(last.calls)};
}

}  // namespace

int main(int argc, char** argv) {
  const auto folder = std::filesystem::temp_directory_path() / ("espalier-main-job-" + std::to_string(::getpid()));
  std::string questions = argc > 2 ? argv[1] : (folder / "world/questions.jsonl").string();
  std::string corpus = argc > 2 ? argv[2] : (folder / "world/corpus.jsonl").string();
  if (argc <= 2) run::write_world((folder / "world").string(), {.passages = 10000, .questions = 300});
  const std::size_t all = output::read_questions(questions).size();
  const Cost half = measure(questions, corpus, folder / "half", all / 2),
             whole = measure(questions, corpus, folder / "whole", all);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  for (const auto& [n, cost] : {std::pair{all / 2, half}, std::pair{all, whole}})
    std::printf(
        "%5zu questions: %8.0f calls, %.2f CPU s, %.2f s wall, %.3f CPU s per 1,000 calls (simulated model, BM25)\n", n,
        cost.calls, cost.cpu, cost.wall, 1000 * cost.cpu / cost.calls);
  std::printf("time per call at 2N / N: %.2f; peak memory %.0f MB\n",
              (whole.cpu / whole.calls) / (half.cpu / half.calls), static_cast<double>(usage.ru_maxrss) / 1024);
  std::filesystem::remove_all(folder);
}
