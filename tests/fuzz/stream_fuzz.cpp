// Replies that come as events or in lines.
#include <espalier/backend/chat/reply.hpp>

#include "fuzzing.hpp"

using namespace espalier;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static backend::detail::JsonReader json;
  static const std::vector<Prompt> prompts{Prompt("q", Sampling(), 1, 0), Prompt("q", Sampling(), 1, 1)};
  const std::string stream = fuzz::text_of(data, size);
  for (const auto server : {backend::Server::vllm, backend::Server::ollama}) try {
      std::string doubt;
      backend::detail::ChatReply::streamed(stream, backend::detail::dialect_of(server), json)
          .completions(prompts, doubt);
    } catch (const BackendError& error) {
      fuzz::require(error.what()[0] != '\0', "an error says something");
    }
  return 0;
}
