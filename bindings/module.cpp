#include <espalier/core/error.hpp>
#include <espalier/version.hpp>

#include "bindings.hpp"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::python {

namespace {

void bind_build(py::module_& m) {
  m.def(
      "build_info",
      [] {
        static constexpr std::pair<const char*, const char*> all[] = {
#include <espalier_parts.inc>
        };
        py::dict parts;  // None: the part is there
        for (const auto& [name, left_out] : all)
          parts[name] = *left_out ? py::object(py::str(left_out)) : py::object(py::none());
        py::dict info;
        info["version"] = std::string(version);
#ifdef __clang__
        info["compiler"] = "clang " __clang_version__;
#else
        info["compiler"] = "g++ " __VERSION__;
#endif
        info["parts"] = parts;
        return info;
      },
      "Version, compiler, and of each optional part None or why it was left out.");
}

/// What this build was made without: the constructor of each such class, and each such function, says which part that
/// is, and which packages bring it.
void stand_in(const py::module_& m) {
  using Names = std::vector<const char*>;
  const std::tuple<const char*, const char*, Names> parts[] = {
      {"exact dense search", "libeigen3-dev", {"Dense"}},
      {"faiss retrieval", "libfaiss-dev and libopenblas-dev", {"Faiss"}},
      {"the client for servers",
       "libcurl4-openssl-dev and libsimdjson-dev",
       {"OpenAi", "HttpRetriever", "HttpEncoder", "HttpScorer", "HttpReranker"}},
      {"the journal", "libsqlite3-dev and libsimdjson-dev", {"ingest_batch", "check_journal", "copy_journal"}},
      {"reading JSON",
       "libsimdjson-dev",
       {"Index", "build_index", "read_questions", "read_passages", "read_trees", "run_job", "check_job", "try_prompts",
        "Answering", "changed_outputs", "note_outputs", "write_json", "gold_name", "unread_gold"}},
  };
  const py::object make_class = py::module_::import("builtins").attr("type");
  for (const auto& [part, packages, names] : parts)
    for (const char* name : names) {
      if (py::hasattr(m, name)) continue;
      py::dict members;
      members["__init__"] = py::cpp_function([part = part, packages = packages](const py::args&, const py::kwargs&) {
        throw MissingPart(part, packages);
      });
      m.attr(name) = make_class(name, py::tuple(), members);
    }
}

void bind_all(py::module_& m) {
  bind_errors();
  bind_build(m);
  // A family comes after those whose types it names.
  for (Bind* bind :
       {bind_data, bind_prompt, bind_rewards, bind_local_backends, bind_dense, bind_environment, bind_tree, bind_search,
        bind_pruning, bind_engines, bind_job, bind_files, bind_shards, bind_method, bind_problem})
    bind(m);
#ifdef ESPALIER_HAS_CURL
  bind_http(m);
#endif
#ifdef ESPALIER_HAS_SIMDJSON
  for (Bind* bind : {bind_index, bind_answering, bind_read}) bind(m);
#endif
#ifdef ESPALIER_HAS_SQLITE
  bind_journal(m);
#endif
  stand_in(m);
  shorten_mismatches(m);
}

}  // namespace

}  // namespace espalier::python

PYBIND11_MODULE(_core, m) {
  m.doc() = "The compiled part of Espalier. Use the package espalier, which names everything here.";
  espalier::python::bind_all(m);
}
