#pragma once

#include <espalier/backend/vector_retriever.hpp>
#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/journal.hpp>
#include <espalier/backend/sqlite_store.hpp>
#endif

#include "parts.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

/// An encoder as a batch function; a part is asked and waited for.
inline backend::AnyEncoder make_encoder(const py::object& encoder) {
  if (!py::isinstance<EncoderPart>(encoder)) {
    if (!PyCallable_Check(encoder.ptr()))
      throw py::type_error("the encoder must be a function of a list of requests or an Encoder, not " +
                           type_name(encoder));
    if (!asks_singly(encoder)) return Callable<EncodeRequest, Embedding>(encoder, "encoder");
    return make_encoder(py::cast(EncoderPart([kept = shared(encoder)] { return make_service<EncodeRequest, Embedding>(*kept, "encoder"); })));
  }
  return [part = encoder.cast<std::shared_ptr<EncoderPart>>()](std::span<const EncodeRequest> texts) {
    const py::gil_scoped_acquire lock;
    return (*part)(std::vector<EncodeRequest>(texts.begin(), texts.end()));
  };
}

/// Nothing for a function.
inline std::optional<Hash> fingerprint_of(const py::object& encoder) {
  return py::isinstance<EncoderPart>(encoder) ? encoder.cast<const EncoderPart&>().fingerprint : std::nullopt;
}

/// The same behind a journal, which keeps what was encoded under that fingerprint.
inline backend::AnyEncoder make_encoder([[maybe_unused]] const py::object& encoder, [[maybe_unused]] const std::string& journal,
                                        [[maybe_unused]] Hash fingerprint, [[maybe_unused]] const std::string& name) {
#ifdef ESPALIER_HAS_SQLITE
  using Inner = Guarded<EncodeRequest, Embedding, py::gil_scoped_acquire>;
  const auto store = std::make_shared<backend::SqliteStore>(journal);
  return make_encoder(py::cast(EncoderPart([=] {
    auto asked = std::make_unique<Inner>(open_backend<EncodeRequest, Embedding>(encoder, "encoder"));
    return std::make_unique<backend::Journaled<EncodeRequest, Embedding>>(std::move(asked), store, fingerprint, name);
  })));
#else
  throw MissingPart("the journal", "libsqlite3-dev");
#endif
}

}  // namespace espalier::python
