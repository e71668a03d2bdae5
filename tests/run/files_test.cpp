#include <espalier/output/flat_json.hpp>
#include <espalier/run/work_folder.hpp>

#include <backend/temporary_folder.hpp>
#include <doctest/doctest.h>

namespace files_test {

using namespace espalier;
using run::detail::AtomicFile;

namespace {

std::size_t files_in(const test::TemporaryFolder& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

}  // namespace

TEST_CASE("a file appears whole at its commit and replaces what was there") {
  const test::TemporaryFolder folder;
  test::write_bytes(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new ");
    CHECK(test::read_bytes(folder / "a") == "old");
    AtomicFile moved = std::move(file);
    moved.write("text");
    moved.commit();
  }
  CHECK(test::read_bytes(folder / "a") == "new text");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a file that is never committed leaves nothing, also when a failure ends it") {
  const test::TemporaryFolder folder;
  try {
    AtomicFile file(folder / "a");
    file.write("half");
    throw Error("on the way");
  } catch (const Error&) {
  }
  CHECK(files_in(folder) == 0);
}

TEST_CASE("a file that cannot be written or put in place is named, and nothing is left") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(AtomicFile(folder / "no/a"),
                       ((folder / "no/a") + ": cannot be written: No such file or directory").c_str(), InputError);
  std::filesystem::create_directories(folder / "taken/inside");
  {
    AtomicFile file(folder / "taken");
    CHECK_THROWS_AS(file.commit(), InputError);
  }
  CHECK(files_in(folder) == 1);
}

TEST_CASE("flat JSON gives back what a JsonWriter wrote, byte for byte") {
  const test::TemporaryFolder folder;
  std::string text;
  JsonWriter json(text);
  json.begin_object().field("seed", ~std::uint64_t(0)).key("options").begin_object();
  json.field("k", 3).field("tiny", 1e-7).field("third", 1.0 / 3).field("big", 1e300).field("flag", true);
  json.field("text", "\x01 \"é\" </script>\n");
  json.key("list").begin_array().value(-1).null().end_array();
  json.key("inner").begin_object().field("deep", 0.1).end_object();
  json.key("empty").begin_object().end_object().end_object().end_object();
  test::write_bytes(folder / "a", text);
  const auto fields = output::detail::read_flat_json(folder / "a");
  const std::map<std::string, std::string> expected{{"seed", "18446744073709551615"},
                                                    {"options.k", "3"},
                                                    {"options.tiny", "1e-07"},
                                                    {"options.third", "0.3333333333333333"},
                                                    {"options.big", "1e+300"},
                                                    {"options.flag", "true"},
                                                    {"options.text", R"("\u0001 \"é\" </script>\n")"},
                                                    {"options.list", "[-1,null]"},
                                                    {"options.inner.deep", "0.1"}};
  CHECK(fields == expected);
  test::write_bytes(folder / "b", "{");
  CHECK_THROWS_AS((void)output::detail::read_flat_json(folder / "b"), InputError);
  CHECK_THROWS_AS((void)output::detail::read_flat_json(folder / "missing"), InputError);
}

}  // namespace files_test
