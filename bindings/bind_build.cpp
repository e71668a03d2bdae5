#include <espalier/version.hpp>

#include "bindings.hpp"

#include <string>
#include <utility>

namespace espalier::python {

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

}  // namespace espalier::python
