// What servers send: completions, hits, embeddings, errors. The first byte chooses the reader.
#include <espalier/backend/chat/reply.hpp>
#include <espalier/backend/http_retriever.hpp>

#include "fuzzing.hpp"

using namespace espalier;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static backend::detail::JsonReader json;
  static const std::vector<Prompt> prompts = [] {
    Sampling sampling;
    sampling.stop = {"</answer>", "\n\n"};
    sampling.logprobs = true;
    return std::vector<Prompt>{Prompt("q", sampling, 1, 0), Prompt("q", sampling, 1, 1)};
  }();
  std::string text = fuzz::text_of(data + 1, size - 1);
  try {
    const simdjson::dom::element root = json.read(text);
    fuzz::require(simdjson::validate_utf8(text), "a reply that was read is UTF-8");
    const std::uint8_t reader = data[0] % 4;  // '0' is the first
    if (reader % 3 == 0) {
      const auto server = reader == 0 ? backend::Server::llamacpp : backend::Server::ollama;
      std::string doubt;
      auto reply = backend::detail::ChatReply::whole(root, backend::detail::dialect_of(server));
      const auto completions = reply.completions(prompts, doubt);
      fuzz::require(completions.size() == prompts.size(), "a place for every sample");
      for (const auto& completion : completions) {
        fuzz::require(!completion || simdjson::validate_utf8(completion->text), "completions are UTF-8");
        fuzz::require(!completion || (completion->prompt_tokens <= backend::detail::Usage::most &&
                                      completion->completion_tokens <= backend::detail::Usage::most),
                      "no more tokens than a model has");
      }
    } else if (simdjson::dom::array hits; reader == 1) {
      if (!root.get(hits)) fuzz::require(backend::detail::read_hits(hits, 3).size() <= 3, "no more than k hits");
    } else {
      backend::detail::read_embedding(root);
    }
  } catch (const BackendError& error) {
    fuzz::require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
