#pragma once

#include <espalier/core/error.hpp>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::method {

/// The numbers that an option may have. It checks them and says itself which they are.
class Range {
 public:
  constexpr static Range at_least(double low) { return {low, infinite, false}; }
  constexpr static Range between(double low, double high) { return {low, high, false}; }
  constexpr static Range above(double low) { return {low, infinite, true}; }
  constexpr static Range any() { return {-infinite, infinite, true}; }
  [[nodiscard]] constexpr Range up_to(double high) const { return {low_, high, above_}; }
  [[nodiscard]] constexpr Range or_zero() const {
    Range other = *this;
    other.zero_ = true;
    return other;
  }

  [[nodiscard]] bool holds(double number) const {
    if (zero_ && number == 0) return true;
    return (above_ ? number > low_ : number >= low_) && number <= high_ && std::isfinite(number);
  }
  /// Such as "1 or more", "0 to 1" and "above 0, up to 1".
  [[nodiscard]] std::string text() const {
    const auto shown = [](double bound) { return std::to_string(static_cast<long long>(bound)); };
    if (low_ == -infinite) return "a number";
    std::string out = zero_ ? "0, or " : "";
    if (!above_) return out + shown(low_) + (high_ == infinite ? " or more" : " to " + shown(high_));
    out += "above " + shown(low_);
    return high_ == infinite ? out : out + ", up to " + shown(high_);
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr Range(double low, double high, bool above) : low_(low), high_(high), above_(above) {}
  double low_, high_;
  bool above_, zero_ = false;
};

namespace detail {

/// The value of an option, null if it has none.
template <class T>
const T* given(const T& field) {
  return &field;
}
template <class T>
const T* given(const std::optional<T>& field) {
  return field ? &*field : nullptr;
}
inline void check_number(std::string_view name, const auto& field, const Range& range) {
  if (const auto* number = given(field); number && !range.holds(static_cast<double>(*number)))
    bad_option(name, *number, range.text());
}

/// Checks the options that a struct describes, and keeps nothing. OptionTable does the same and more, for runs.
struct OptionCheck {
  OptionCheck& add(const char* name, const auto& number, const char*, const Range& range) {
    check_number(name, number, range);
    return *this;
  }
  OptionCheck& add(const char*, const bool&, const char*) { return *this; }
  OptionCheck& add(const char*, const std::string&, const char*, const char*) { return *this; }
  OptionCheck& add(const char*, const auto&, const char*, std::initializer_list<const char*>) { return *this; }
  OptionCheck& add(const char*, const auto&, const char*, const std::vector<std::string>&) { return *this; }
  OptionCheck& prune(const auto& policy, std::string_view engine = "") {
    policy.refuse(engine, !engine.empty(), !engine.empty());
    return *this;
  }
  OptionCheck& shown_if_changed() { return *this; }
};

/// The same options. Throws std::invalid_argument that names the first one that is out of its range. An options struct
/// says its fields in `describe(table)`, for an OptionCheck or an OptionTable.
template <class Options>
const Options& checked(const Options& options) {
  Options copy = options;
  OptionCheck check;
  copy.describe(check);
  return options;
}

}  // namespace detail

}  // namespace espalier::method
