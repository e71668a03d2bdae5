#ifdef ESPALIER_HAS_SIMDJSON
#include <espalier/core/error.hpp>
#include <espalier/run/build_index.hpp>
#include <espalier/run/index_folder.hpp>

#include "encoders.hpp"
#include <pybind11/stl/filesystem.h>
#ifdef ESPALIER_HAS_EIGEN
#include <espalier/backend/dense.hpp>
#endif

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace espalier::python {

namespace {

/// An index folder as a retriever.
class Index : public RetrieverPart {
 public:
  explicit Index(const std::filesystem::path& folder) : Index(run::detail::IndexFolder(folder)) {}
  [[nodiscard]] const run::detail::IndexFolder& folder() const { return folder_; }

 private:
  explicit Index(run::detail::IndexFolder folder)
      : RetrieverPart(opens<Query, Passages>(folder.bm25()), std::nullopt,
                      fmt::format("{} passages", folder.corpus().size())),
        folder_(std::move(folder)) {}
  run::detail::IndexFolder folder_;
};

/// Checks for signals, and tells Python how far a build is, at most 20 times per second and at the end of a stage.
run::IndexProgress index_hook(const py::object& progress) {
  using Clock = std::chrono::steady_clock;
  return [told = Clock::time_point(), progress = progress.is_none() ? nullptr : shared(progress)](
             std::string_view stage, std::uint64_t done, std::uint64_t all) mutable {
    const auto now = Clock::now();
    if (now - told < std::chrono::milliseconds(50) && done < all) return;
    told = now;
    const py::gil_scoped_acquire lock;
    check_signals();
    if (progress) (*progress)(stage, done, all);
  };
}

/// The encoding of an index, None = no vectors.
std::optional<run::IndexOptions::Encoding> encoding_of(const py::object& encoder, std::string name,
                                                       const std::string& metric, const std::string& journal) {
  if (encoder.is_none()) return std::nullopt;
  if (name.empty()) name = py::str(py::getattr(encoder, "model", py::str("")));
  const auto fingerprint = fingerprint_of<EncodeRequest, Embedding>(encoder);
  const Hash key = fingerprint.value_or(Hasher().add(std::string_view("encoder")).add(name).finish());
  return run::IndexOptions::Encoding{
      journal.empty() ? make_encoder(encoder, Opened::once) : make_encoder(encoder, journal, key, name), name,
      py::str(py::getattr(encoder, "profile", py::str("none"))), fingerprint, backend::detail::metric_named(metric)};
}

/// The vectors of an index as a retriever. `encoder` encodes the queries.
std::shared_ptr<RetrieverPart> dense_of([[maybe_unused]] const Index& index, [[maybe_unused]] const py::object& encoder,
                                        [[maybe_unused]] std::size_t threads) {
#ifdef ESPALIER_HAS_EIGEN
  using Dense = backend::VectorRetriever<backend::DenseIndex, backend::MappedCorpus>;
  const auto fingerprint = fingerprint_of<EncodeRequest, Embedding>(encoder);
  backend::DenseIndex vectors(index.folder().dense(), threads);
  index.folder().check_encoder(py::str(py::getattr(encoder, "model", py::str(""))), fingerprint);
  const auto searched =
      std::make_shared<Dense>(index.folder().corpus(), std::move(vectors), make_encoder(encoder, Opened::each_batch));
  std::optional<Hash> identity;
  if (fingerprint) identity = Hasher().add(searched->fingerprint()).add(*fingerprint).finish();
  return std::make_shared<RetrieverPart>(shares<RetrieverPart>(searched, identity));
#else
  throw MissingPart("exact dense search", "libeigen3-dev");
#endif
}

}  // namespace

void bind_index(py::module_& m) {
  py::class_<Index, RetrieverPart, std::shared_ptr<Index>>(
      m, "Index", "An index folder, mapped into memory: its passages, and BM25 over them as a retriever.")
      .def(py::init<const std::filesystem::path&>(), py::arg("folder"))
      .def("__len__", [](const Index& index) { return index.folder().corpus().size(); })
      .def("__getitem__",
           [](const Index& index, std::size_t i) {
             if (i >= index.folder().corpus().size()) throw py::index_error("the index has fewer passages");
             return index.folder().corpus()[i];
           })
      .def("dense", &dense_of, py::arg("encoder"), py::kw_only(), py::arg("threads") = 1,
           "Exact search over its vectors, a retriever; the encoder must be the one that made them.")
      .def(
          "verify",
          [](const Index& index) {
            const py::gil_scoped_release unlock;
            index.folder().verify();
          },
          "Reads every byte of its files; raises InputError at the first damage.")
      .def_property_readonly(
          "description", [](const Index& index) { return run::detail::describe(index.folder()); },
          "What is in it, as JSON.");
  const run::Lexical lexical;
  m.def(
      "build_index",
      [](const std::filesystem::path& corpus, const std::filesystem::path& out, const std::string& analyzer, double k1,
         double b, unsigned threads, bool overwrite, const py::object& encoder, const std::string& encoder_name,
         const std::string& metric, const std::string& journal, const py::object& progress) {
        const run::IndexProgress hook = index_hook(progress);
        const run::IndexOptions options{corpus.string(),   out.string(),
                                        {k1, b, analyzer}, threads,
                                        overwrite,         encoding_of(encoder, encoder_name, metric, journal)};
        const py::gil_scoped_release unlock;
        run::build_index(options, hook);
      },
      py::arg("corpus"), py::arg("out"), py::kw_only(), py::arg("analyzer") = lexical.analyzer,
      py::arg("k1") = lexical.k1, py::arg("b") = lexical.b, py::arg("threads") = 0, py::arg("overwrite") = false,
      py::arg("encoder") = py::none(), py::arg("encoder_name") = "", py::arg("metric") = "inner_product",
      py::arg("journal") = "", py::arg("progress") = py::none(),
      "With an encoder, a function or HttpEncoder, the index has vectors for Index.dense; a function needs an "
      "encoder_name. What is in the journal, a file, under the encoder's fingerprint (a function's: its encoder_name) "
      "is not encoded again. progress(stage, done, all) is told how far each stage is.");
}

}  // namespace espalier::python

#endif
