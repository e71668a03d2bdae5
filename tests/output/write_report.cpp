// Writes report.html into a run's folder: write_report FOLDER. The browser test builds and runs it.
#include <espalier/output/report.hpp>

#include <cstdio>
#include <exception>
#include <iterator>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const std::filesystem::path folder(argv[1]);
    std::ifstream file(folder / "summary.json", std::ios::binary);
    const std::string summary(std::istreambuf_iterator<char>(file), {});
    espalier::output::write_report(folder, summary);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
