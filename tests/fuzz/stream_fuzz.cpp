// Streams of events, and replies that come as chunks.
#include "fuzzing.hpp"

#include <espalier/backend/chat/openai_reply.hpp>
#include <espalier/backend/chat/streamed_reply.hpp>

using namespace espalier;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static backend::JsonReader json;
  static const std::vector<Prompt> prompts{Prompt("q", Sampling(), 1, 0), Prompt("q", Sampling(), 1, 1)};
  const std::string stream = fuzz::text_of(data, size);
  std::size_t length = 0;
  backend::for_each_event(stream, [&](std::string_view event) { length += event.size(); });
  fuzz::require(length <= stream.size(), "events are part of the stream");
  try {
    std::string whole = backend::StreamedReply::whole(stream, json);
    backend::read_completions(json.read(whole), prompts, backend::dialect_of(backend::Server::vllm));
  } catch (const BackendError& error) {
    fuzz::require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
