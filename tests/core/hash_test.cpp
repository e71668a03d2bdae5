#include <espalier/core/hash.hpp>
#include <espalier/core/seed.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <set>
#include <string>
#include <vector>

namespace hash_test {

using namespace espalier;
using namespace espalier::detail;

TEST_CASE("mix64 is splitmix64") {
  CHECK(mix64(0) == 0xe220a8397b1dcdafULL);  // first output of the published generator seeded with 0
  CHECK(mix64(1) == 0x910a2dec89025cc1ULL);
}

TEST_CASE("hashes are the same on every platform and for ever") {
  // Worked out by a second implementation, in Python. A change here orphans every journal.
  CHECK(Hasher().finish().hex() == "1b5337a7dfe84757f4bfe58e5c9cc598");
  CHECK(Hasher().add("abc").finish().hex() == "aaf2593ed527cd95586914ab0cdaf19e");
  CHECK(Hasher().add("espalier: a tree trained against a frame").finish().hex() == "f0b5752798f42c7917b24cf10715d697");
  CHECK(Hasher().add(std::uint64_t(42)).finish().hex() == "381797d009b5588c5bca02543e02bc70");
  CHECK(Hasher().add(1.5).finish().hex() == "75debe95c456a196248ccd8b4f9cdf89");
}

TEST_CASE("fields do not run into each other") {
  CHECK(Hasher().add("ab").add("c").finish() != Hasher().add("a").add("bc").finish());
  CHECK(Hasher().add("").add("a").finish() != Hasher().add("a").add("").finish());
  CHECK(Hasher().add("a").finish() != Hasher().add("a").add("").finish());
  CHECK(Hasher().add(std::string_view("a\0", 2)).finish() != Hasher().add("a").finish());
  CHECK(Hasher().add("\x61").finish() != Hasher().add(std::uint64_t(0x61)).finish());
  CHECK(Hasher().add(0.0).finish() == Hasher().add(-0.0).finish());
  CHECK(Hasher().add(1.0).finish() != Hasher().add(std::uint64_t(1)).finish());
}

TEST_CASE("one changed bit changes about half of the bits of a hash") {
  double flipped = 0;
  int pairs = 0;
  for (std::size_t length : {1u, 7u, 8u, 9u, 40u}) {
    const std::string text(length, 'x');
    const Hash before = Hasher().add(text).finish();
    for (std::size_t bit = 0; bit < 8 * length; ++bit, ++pairs) {
      std::string other = text;
      other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
      const Hash after = Hasher().add(other).finish();
      const int n = std::popcount(before.high ^ after.high) + std::popcount(before.low ^ after.low);
      CHECK(n > 32);
      CHECK(n < 96);
      flipped += n;
    }
  }
  CHECK(flipped / pairs == doctest::Approx(64).epsilon(0.03));
}

TEST_CASE("a hundred thousand small inputs give as many hashes in each half") {
  std::set<std::uint64_t> high, low;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const Hash h = Hasher().add(i).finish();
    high.insert(h.high);
    low.insert(h.low);
  }
  CHECK(high.size() == 100'000);
  CHECK(low.size() == 100'000);
}

TEST_CASE("seeds are derived from run, question, path and purpose alone") {
  const Seed root(7, "q1");
  CHECK(root.value() == 0xcb07a470d857fabaULL);  // these four by the second implementation as well
  CHECK(root.child(0).value() == 0xe6fd869253002811ULL);
  CHECK(root.child(1).child(2).value() == 0x19e7159d784afb8eULL);
  CHECK(root.purpose("rollout").value() == 0xca6bdc9ceddf89a5ULL);
  CHECK(root.child(1).purpose("rollout").child(2).origin() == root.value());
}

TEST_CASE("seeds of different places differ") {
  std::set<std::uint64_t> seeds;
  std::size_t n = 0;
  for (std::uint64_t run = 0; run < 5; ++run)
    for (const char* question : {"", "a", "b", "ab"}) {
      const Seed root(run, question);
      seeds.insert(root.value());
      seeds.insert(root.purpose("x").value());
      n += 2;
      for (std::uint64_t i = 0; i < 20; ++i) {
        seeds.insert(root.child(i).value());
        seeds.insert(root.child(i).purpose("x").value());
        n += 2;
        for (std::uint64_t j = 0; j < 20; ++j, ++n) seeds.insert(root.child(i).child(j).value());
      }
    }
  CHECK(seeds.size() == n);
}

TEST_CASE("random numbers follow from the seed and spread evenly") {
  Random random{Seed(5)};
  CHECK(Random(Seed(5)).next() == 0x63033b0ca389c35aULL);
  CHECK(Random(Seed(5)).uniform() == 0.386768045983934);
  CHECK(Random(Seed(5)).below(10) == 3);
  std::vector<int> counts(10);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    ++counts[random.below(10)];
    const double u = random.uniform();
    CHECK_MESSAGE((u >= 0 && u < 1), u);
    sum += u;
  }
  for (const int c : counts) CHECK(c == doctest::Approx(10'000).epsilon(0.05));
  CHECK(sum / 100'000 == doctest::Approx(0.5).epsilon(0.01));
}

}  // namespace hash_test
