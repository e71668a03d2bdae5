// Files of indexes: a good file with some bytes changed and its end cut or grown. Every input is a list of edits, of
// four bytes each: position (three, little-endian) and what is added there; the first three are the length.
#include <espalier/backend/detail/index/checked_writer.hpp>
#include <espalier/backend/index/checked_file.hpp>

#include "fuzzing.hpp"

#include <fstream>
#include <iterator>

using namespace espalier;

namespace {

constexpr std::size_t text_size = 70'000;  // more than one block

std::string good_file() {
  const std::string path = fuzz::file_of("");
  backend::detail::CheckedWriter writer(path, "fuzzed", 1);
  writer.begin("numbers");
  const std::uint32_t numbers[] = {1, 2, 3};
  writer.write(std::span(numbers));
  writer.begin("text");
  writer.write(std::string(text_size, 'x'));
  writer.commit();
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t number(const std::uint8_t* at) {
  return std::size_t(at[0]) | std::size_t(at[1]) << 8 | std::size_t(at[2]) << 16;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string good = good_file();
  if (size < 3) return 0;
  std::string bytes = good;
  bytes.resize(number(data) % (good.size() + 2), '\0');
  for (std::size_t i = 3; i + 4 <= size && !bytes.empty(); i += 4) {
    char& byte = bytes[number(data + i) % bytes.size()];
    byte = static_cast<char>(byte + static_cast<char>(data[i + 3]));
  }
  const std::string path = fuzz::file_of(bytes);
  try {
    const backend::detail::CheckedFile file(path, "fuzzed", 1);
    const auto numbers = file.section("numbers").items<std::uint32_t>(0, 3);
    const auto text = file.section("text").text(0, text_size);
    file.verify();
    fuzz::require(bytes == good && numbers[2] == 3 && text.back() == 'x', "only the good file is accepted");
  } catch (const InputError& error) {
    fuzz::require(bytes != good && std::string_view(error.what()).starts_with(path), "an error names the file");
  }
  return 0;
}
