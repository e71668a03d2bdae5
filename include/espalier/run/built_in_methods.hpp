#pragma once

#include <espalier/run/air.hpp>
#include <espalier/run/baselines.hpp>
#include <espalier/run/decex.hpp>
#include <espalier/run/decouple.hpp>
#include <espalier/run/pro.hpp>
#include <espalier/run/reason.hpp>

#include <map>
#include <memory>
#include <string>

namespace espalier::run {

/// The methods of this library by name. A program of many files compiles them once if it defines ESPALIER_METHODS_ELSEWHERE
/// everywhere and, in one file, methods() over this.
inline std::map<std::string, MakeMethod> built_in_methods() {
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
}

}  // namespace espalier::run
