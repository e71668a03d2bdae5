#pragma once

#include <espalier/core/nearest.hpp>
#include <espalier/method/method.hpp>

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

namespace detail {

/// The methods of this program by name.
inline auto& methods() {
  static std::map<std::string, std::function<std::unique_ptr<Method>()>> all;
  return all;
}

}  // namespace detail

/// Registers a method under a name: `inline const Registered<Mine> mine("mine");` at namespace scope.
template <class Mine>
struct Registered {
  /// `args` are the constructor arguments of each new Mine.
  template <class... Args>
  explicit Registered(std::string name, Args... args) {
    detail::methods().insert_or_assign(std::move(name), [args...] { return std::make_unique<Mine>(args...); });
  }
};

/// The methods of this program: those whose faces it includes (<espalier/method/all.hpp> has all), and your own.
inline std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : detail::methods()) names.push_back(name);
  return names;
}

/// The method with this name. Throws std::invalid_argument that names the nearest one.
inline std::unique_ptr<Method> make_method(const std::string& name) {
  const auto method = detail::methods().find(name);
  if (method == detail::methods().end())
    throw std::invalid_argument("unknown method '" + name + "'" + espalier::detail::did_you_mean(name, method_names()));
  std::unique_ptr<Method> made = method->second();
  made->options().of(name);
  return made;
}

}  // namespace espalier::method
