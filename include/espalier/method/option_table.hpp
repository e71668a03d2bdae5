#pragma once

#include <espalier/core/detail/nearest.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::method {

/// Named options that refer to fields of plain structs. They can be set from text, written as JSON, and listed with
/// help.
class OptionTable {
 public:
  /// Says whose options these are, for errors.
  OptionTable& of(std::string owner) {
    of_ = std::move(owner);
    return *this;
  }
  /// Adds a number, a flag or a text. `allowed` is shown in errors and in help.
  template <class T>
    requires(!std::is_enum_v<T>)
  OptionTable& add(std::string name, T& field, std::string help, std::string allowed) {
    entries_.push_back({name, type_of<T>(), std::move(help), allowed,
                        [name, &field, allowed](std::string_view text) { field = read<T>(name, text, allowed); },
                        [&field](JsonWriter& json) { json.value(field); }});
    return *this;
  }
  /// Adds an optional value. JSON shows it only when it is set.
  template <class T>
  OptionTable& add(std::string name, std::optional<T>& field, std::string help, std::string allowed) {
    entries_.push_back({name, type_of<T>(), std::move(help), allowed,
                        [name, &field, allowed](std::string_view text) { field = read<T>(name, text, allowed); },
                        [&field](JsonWriter& json) {
                          if (field) json.value(*field);
                          else json.null();
                        },
                        [&field] { return field.has_value(); }});
    return *this;
  }
  /// Adds a choice. Value i of the enumeration is called names[i].
  template <class E>
    requires std::is_enum_v<E>
  OptionTable& add(std::string name, E& field, std::string help, std::vector<std::string> names) {
    std::string allowed;
    for (const auto& n : names) allowed += (allowed.empty() ? "" : ", ") + n;
    const auto set = [name, &field, names, allowed](std::string_view text) {
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == text) return void(field = static_cast<E>(i));
      bad_option(name, text, allowed);
    };
    entries_.push_back({name, "choice", std::move(help), allowed, set,
                        [&field, names](JsonWriter& json) { json.value(names[static_cast<std::size_t>(field)]); }});
    return *this;
  }

  /// JSON shows the newest option only where it differs from its default, so that files of earlier versions keep their
  /// bytes.
  OptionTable& shown_if_changed() {
    const auto shown = [show = entries_.back().show] {
      std::string out;
      JsonWriter writer(out);
      show(writer);
      return out;
    };
    entries_.back().is_set = [shown, plain = shown()] { return shown() != plain; };
    return *this;
  }

  /// Adds an optional choice. JSON shows it only when it is set.
  template <class E>
    requires std::is_enum_v<E>
  OptionTable& add(std::string name, std::optional<E>& field, std::string help, std::vector<std::string> names) {
    // The form for plain choices sets and shows `value`, which is copied to and from the field.
    auto value = std::make_shared<E>();
    add(std::move(name), *value, std::move(help), std::move(names));
    Entry& entry = entries_.back();
    entry.set = [set = std::move(entry.set), value, &field](std::string_view text) { set(text), field = *value; };
    entry.show = [show = std::move(entry.show), value, &field](JsonWriter& json) {
      if (field) *value = *field, show(json);
      else json.null();
    };
    entry.is_set = [&field] { return field.has_value(); };
    return *this;
  }

  /// Sets an option. Throws std::invalid_argument that names the option. For an unknown option it names the nearest
  /// one.
  void set(std::string_view name, std::string_view text) {
    std::vector<std::string> names;
    for (auto& entry : entries_) {
      if (entry.name == name) return entry.set(text);
      names.push_back(entry.name);
    }
    throw std::invalid_argument("unknown option '" + std::string(name) + "'" + (of_.empty() ? "" : " of " + of_) +
                                espalier::detail::did_you_mean(name, names));
  }
  /// All options that are set as one JSON object, in the order in which they were added.
  [[nodiscard]] std::string json() const {
    std::string out;
    JsonWriter writer(out);
    writer.begin_object();
    for (const auto& entry : entries_) {
      if (entry.is_set && !entry.is_set()) continue;
      writer.key(entry.name);
      entry.show(writer);
    }
    writer.end_object();
    return out;
  }
  /// (name, default as JSON, allowed values, explanation, type) of each option. The types are bool, int, float, str,
  /// and choice, which is one of the allowed words.
  [[nodiscard]] std::vector<std::array<std::string, 5>> help() const {
    std::vector<std::array<std::string, 5>> rows;
    for (const auto& entry : entries_) {
      std::string shown;
      JsonWriter writer(shown);
      entry.show(writer);
      rows.push_back({entry.name, shown, entry.allowed, entry.help, entry.type});
    }
    return rows;
  }

 private:
  struct Entry {
    std::string name, type, help, allowed;
    std::function<void(std::string_view)> set;
    std::function<void(JsonWriter&)> show;
    std::function<bool()> is_set = {};  ///< null = always
  };

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
  std::vector<Entry> entries_;
};

}  // namespace espalier::method
