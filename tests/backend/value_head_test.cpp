#include <espalier/backend/value_head.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <string>

namespace value_head_test {

using namespace espalier;
using backend::ValueHead;

namespace {

std::string error_of(const std::string& text) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "head.json";
  std::ofstream(file) << text;
  try {
    ValueHead::load(file);
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).find("head.json") != std::string::npos);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a head is tanh of a weighted sum, worked out by hand") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "head.json";
  std::ofstream(file) << R"({"dimension":2,"plan":{"weight":[0.5,-1],"bias":0.25},"search":{"weight":[0,2],"bias":0}})";
  const ValueHead head = ValueHead::load(file);
  const auto [plan, search] = head({1, 0.5});
  CHECK(plan == doctest::Approx(std::tanh(0.25)));  // 0.5 - 0.5 + 0.25
  CHECK(search == doctest::Approx(std::tanh(1.0)));
  CHECK_THROWS_WITH_AS(static_cast<void>(head({1, 2, 3})),
                       (file + ": field 'dimension': is 2, the encoder's embeddings have 3 numbers").c_str(),
                       InputError);
}

TEST_CASE("a bad head file is refused with its field") {
  CHECK(error_of("{").find("not JSON") != std::string::npos);
  CHECK(error_of("{}").find("dimension") != std::string::npos);
  CHECK(error_of(R"({"dimension":2,"plan":{"weight":[1],"bias":0}})")
            .find("'plan.weight': has 1 numbers, its dimension is 2") != std::string::npos);
  CHECK(error_of(R"({"dimension":1,"plan":{"weight":["x"],"bias":0}})").find("plan.weight") != std::string::npos);
  CHECK(error_of(R"({"dimension":1,"plan":{"weight":[1]}})").find("plan.bias") != std::string::npos);
  CHECK(error_of(R"({"dimension":1,"plan":{"weight":[1],"bias":0}})").find("search.weight") != std::string::npos);
  CHECK_THROWS_AS(ValueHead::load("/nowhere/head.json"), InputError);
}

}  // namespace value_head_test
