#include <espalier/backend/detail/journal/codec.hpp>
#include <espalier/core/seed.hpp>

#include <doctest/doctest.h>

namespace codec_mutation_test {

namespace {

using namespace espalier;
using backend::detail::decode;
using backend::detail::encode;

/// Changes some bytes, cuts, doubles or extends: what damage does to a record.
std::string mutated(std::string bytes, Random& random) {
  const std::uint32_t changes = 1 + random.below(3);
  for (std::uint32_t i = 0; i < changes; ++i) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    const std::uint32_t at = size ? random.below(size) : 0;
    switch (random.below(5)) {
      case 0:
        if (size) bytes[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        if (size) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, random.below(16)));
        break;
      default:
        if (size >= at + 4) bytes.replace(at, 4, random.below(2) ? "\xFF\xFF\xFF\xFF" : std::string(4, '\0'));
        break;
    }
  }
  return bytes;
}

/// Every mutation is refused with an Error or means another value that encodes to exactly those bytes.
template <class T>
void check_mutations(const T& value, std::uint64_t seed) {
  const std::string good = encode(value);
  Random random{Seed(seed)};
  int refused = 0, accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string bytes = mutated(good, random);
    try {
      const T other = decode<T>(bytes);
      ++accepted;
      REQUIRE(encode(other) == bytes);
    } catch (const Error& error) {
      ++refused;
      REQUIRE(std::string(error.what()).size() > 8);
    }
  }
  CHECK(refused > 1000);
  CHECK(accepted > 100);
}

}  // namespace

TEST_CASE("random damage never crashes the decoder and never passes for another encoding") {
  Completion completion("An <answer>42</answer> in some text");
  completion.prompt_tokens = 70000;
  completion.logprob = -1.5;
  check_mutations(completion, 1);
  completion.tokens = {{"An", -0.5}, {" <answer>", -1}};
  check_mutations(completion, 4);
  check_mutations(
      Passages{Passage("p1", "Ada", "wrote notes", 12.25), Passage("", "", "", 0), Passage("p3", "t", "text", 1)}, 2);
  check_mutations(Embedding{0.5F, -2.0F, 3.0e38F}, 3);
}

}  // namespace codec_mutation_test
