// expect: conver
#include <espalier/core/hash.hpp>

#include <cstdint>

int main() {
  const espalier::Hash hash = espalier::Hasher().add("a").finish();
#ifdef FAIL
  const std::uint64_t key = hash;  // would drop half of the identity
#else
  const std::uint64_t key = hash.low;
#endif
  return static_cast<int>(key & 1);
}
