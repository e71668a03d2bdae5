#include <espalier/run/run_record.hpp>

#include <doctest/doctest.h>

namespace run_record_test {

using namespace espalier;

TEST_CASE("the record of the whole run is that of a shard, without what is the shard's own") {
  const output::detail::FlatFields shard{{"annotated", "true"},   {"version", R"("1")"},
                                         {"identity", R"("x")"},  {"seed", "3"},
                                         {"shard", R"("2/3")"},   {"noted.journal", R"("own.sqlite")"},
                                         {"outputs.a.bytes", "1"}};
  const auto whole = run::detail::RunRecord::whole(shard, "");
  run::detail::RunRecord record;
  record.add("seed", "3");
  record.add("shard", R"("")");
  CHECK(whole == output::detail::FlatFields{{"version", R"("1")"},
                                            {"identity", '"' + record.identity() + '"'},
                                            {"seed", "3"},
                                            {"shard", R"("")"},
                                            {"noted.journal", R"("")"}});
}

TEST_CASE("what cannot be read to its end has no identity") {
  CHECK_THROWS_WITH_AS((void)run::detail::hash_file("/"), "/: cannot be read", InputError);
}

}  // namespace run_record_test
