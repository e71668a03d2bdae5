#pragma once

#include <espalier/backend/vector_retriever.hpp>
#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/journal.hpp>
#include <espalier/backend/sqlite_store.hpp>
#endif

#include "parts.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

/// How often an encoder part is opened. With `each_batch`, several threads may call it at once. With `once`, its
/// connections stay open for one pass over a corpus.
enum class Opened : std::uint8_t { each_batch, once };

/// An encoder as a batch function. A part is called and waited for.
inline backend::detail::AnyEncoder make_encoder(const py::object& encoder, Opened opened) {
  if (!is_part<EncodeRequest, Embedding>(encoder, "encoder")) {
    if (!asks_singly(encoder)) return Callable<EncodeRequest, Embedding>(encoder, "encoder");
    return make_encoder(py::cast(EncoderPart([kept = shared(encoder)] {
                          return make_service<EncodeRequest, Embedding>(*kept, "encoder");
                        })),
                        opened);
  }
  const auto part = encoder.cast<std::shared_ptr<EncoderPart>>();
  const std::shared_ptr<Service<EncodeRequest, Embedding>> service = opened == Opened::once ? part->open() : nullptr;
  return [part, service](std::span<const EncodeRequest> texts) {
    const py::gil_scoped_acquire lock;
    const std::vector<EncodeRequest> requests(texts.begin(), texts.end());
    return service ? EncoderPart::ask(*service, requests) : (*part)(requests);
  };
}

/// An encoder that is opened once, behind a journal that keeps its embeddings under this fingerprint.
inline backend::detail::AnyEncoder make_encoder([[maybe_unused]] const py::object& encoder,
                                                [[maybe_unused]] const std::string& journal,
                                                [[maybe_unused]] Hash fingerprint,
                                                [[maybe_unused]] const std::string& name) {
#ifdef ESPALIER_HAS_SQLITE
  using Inner = Guarded<EncodeRequest, Embedding, py::gil_scoped_acquire>;
  const auto store = std::make_shared<backend::SqliteStore>(journal);
  return make_encoder(py::cast(EncoderPart([=] {
                        auto asked =
                            std::make_unique<Inner>(open_backend<EncodeRequest, Embedding>(encoder, "encoder"));
                        return std::make_unique<backend::Journaled<EncodeRequest, Embedding>>(std::move(asked), store,
                                                                                              fingerprint, name);
                      })),
                      Opened::once);
#else
  throw MissingPart("the journal", "libsqlite3-dev");
#endif
}

/// A retriever as a part, whose index all runs share.
template <class Wrapped, class Retriever>
Wrapped shares(std::shared_ptr<Retriever> retriever, std::optional<Hash> identity = std::nullopt) {
  return Wrapped(opens<Query, Passages>([retriever](std::span<const Query> queries) { return (*retriever)(queries); }),
                 identity, fmt::format("{} passages", retriever->size()));
}

}  // namespace espalier::python
