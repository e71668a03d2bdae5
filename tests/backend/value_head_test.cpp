#include <espalier/backend/value_head.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace value_head_test {

using namespace espalier;
using backend::ValueHead;

namespace {

/// A safetensors file: size of the header, header, tensors.
std::string tensors(const std::string& header, const std::vector<float>& numbers) {
  const std::uint64_t size = header.size();
  std::string bytes(sizeof size + numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  if (!numbers.empty()) std::memcpy(bytes.data() + sizeof size, numbers.data(), numbers.size() * sizeof(float));
  return bytes.insert(sizeof size, header);
}
std::string tensor(const std::string& name, int begin, int end) {
  return '"' + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" + std::to_string(begin) + ',' +
         std::to_string(end) + "]}";
}
std::string tensor_error(const std::string& bytes) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "value_heads.safetensors";
  std::ofstream(file, std::ios::binary) << bytes;
  try {
    ValueHead::load(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE_FIXTURE(test::InFolder, "a head is tanh of a weighted sum, worked out by hand") {
  const std::string file = folder / "value_heads.safetensors";
  const std::string header = "{" + tensor("plan.weight", 0, 8) + "," + tensor("plan.bias", 8, 12) + "," +
                             tensor("search.weight", 12, 20) + "," + tensor("search.bias", 20, 24) + "}";
  std::ofstream(file, std::ios::binary) << tensors(header, {0.5F, -1, 0.25F, 0, 2, 0});
  const ValueHead head = ValueHead::load(file);
  const auto [plan, search] = head({1, 0.5});
  CHECK(plan == doctest::Approx(std::tanh(0.25)));  // 0.5 - 0.5 + 0.25
  CHECK(search == doctest::Approx(std::tanh(1.0)));
  CHECK_THROWS_WITH_AS(static_cast<void>(head({1, 2, 3})),
                       (file + ": field 'dimension': is 2, the encoder's embeddings have 3 numbers").c_str(),
                       InputError);
}

TEST_CASE("a bad file of safetensors is refused with its tensor") {
  CHECK_THROWS_AS(ValueHead::load("/nowhere/heads.safetensors"), InputError);
  CHECK(tensor_error("abc").find("is no safetensors file") != std::string::npos);
  CHECK(tensor_error(tensors("{}", {})).find("'plan.weight': is missing") != std::string::npos);
  CHECK(tensor_error(tensors("{" + tensor("plan.weight", 0, 8) + "}", {1})).find("does not lie within the file") !=
        std::string::npos);
  CHECK(tensor_error(tensors("{" + tensor("plan.weight", 0, 8) + "}", {1, HUGE_VALF}))
            .find("'plan.weight': holds a number that is not finite") != std::string::npos);
  const std::string wide = "{" + tensor("plan.weight", 0, 8) + "," + tensor("plan.bias", 8, 12) + "," +
                           tensor("search.weight", 0, 4) + "," + tensor("search.bias", 8, 12) + "}";
  CHECK(tensor_error(tensors(wide, {1, 2, 3})).find("'search.weight': has 1 numbers, plan.weight has 2") !=
        std::string::npos);
}

}  // namespace value_head_test
