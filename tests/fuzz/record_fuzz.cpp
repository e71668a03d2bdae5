// Records of a journal: what is accepted is what would have been written.
#include <espalier/backend/detail/journal/codec.hpp>

#include "fuzzing.hpp"

using namespace espalier;

namespace {

template <class T>
void attempt(const std::string& bytes) {
  try {
    fuzz::require(backend::detail::encode(backend::detail::decode<T>(bytes)) == bytes,
                  "an accepted record encodes to the same bytes");
  } catch (const Error& error) {
    fuzz::require(error.what()[0] != '\0', "an error says something");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = fuzz::text_of(data, size);
  attempt<Completion>(bytes);
  attempt<Passages>(bytes);
  attempt<Embedding>(bytes);
  return 0;
}
