// Streams of events, and replies that come as chunks or in lines.
#include <espalier/backend/detail/chat/ollama.hpp>
#include <espalier/backend/detail/chat/openai_reply.hpp>
#include <espalier/backend/detail/chat/streamed_reply.hpp>

#include "fuzzing.hpp"

using namespace espalier;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static backend::detail::JsonReader json;
  static const std::vector<Prompt> prompts{Prompt("q", Sampling(), 1, 0), Prompt("q", Sampling(), 1, 1)};
  const std::string stream = fuzz::text_of(data, size);
  std::size_t length = 0;
  backend::detail::for_each_event(stream, [&](std::string_view event) { length += event.size(); });
  fuzz::require(length <= stream.size(), "events are part of the stream");
  backend::detail::UsageReader counts(backend::detail::most_usage(prompts, prompts.front().sampling().max_tokens, ""));
  const auto says_why = [](auto read) {
    try {
      read();
    } catch (const BackendError& error) {
      fuzz::require(error.what()[0] != '\0', "an error says something");
    }
  };
  says_why([&] {
    std::string whole = backend::detail::StreamedReply::whole(stream, json);
    backend::detail::read_completions(json.read(whole), prompts, backend::detail::dialect_of(backend::Server::vllm),
                                      counts);
  });
  says_why([&] {
    std::string whole = backend::detail::whole_ollama(stream, json);
    backend::detail::read_ollama(json.read(whole), prompts[0], counts);
  });
  return 0;
}
