#pragma once

#include <espalier/version.hpp>

#include <exception>
#include <utility>
#include <variant>

namespace espalier {

/// What a backend returns for one item: a value or an error.
template <class T>
class Outcome {
 public:
  Outcome(T value) : state_(std::move(value)) {}                   // NOLINT: a value is an outcome
  Outcome(std::exception_ptr error) : state_(std::move(error)) {}  // NOLINT: so is an error
  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  /// The value. Rethrows the error if there is none.
  [[nodiscard]] const T& value() const& {
    if (!ok()) std::rethrow_exception(std::get<1>(state_));
    return std::get<0>(state_);
  }
  [[nodiscard]] T value() && {
    if (!ok()) std::rethrow_exception(std::get<1>(state_));
    return std::move(std::get<0>(state_));
  }
  /// The error. Call it only if !ok().
  [[nodiscard]] const std::exception_ptr& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, std::exception_ptr> state_;
};

}  // namespace espalier
