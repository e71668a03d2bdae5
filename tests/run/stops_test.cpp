#include <espalier/run/detail/stops.hpp>

#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

namespace stops_test {

using namespace espalier;

TEST_CASE("a stop by the clock is kept and happens again at the same step") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "stops";
  const Hash search = Hasher().add("a").finish(), other = Hasher().add("b").finish();
  {
    run::detail::Stops stops(file, search);
    CHECK_FALSE(stops(Seed(1), 3, false));
    CHECK(stops(Seed(1), 4, true));
    CHECK_FALSE(stops(Seed(2), 9, false));
  }
  run::detail::Stops again(file, search);
  CHECK_FALSE(again(Seed(1), 3, true));  // late, but it went on here before
  CHECK(again(Seed(1), 4, false));
  CHECK(again(Seed(1), 5, false));
  CHECK(again(Seed(2), 2, true));
  run::detail::Stops elsewhere(file, other);
  CHECK_FALSE(elsewhere(Seed(1), 4, false));
}

TEST_CASE("a torn last line is no stop, and without a file nothing is kept") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "stops";
  {
    run::detail::Stops stops(file, Hash());
    CHECK(stops(Seed(1), 4, true));
  }
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  run::detail::Stops torn(file, Hash());
  CHECK_FALSE(torn(Seed(1), 4, false));
  CHECK(torn(Seed(3), 7, true));
  run::detail::Stops mended(file, Hash());
  CHECK(mended(Seed(3), 7, false));
  run::detail::Stops memory("", Hash());
  CHECK(memory(Seed(1), 4, true));
  CHECK(memory(Seed(1), 4, false));
}

}  // namespace stops_test
