#include <espalier/run/work_folder.hpp>

#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace work_folder_test {

using namespace espalier;
using run::detail::WorkFolder;
using test::TemporaryFolder;

namespace {

void write(const std::filesystem::path& file, const std::string& text) { run::detail::write_file(file, text); }
std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  std::getline(in, line);
  return line;
}
unsigned mode(const std::filesystem::path& path) { return unsigned(std::filesystem::status(path).permissions()); }
std::ptrdiff_t count(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}
/// A folder with two old files.
class OldFiles {
 public:
  OldFiles() {
    write(path() / "a", "old");
    write(path() / "b", "old");
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("new files take their places together, and nothing else is left") {
  const OldFiles old;
  {
    WorkFolder work(old.path(), "a test");
    write(work.next() / "a", "new");
    write(work.next() / "c", "new");
    CHECK(read(old.path() / "a") == "old");
    CHECK(mode(work.next()) == 0700);
    work.commit();
  }
  CHECK(mode(old.path() / "a") == 0600);  // they hold prompts
  CHECK(mode(old.path() / "b") != 0600);
  CHECK(read(old.path() / "a") == "new");
  CHECK(read(old.path() / "b") == "old");
  CHECK(read(old.path() / "c") == "new");
  CHECK(count(old.path()) == 3);
}

TEST_CASE("new files that were never put in place are forgotten") {
  const OldFiles old;
  {
    write(WorkFolder(old.path(), "a test").next() / "a", "new");
  }
  CHECK(read(old.path() / "a") == "old");
  CHECK(count(old.path()) == 2);

  std::filesystem::create_directory(old.path() / "run.part");  // as a killed process leaves it
  write(old.path() / "run.part/a", "half");
  write(old.path() / "run.lock", "process 1 on elsewhere");
  run::detail::settle(old.path());
  CHECK(read(old.path() / "a") == "old");
  {
    const WorkFolder work(old.path(), "a test");
  }
  CHECK(count(old.path()) == 2);
}

TEST_CASE("a process that dies between two renames is finished by the next one who opens the folder") {
  for (const bool reads : {false, true}) {
    const OldFiles old;
    std::filesystem::create_directory(old.path() / "run.whole");
    write(old.path() / "a", "new");  // was moved
    write(old.path() / "run.whole/b", "new");
    if (reads) run::detail::settle(old.path());
    else WorkFolder(old.path(), "a test");
    CHECK(read(old.path() / "a") == "new");
    CHECK(read(old.path() / "b") == "new");
    CHECK(count(old.path()) == 2);
  }
}

TEST_CASE("one at a time works in a folder, and others are told who") {
  const OldFiles old;
  WorkFolder first(old.path(), "espalier expand");
  for (int i = 0; i < 2; ++i) {
    try {
      WorkFolder(old.path(), "another");
      FAIL("two work there");
    } catch (const InputError& error) {
      const std::string said = error.what();
      CHECK(said.starts_with(old.path().string() + ": this folder is in use: process " + std::to_string(::getpid()) +
                             " on "));
      CHECK(said.ends_with(": espalier expand"));
    }
  }
  std::filesystem::create_directory(old.path() / "run.whole");
  CHECK_THROWS_AS(run::detail::settle(old.path()), InputError);
  first.release();
  CHECK_NOTHROW(run::detail::settle(old.path()));
  CHECK_NOTHROW(WorkFolder(old.path(), "another"));
}

TEST_CASE("a folder that cannot be one is named") {
  const OldFiles old;
  CHECK_THROWS_WITH_AS(WorkFolder(old.path() / "a", "a test"), doctest::Contains((old.path() / "a").string().c_str()),
                       InputError);
  CHECK_THROWS_WITH_AS(WorkFolder(old.path() / "a/b", "a test"), doctest::Contains((old.path() / "a").string().c_str()),
                       InputError);
}

}  // namespace work_folder_test
