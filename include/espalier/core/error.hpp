#pragma once

#include <espalier/version.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace espalier {

/// Base of all errors that Espalier throws, except bad options (std::invalid_argument).
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad input data. The message names the file, the line (from 1, 0 = the whole file) and the field.
class InputError : public Error {
 public:
  InputError(std::string_view file, std::size_t line, std::string_view field, std::string_view what)
      : Error(std::string(file) + (line ? ":" + std::to_string(line) : "") +
              (field.empty() ? "" : ": field '" + std::string(field) + "'") + ": " + std::string(what)) {}
};

/// A policy said something about a tree that cannot be. The message names the engine and the policy.
class PolicyError : public Error {
 public:
  using Error::Error;
};

/// A tree has no such node, or cannot take such a number. The message names it.
class TreeError : public Error {
 public:
  using Error::Error;
};

/// A backend failed. `transport` failures are retried, others are not (docs page "contracts").
class BackendError : public Error {
 public:
  enum class Kind { transport, permanent, too_long };  ///< too_long: the prompt does not fit into the model's context
  explicit BackendError(const std::string& what, Kind kind = Kind::transport) : Error(what), kind_(kind) {}
  [[nodiscard]] Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

/// A part that this build does not contain. The message names the package that provides it.
class MissingPart : public Error {
 public:
  MissingPart(std::string_view part, std::string_view package)
      : Error(std::string(part) + " is not in this build: install " + std::string(package) + " and build again") {}
};

/// Throws std::invalid_argument that names the option, its value and the allowed range.
[[noreturn]] inline void bad_option(std::string_view name, std::string_view value, std::string_view allowed) {
  throw std::invalid_argument("option '" + std::string(name) + "' is " + std::string(value) +
                              ", allowed: " + std::string(allowed));
}
[[noreturn]] void bad_option(std::string_view name, auto number, std::string_view allowed)
  requires requires { std::to_string(number); }
{
  bad_option(name, std::to_string(number), allowed);
}

}  // namespace espalier
