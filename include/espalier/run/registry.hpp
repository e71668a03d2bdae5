#pragma once

#include <espalier/core/nearest.hpp>
#include <espalier/run/air.hpp>
#include <espalier/run/baselines.hpp>
#include <espalier/run/decex.hpp>
#include <espalier/run/decouple.hpp>
#include <espalier/run/pro.hpp>
#include <espalier/run/reason.hpp>

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace espalier::run {

using MakeMethod = std::function<std::unique_ptr<Method>()>;

/// All methods by name. A method of one's own: `methods()["mine"] = [] { return std::make_unique<Mine>(); };` before the
/// first run.
inline std::map<std::string, MakeMethod>& methods() {
  static std::map<std::string, MakeMethod> all = [] {
    std::map<std::string, MakeMethod> known{
        {"airrag", [] { return std::make_unique<AirMethod>(AirMethod::Variant::full); }},
        {"airrag-blender", [] { return std::make_unique<AirMethod>(AirMethod::Variant::blender); }},
        {"airrag-lite", [] { return std::make_unique<AirMethod>(AirMethod::Variant::lite); }},
        {"decex", [] { return std::make_unique<DecExMethod>(); }},
        {"decouple", [] { return std::make_unique<DecoupleMethod>(false); }},
        {"greedy-agent", [] { return std::make_unique<DecoupleMethod>(true); }},
        {"prorag", [] { return std::make_unique<ProRagMethod>(); }},
        {"reasonrag", [] { return std::make_unique<ReasonRagMethod>(); }},
    };
    for (const method::Baseline& one : baselines()) known[one.name] = [one] { return std::make_unique<BaselineMethod>(one); };
    return known;
  }();
  return all;
}

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
