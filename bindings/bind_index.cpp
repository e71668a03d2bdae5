#include <espalier/core/error.hpp>

#include "parts.hpp"
#include <pybind11/stl/filesystem.h>
#ifdef ESPALIER_HAS_SIMDJSON
#include <espalier/run/build_index.hpp>
#include <espalier/run/index_folder.hpp>
#endif

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace espalier::python {

namespace {

#ifdef ESPALIER_HAS_SIMDJSON

/// An index folder as a retriever.
class Index : public RetrieverPart {
 public:
  explicit Index(const std::filesystem::path& folder) : Index(run::IndexFolder(folder)) {}
  [[nodiscard]] const run::IndexFolder& folder() const { return folder_; }

 private:
  explicit Index(run::IndexFolder folder)
      : RetrieverPart(opens<Query, Passages>(folder.bm25())), folder_(std::move(folder)) {}
  run::IndexFolder folder_;
};

/// Looks for signals and tells Python how far a build is, 20 times a second at most and at the end of a stage.
run::IndexProgress hook_of(const py::object& progress) {
  using Clock = std::chrono::steady_clock;
  return [told = Clock::time_point(), progress = progress.is_none() ? nullptr : shared(progress)](
             std::string_view stage, std::uint64_t done, std::uint64_t all) mutable {
    const auto now = Clock::now();
    if (now - told < std::chrono::milliseconds(50) && done < all) return;
    told = now;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (progress) (*progress)(stage, done, all);
  };
}

void bind_folder(py::module_& m) {
  py::class_<Index, RetrieverPart, std::shared_ptr<Index>>(
      m, "Index", "An index folder, mapped into memory: its passages, and BM25 over them as a retriever.")
      .def(py::init<const std::filesystem::path&>(), py::arg("folder"))
      .def("__len__", [](const Index& index) { return index.folder().corpus().size(); })
      .def("__getitem__",
           [](const Index& index, std::size_t i) {
             if (i >= index.folder().corpus().size()) throw py::index_error("the index has fewer passages");
             return index.folder().corpus()[i];
           })
      .def(
          "find",
          [](const Index& index, const std::string& id) -> std::optional<Passage> {
            const auto place = index.folder().corpus().find(id);
            if (!place) return std::nullopt;
            return index.folder().corpus()[*place];
          },
          py::arg("id"), "The passage with this id, or None.")
      .def(
          "verify",
          [](const Index& index) {
            const py::gil_scoped_release unlock;
            index.folder().verify();
          },
          "Reads every byte of its files; raises InputError at the first damage.")
      .def_property_readonly("description", [](const Index& index) { return run::describe(index.folder()); },
                             "What is in it, as JSON.");
  const run::Lexical lexical;
  m.def(
      "build_index",
      [](const std::filesystem::path& corpus, const std::filesystem::path& out, const std::string& analyzer, double k1, double b,
         unsigned threads, bool overwrite, const py::object& progress) {
        const run::IndexProgress hook = hook_of(progress);
        const py::gil_scoped_release unlock;
        run::build_index({corpus.string(), out.string(), {k1, b, analyzer}, threads, overwrite}, hook);
      },
      py::arg("corpus"), py::arg("out"), py::kw_only(), py::arg("analyzer") = lexical.analyzer,
      py::arg("k1") = lexical.k1, py::arg("b") = lexical.b, py::arg("threads") = 0, py::arg("overwrite") = false,
      py::arg("progress") = py::none(), "progress(stage, done, all) is told how far each stage is.");
}

#else

class Index : public RetrieverPart {
 public:
  using RetrieverPart::RetrieverPart;
};

void bind_folder(py::module_& m) {
  py::class_<Index, RetrieverPart, std::shared_ptr<Index>>(m, "Index")
      .def(left_out<std::shared_ptr<Index>>("reading JSON", "libsimdjson-dev"));
  m.def("build_index", [](const py::args&, const py::kwargs&) { throw MissingPart("reading JSON", "libsimdjson-dev"); });
}

#endif

}  // namespace

void bind_index(py::module_& m) { bind_folder(m); }

}  // namespace espalier::python
