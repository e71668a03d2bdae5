#pragma once

#include <espalier/core/error.hpp>
#include <espalier/output/detail/html.hpp>

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::output::detail {

/// The head of report.html: a run's summary as static HTML, readable without scripts. Known members have their own
/// place. Every other object in the summary is shown as a table, so a method may add its own counts.
class ReportSummary {
 public:
  /// Throws InputError if `json` is not an object.
  explicit ReportSummary(std::string_view json) {
    if (parser_.parse(json.data(), json.size()).get(summary_) != simdjson::SUCCESS)
      throw InputError("summary.json", 0, "", "is not a JSON object");
    if (flag("oracle")) label_ = "oracle";
    if (flag("simulated")) label_ += label_.empty() ? "simulated model" : ", simulated model";
  }
  /// The label of every score of the run: "oracle", "simulated model", both or nothing.
  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] std::string title() const {
    return text("method") + " on " + shown(summary_["questions"]) + " questions";
  }

  void append(std::string& out) const {
    out += "<header class=\"top\">\n<div class=\"title\"><div><p class=\"brand\">Espalier</p>\n<h1>";
    append_html(out, title());
    out += "</h1></div>\n<div class=\"badges\">";
    if (flag("oracle"))
      badge(out, "oracle", "gold answers steered these searches: no comparison with methods that do not see them");
    if (flag("simulated"))
      badge(out, "simulated model", "a program with set skills wrote model texts: no measure of a real model");
    out += "</div></div>\n<div class=\"tiles\">\n";
    for (const Tile& tile : tiles) append(out, tile);
    out += "</div>\n<details class=\"run\" open><summary>All numbers of the run</summary>\n";
    append_facts(out);
    out += "<div class=\"cards\">\n";
    for (const auto field : summary_) append_table(out, field.key, field.value);
    out += "</div></details>\n</header>\n";
  }

 private:
  struct Tile {
    const char *name, *label;
    bool score;
  };
  static constexpr Tile tiles[] = {{"em", "exact match", true},
                                   {"f1", "F1", true},
                                   {"acc", "accuracy", true},
                                   {"calls", "calls", false},
                                   {"retrievals", "retrievals", false}};

  [[nodiscard]] std::string text(const char* name) const {
    std::string_view value;
    return summary_[name].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
  }
  [[nodiscard]] bool flag(const char* name) const {
    bool value = false;
    return summary_[name].get(value) == simdjson::SUCCESS && value;
  }
  static std::optional<double> number(const auto& element) {
    double value = 0;
    return element.get(value) == simdjson::SUCCESS ? std::optional(value) : std::nullopt;
  }
  /// A short form of a scalar: whole numbers in groups of three digits, others with three decimals, null as a dash.
  static std::string shown(const auto& element) {
    std::string_view words;
    if (element.get(words) == simdjson::SUCCESS) return std::string(words);
    bool truth = false;
    if (element.get(truth) == simdjson::SUCCESS) return truth ? "yes" : "no";
    const auto value = number(element);
    if (!value) return "\u2013";
    std::int64_t whole = 0;
    if (element.get(whole) == simdjson::SUCCESS) {
      std::string digits = std::to_string(whole);
      for (std::size_t at = digits.size(); at > 3 + (whole < 0); at -= 3) digits.insert(at - 3, ",");
      return digits;
    }
    char buffer[400];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, *value, std::chars_format::fixed, 3).ptr};
  }
  static void append_words(std::string& out, std::string_view name) {
    std::string words(name);
    std::replace(words.begin(), words.end(), '_', ' ');
    append_html(out, words);
  }
  /// Appends a bar that fills `share` in [0, 1] of its width.
  static void append_bar(std::string& out, double share) {
    const std::string width = std::to_string(static_cast<int>(std::clamp(share, 0.0, 1.0) * 1000 + 0.5));
    out +=
        "<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"rail\" "
        "width=\"1000\" height=\"10\"/>"
        "<rect class=\"bar\" width=\"" +
        width + "\" height=\"10\"/></svg>";
  }
  static void badge(std::string& out, const char* name, const char* meaning) {
    (((out += "<p class=\"badge\"><b>") += name) += "</b><span>: ") += meaning;
    out += "</span></p>";
  }
  void append(std::string& out, const Tile& tile) const {
    const auto value = summary_[tile.name];
    if (value.error() != simdjson::SUCCESS) return;
    out += "<div class=\"tile\"><b>";
    append_html(out, shown(value));
    ((out += "</b><span>") += tile.label) += "</span>";
    if (tile.score) append_bar(out, number(value).value_or(0));
    if (tile.score && !label_.empty()) ((out += "<em>") += label_) += "</em>";
    out += "</div>\n";
  }
  /// Appends the scalars without a tile, but not the seconds. A clock gave them, and equal trees give equal pages.
  void append_facts(std::string& out) const {
    out += "<p class=\"card facts\">";
    for (const auto field : summary_) {
      const bool tiled =
          std::any_of(std::begin(tiles), std::end(tiles), [&](const Tile& tile) { return field.key == tile.name; });
      if (tiled || field.key == "seconds" || field.value.is_object() || field.value.is_array()) continue;
      append_words(out += "<span>", field.key);
      append_html(out += " <b>", shown(field.value));
      out += "</b></span>\n";
    }
    out += "</p>\n";
  }
  /// `share`: the length of a bar, 0 to 1. Negative = no bar.
  static void append_row(std::string& out, std::string_view name, const std::vector<std::string>& cells,
                         double share = -1) {
    append_words(out += "<tr><td>", name);
    for (const std::string& cell : cells) append_html(out += "</td><td>", cell);
    if (share >= 0) append_bar(out += "</td><td class=\"chart\">", share);
    out += "</td></tr>\n";
  }
  /// True for a rare count that no row has: it gets no column.
  static bool always_zero(const simdjson::dom::object& rows, std::string_view column) {
    static constexpr std::string_view rare[] = {"cut_read", "refused", "repairs", "repaired", "constrained"};
    if (std::find(std::begin(rare), std::end(rare), column) == std::end(rare)) return false;
    for (const auto row : rows)
      if (number(row.value[column]) != 0.0) return false;
    return true;
  }
  /// Appends an object of numbers with bars, or an object of such objects with one row each. `rows` is not empty.
  static void append_table(std::string& out, std::string_view name, const simdjson::dom::element& element) {
    simdjson::dom::object rows;
    if (element.get(rows) != simdjson::SUCCESS || rows.size() == 0) return;
    simdjson::dom::object first;
    const simdjson::dom::element top = (*rows.begin()).value;
    const bool nested = top.get(first) == simdjson::SUCCESS;
    std::vector<std::string_view> columns;
    if (nested)
      for (const auto column : first)
        if (!always_zero(rows, column.key)) columns.push_back(column.key);
    (out += "<section class=\"card") += nested ? " wide\"><h3>" : top.is_string() ? " wide words\"><h3>" : "\"><h3>";
    append_words(out, name);
    out += "</h3><table>";
    if (nested) {
      out += "<thead><tr><th>";
      for (const std::string_view column : columns) append_words(out += "</th><th scope=\"col\">", column);
      out += "</th></tr></thead>";
    }
    out += "<tbody>\n";
    double most = 0;
    for (const auto row : rows) most = std::max(most, number(row.value).value_or(0));
    for (const auto row : rows) {
      if (!nested) {
        const auto value = number(row.value);
        append_row(out, row.key, {shown(row.value)}, !value ? -1 : most > 0 ? *value / most : 0);
        continue;
      }
      std::vector<std::string> cells;
      for (const std::string_view column : columns) cells.push_back(shown(row.value[column]));
      append_row(out, row.key, cells);
    }
    out += "</tbody></table></section>\n";
  }

  simdjson::dom::parser parser_;
  simdjson::dom::object summary_;
  std::string label_;
};

}  // namespace espalier::output::detail
