// What servers send: completions, hits, embeddings, errors. The first byte chooses the reader.
#include <espalier/backend/detail/chat/ollama.hpp>
#include <espalier/backend/detail/chat/openai_reply.hpp>
#include <espalier/backend/detail/http/read_embedding.hpp>
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
  static const backend::detail::Usage most =
      backend::detail::most_usage(prompts, prompts.front().sampling().max_tokens, "");
  backend::detail::UsageReader counts(most);
  std::string text = fuzz::text_of(data + 1, size - 1);
  try {
    const simdjson::dom::element root = json.read(text);
    fuzz::require(simdjson::validate_utf8(text), "a reply that was read is UTF-8");
    switch (data[0] % 4) {  // '0' is the first
      case 0: {
        const auto completions = backend::detail::read_completions(
            root, prompts, backend::detail::dialect_of(data[0] % 2 ? backend::Server::vllm : backend::Server::llamacpp),
            counts);
        fuzz::require(completions.size() == prompts.size(), "a place for every sample");
        for (const auto& completion : completions)
          fuzz::require(!completion || simdjson::validate_utf8(completion->text), "completions are UTF-8");
        for (const auto& completion : completions)
          fuzz::require(!completion || (completion->prompt_tokens <= most.prompt &&
                                        completion->completion_tokens <= most.completion),
                        "no more tokens than were asked for");
        break;
      }
      case 1: {
        simdjson::dom::array hits;
        if (!root.get(hits)) fuzz::require(backend::detail::read_hits(hits, 3).size() <= 3, "no more than k hits");
        break;
      }
      case 2:
        backend::detail::read_embedding(root);
        break;
      default:
        fuzz::require(simdjson::validate_utf8(backend::detail::read_ollama(root, prompts[0], counts).text),
                      "completions are UTF-8");
    }
  } catch (const BackendError& error) {
    fuzz::require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
