#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/nearest.hpp>
#include <espalier/method/option_check.hpp>
#include <espalier/policy/any_pruning.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::method {

/// Named options that refer to fields of plain structs: the one place that says an option's name, help and range. From
/// it they are set from text, checked, written as JSON and listed. JSON shows a std::optional only when it is set.
class OptionTable {
 public:
  /// Says whose options these are, for errors.
  OptionTable& of(std::string owner) {
    of_ = std::move(owner);
    return *this;
  }
  /// Adds a number.
  OptionTable& add(std::string name, auto& field, std::string help, Range range) {
    put(name, field, std::move(help), range.text());
    entries_.back().check = [name, &field, range] { detail::check_number(name, field, range); };
    return *this;
  }
  /// Adds a flag.
  OptionTable& add(std::string name, bool& field, std::string help) {
    return put(std::move(name), field, std::move(help), "true, false");
  }
  /// Adds a text. `allowed` says in words what it may be.
  OptionTable& add(std::string name, std::string& field, std::string help, std::string allowed) {
    return put(std::move(name), field, std::move(help), std::move(allowed));
  }
  /// Adds a choice. Value i of the enumeration is called names[i].
  OptionTable& add(std::string name, auto& field, std::string help, std::vector<std::string> names) {
    using E = std::remove_cvref_t<decltype(*detail::given(field))>;
    std::string allowed;
    for (const auto& n : names) allowed += (allowed.empty() ? "" : ", ") + n;
    const auto set = [name, &field, names, allowed](std::string_view text) {
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == text) return void(field = static_cast<E>(i));
      bad_option(name, text, allowed);
    };
    const auto show = [&field, names] {
      const E* chosen = detail::given(field);
      return chosen ? json_of(names[static_cast<std::size_t>(*chosen)]) : unset;
    };
    entries_.push_back({std::move(name), "choice", std::move(help), allowed, set, show});
    return *this;
  }

  /// Adds the user's own pruning policy of a search. `engine`: one that asks only at values, "" = all moments.
  OptionTable& prune(AnyPruning& field, std::string_view engine = "") {
    const auto set = [&field](std::string_view text) { field = pruning_of(std::string(text)); };
    const auto show = [&field] { return field.empty() ? unset : json_of(field.name); };
    const std::string help = "which children of a node are cut besides (docs/policies.md)";
    entries_.push_back({"prune", "str", help, "policies such as top_k:2 or threshold:0.3", set, show});
    entries_.back().check = [&field, engine] { field.refuse(engine, !engine.empty(), !engine.empty()); };
    pruning_ = &field;
    return *this;
  }
  /// Sets that option to a policy.
  void prune_by(const AnyPruning& policy) {
    set("prune", "");
    *pruning_ = policy;
  }

  /// JSON shows the newest option only where it differs from its default: files of earlier versions keep their bytes.
  OptionTable& shown_if_changed() {
    entries_.back().left_out = entries_.back().show();
    return *this;
  }

  /// Sets an option. Throws std::invalid_argument that names the option, and for an unknown one the nearest.
  void set(std::string_view name, std::string_view text) {
    std::vector<std::string> names;
    for (auto& entry : entries_) {
      if (entry.name == name) return entry.set(text);
      names.push_back(entry.name);
    }
    throw std::invalid_argument("unknown option '" + std::string(name) + "'" + (of_.empty() ? "" : " of " + of_) +
                                espalier::detail::did_you_mean(name, names));
  }
  /// Throws std::invalid_argument that names the first option out of its range.
  void check() const {
    for (const auto& entry : entries_)
      if (entry.check) entry.check();
  }
  /// All options that are set as one JSON object, in the order in which they were added.
  [[nodiscard]] std::string json() const {
    std::string out;
    JsonWriter writer(out);
    writer.begin_object();
    for (const auto& entry : entries_)
      if (const std::string shown = entry.show(); shown != entry.left_out) writer.key(entry.name).raw(shown);
    writer.end_object();
    return out;
  }
  /// (name, default as JSON, allowed values, explanation, type) of each option. Types: bool, int, float, str, choice.
  [[nodiscard]] std::vector<std::array<std::string, 5>> help() const {
    std::vector<std::array<std::string, 5>> rows;
    for (const auto& e : entries_) rows.push_back({e.name, e.show(), e.allowed, e.help, e.type});
    return rows;
  }

 private:
  static constexpr const char* unset = "null";  ///< JSON of an option without a value
  struct Entry {
    std::string name, type, help, allowed;
    std::function<void(std::string_view)> set;
    std::function<std::string()> show;  ///< its value as JSON
    std::function<void()> check = {};
    std::string left_out = unset;  ///< the value with which it is not in JSON
  };

  OptionTable& put(std::string name, auto& field, std::string help, std::string allowed) {
    using T = std::remove_cvref_t<decltype(*detail::given(field))>;
    const auto set = [name, &field, allowed](std::string_view text) { field = read<T>(name, text, allowed); };
    const auto show = [&field] {
      const T* value = detail::given(field);
      return value ? json_of(*value) : unset;
    };
    entries_.push_back({std::move(name), type_of<T>(), std::move(help), std::move(allowed), set, show});
    return *this;
  }
  static std::string json_of(const auto& value) {
    std::string out;
    JsonWriter(out).value(value);
    return out;
  }

  template <class T>
  static std::string type_of() {
    if (std::same_as<T, bool>) return "bool";
    if (std::integral<T>) return "int";
    return std::floating_point<T> ? "float" : "str";
  }
  template <class T>
  static T read(const std::string& name, std::string_view text, const std::string& allowed) {
    if constexpr (std::same_as<T, std::string>) return std::string(text);
    else if constexpr (std::same_as<T, bool>) {
      if (text == "true" || text == "1") return true;
      if (text == "false" || text == "0") return false;
      bad_option(name, text, "true, false");
    } else {
      T value{};
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) bad_option(name, text, allowed);
      return value;
    }
  }
  std::string of_;
  AnyPruning* pruning_ = nullptr;
  std::vector<Entry> entries_;
};

}  // namespace espalier::method
