#pragma once

#include <espalier/core/nearest.hpp>
#include <espalier/run/method.hpp>
#ifndef ESPALIER_METHODS_ELSEWHERE
#include <espalier/run/built_in_methods.hpp>
#endif

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace espalier::run {

/// All methods by name. A method of one's own: `methods()["mine"] = [] { return std::make_unique<Mine>(); };` before the
/// first run.
#ifdef ESPALIER_METHODS_ELSEWHERE
std::map<std::string, MakeMethod>& methods();  // one file of the program defines it from built_in_methods()
#else
inline std::map<std::string, MakeMethod>& methods() {
  static std::map<std::string, MakeMethod> all = built_in_methods();
  return all;
}
#endif

inline std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : methods()) names.push_back(name);
  return names;
}

/// The method of that name. Throws std::invalid_argument that names the nearest one.
inline std::unique_ptr<Method> make_method(const std::string& name) {
  const auto method = methods().find(name);
  if (method == methods().end()) throw std::invalid_argument("unknown method '" + name + "', did you mean '" + nearest(name, method_names()) + "'?");
  return method->second();
}

}  // namespace espalier::run
