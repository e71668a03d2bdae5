#include <espalier/backend/detail/journal/codec.hpp>
#include <espalier/core/seed.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace codec_test {

namespace {

using namespace espalier;
using namespace espalier::backend::detail;

Completion completion() {
  Completion c("An <answer>42</answer> with \xE2\x82\xAC, \xFF and a \0 byte");
  c.text += '\0';
  c.finish = Completion::Finish::length;
  c.prompt_tokens = 70000;
  c.completion_tokens = 3;
  c.logprob = -1.5;
  return c;
}

Passages passages() {
  return {Passage("p1", "Ada Lovelace", "wrote notes", 12.25), Passage("", "", "", -0.0),
          Passage("p3", "title", std::string(3000, 'x'), std::numeric_limits<double>::infinity())};
}

Embedding embedding() { return {0.5F, -0.0F, std::numeric_limits<float>::denorm_min(), 3.0e38F}; }

}  // namespace

TEST_CASE("a completion comes back from its bytes without loss") {
  const Completion c = completion();
  const auto back = decode<Completion>(encode(c));
  CHECK(back.text == c.text);
  CHECK(back.finish == Completion::Finish::length);
  CHECK(back.prompt_tokens == 70000);
  CHECK(back.completion_tokens == 3);
  CHECK(back.logprob == -1.5);
  CHECK(back.tokens.empty());
  CHECK_FALSE(decode<Completion>(encode(Completion("no score"))).logprob.has_value());
  Completion spelt = c;
  spelt.tokens = {{"An", -0.5}, {" <", -1}};
  CHECK(decode<Completion>(encode(spelt)).tokens == spelt.tokens);
  for (const Completion::Finish finish : {Completion::Finish::stop, Completion::Finish::other,
                                          Completion::Finish::too_long, Completion::Finish::refused}) {
    Completion ended("a");
    ended.finish = finish;
    CHECK(decode<Completion>(encode(ended)).finish == finish);
  }
  for (Completion one : {Completion("a"), c, spelt}) {
    one.damaged = true;
    CHECK(decode<Completion>(encode(one)).damaged);
    one.thinking_tokens = 513;
    for (const std::vector<double>& logprobs : {std::vector<double>(), {-0.5, 0}}) {
      one.sampled = {{0, 2147483647}, logprobs};
      const auto read = decode<Completion>(encode(one));
      CHECK(read.thinking_tokens == 513);
      CHECK(read.logprob == one.logprob);
      CHECK(read.tokens == one.tokens);
      CHECK(read.sampled == one.sampled);
    }
  }
}

TEST_CASE("passages come back whole, with the bits of their scores") {
  const Passages back = decode<Passages>(encode(passages()));
  CHECK(back == passages());
  CHECK(std::signbit(back[1].score()));
  CHECK(decode<Passages>(encode(Passages())).empty());
}

TEST_CASE("an embedding comes back with its bits") {
  const Embedding back = decode<Embedding>(encode(embedding()));
  CHECK(back == embedding());
  CHECK(std::signbit(back[1]));
}

TEST_CASE("the bytes are the documented ones, on every machine") {
  Completion c("hi");
  c.prompt_tokens = 258;
  const std::string expected(
      "\x01\x01"
      "\x02\x00\x00\x00"
      "hi"
      "\x00"
      "\x02\x01\x00\x00"
      "\x00\x00\x00\x00"
      "\x00",
      18);
  CHECK(encode(c) == expected);
  c.thinking_tokens = 1;
  CHECK(encode(c) == expected.substr(0, 17) + std::string("\x04\x01\x00\x00\x00", 5));
  c.thinking_tokens = 0;
  c.sampled.ids = {258};
  const std::string kept("\x10\x01\x00\x00\x00\x02\x01\x00\x00\x00\x00\x00\x00", 13);
  CHECK(encode(c) == expected.substr(0, 17) + kept);
  CHECK_THROWS_AS(decode<Completion>(expected.substr(0, 17) + kept.substr(0, 8) + "\x80" + kept.substr(9)), Error);
  CHECK(encode(Embedding{1.0F}) == std::string("\x01\x03\x01\x00\x00\x00\x00\x00\x80\x3F", 10));
}

TEST_CASE("damaged bytes are refused with a reason") {
  CHECK_THROWS_WITH_AS(decode<Completion>(""), "the record ends too early", Error);
  std::string bytes = encode(completion());
  CHECK_THROWS_WITH_AS(decode<Completion>(bytes + "x"), "the record has 1 bytes too many", Error);
  CHECK_THROWS_WITH_AS(decode<Passages>(bytes), "the record is of kind 1", Error);
  bytes[0] = 2;
  CHECK_THROWS_WITH_AS(decode<Completion>(bytes), "the record has version 2, this build reads 1", Error);
  const std::string huge("\x01\x02\xFF\xFF\xFF\xFF", 6);  // four billion passages in no bytes
  CHECK_THROWS_WITH_AS(decode<Passages>(huge), "the record ends too early", Error);
}

TEST_CASE("a truncated record is refused at every length") {
  Completion kept = completion();
  kept.sampled = {{1, 2}, {-1, -2}};
  for (const std::string& bytes : {encode(kept), encode(completion()), encode(passages()), encode(embedding())})
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      const std::string_view cut = std::string_view(bytes).substr(0, n);
      CHECK_THROWS_AS(decode<Completion>(cut), Error);
      CHECK_THROWS_AS(decode<Passages>(cut), Error);
      CHECK_THROWS_AS(decode<Embedding>(cut), Error);
    }
}

namespace {

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

}  // namespace codec_test
