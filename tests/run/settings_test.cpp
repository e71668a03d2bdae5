#include <espalier/run/settings.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace settings_test {

using namespace espalier;
using run::detail::Shard;

namespace {

std::string part(std::uint64_t i, std::uint64_t n) { return std::to_string(i) + "/" + std::to_string(n); }

}  // namespace

TEST_CASE("every id stands in exactly one shard, and the shards are of like size") {
  for (const std::uint64_t n : {1, 2, 3, 7, 4096}) {
    std::vector<std::size_t> sizes(n);
    for (int question = 0; question < 1000; ++question) {
      const std::string id = "question " + std::to_string(question) + " \xC3\xA9";
      std::size_t holders = 0;
      for (std::uint64_t i = 1; i <= n; ++i) {
        const bool takes = Shard(part(i, n)).takes(id);
        holders += takes;
        sizes[i - 1] += takes;
      }
      CHECK(holders == 1);
    }
    if (n <= 7)
      for (const std::size_t size : sizes) CHECK(size > 1000 / n - 60);  // five standard deviations and more
  }
}

TEST_CASE("the shard of an id is the same on every machine and in every version") {
  CHECK(Shard("").takes("a"));
  CHECK(Shard("1/1").takes(""));
  std::string held;  // by which of seven shards, for each id
  for (const char* id : {"a", "b", "2hop__13548_13529", "\xE2\x82\xAC"})
    for (std::uint64_t i = 1; i <= 7; ++i)
      if (Shard(part(i, 7)).takes(id)) held += std::to_string(i) + " ";
  CHECK(held == "5 1 4 1 ");
}

TEST_CASE("a text that names no shard is refused") {
  for (const char* text : {"0/3", "4/3", "3", "3/", "/3", "a/3", "1/b", "1/3 ", "-1/3", "1/0", "1//3", "1.0/3"})
    CHECK_THROWS_WITH_AS(Shard{text},
                         (std::string("option 'shard' is ") + text + ", allowed: I/N, from 1/N to N/N").c_str(),
                         std::invalid_argument);
}

}  // namespace settings_test
