#include <espalier/version.hpp>

#include "bindings.hpp"

#include <string>

namespace espalier::python {

void bind_build(py::module_& m) {
  m.def(
      "build_info",
      [] {
        py::dict parts;  // None: the part exists and has no package to install
        const auto part = [&](const char* name, bool present, const char* package) {
          parts[name] = present ? py::object(py::none()) : py::object(py::str(package));
        };
#ifdef ESPALIER_HAS_CURL
        part("http", true, "");
#else
        part("http", false, "libcurl4-openssl-dev");
#endif
#ifdef ESPALIER_HAS_SIMDJSON
        part("json", true, "");
#else
        part("json", false, "libsimdjson-dev");
#endif
#ifdef ESPALIER_HAS_SQLITE
        part("journal", true, "");
#else
        part("journal", false, "libsqlite3-dev");
#endif
#ifdef ESPALIER_HAS_EIGEN
        part("value heads", true, "");
#else
        part("value heads", false, "libeigen3-dev");
#endif
#ifdef ESPALIER_HAS_FAISS
        part("faiss", true, "");
#else
        part("faiss", false, "libfaiss-dev and libopenblas-dev");
#endif
#ifdef ESPALIER_HAS_ZLIB
        part("gzip", true, "");
#else
        part("gzip", false, "zlib1g-dev");
#endif
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
      "Version, compiler, and of each optional part None or the Debian package that brings it.");
}

}  // namespace espalier::python
