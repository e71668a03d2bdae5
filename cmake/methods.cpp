// The methods that our own programs of many files share, compiled once.
#include <espalier/run/built_in_methods.hpp>
#include <espalier/run/registry.hpp>

namespace espalier::run {

std::map<std::string, MakeMethod>& methods() {
  static std::map<std::string, MakeMethod> all = built_in_methods();
  return all;
}

}  // namespace espalier::run
