#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/output/detail/html.hpp>
#include <espalier/output/detail/jsonl.hpp>
#include <espalier/output/detail/report_run.hpp>
#include <espalier/output/detail/report_summary.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

/// report.html: one file that shows a run's trees in a browser, without a network. It holds the run's records unchanged
/// as JSON, each in a script element that does not run. The page's own script, the only one that its security policy
/// allows, reads them and builds every element from text. Trees are parsed when their question is opened.
namespace espalier::output {

#include <espalier/output/report_data.inc>

namespace detail {

/// Appends what comes before the questions. Throws InputError if `summary_json` is not an object.
inline void append_report_head(std::string& out, std::string_view summary_json) {
  const ReportSummary summary(summary_json);
  ((out += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-") +=
   report_script_sha256) += "'; style-src 'sha256-";
  (out += report_style_sha256) +=
      "'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  append_html(out, summary.title());
  out += " \u00B7 Espalier</title>\n<style>";
  for (const std::string_view part : report_style) out += part;
  out += "</style>\n</head>\n<body data-label=\"";
  append_html(out, summary.label());
  out += "\">\n";
  summary.append(out);
  out +=
      "<noscript><p class=\"foot\">The trees below the summary need JavaScript. Nothing is loaded from "
      "elsewhere.</p></noscript>\n"
      "<div id=\"explorer\"></div>\n";
}

/// Appends an element that holds JSON for the page's script. It is empty if there is none.
inline void append_report_block(std::string& out, std::string_view name, std::string_view json) {
  ((out += "<script type=\"application/json\" data-block=\"") += name) += "\">";
  append_json_in_html(out, json);
  out += "</script>\n";
}

/// Appends one question. With `as` = "other_" it is the same question of the compared run, empty if it is not there.
inline void append_report_question(std::string& out, const ReportQuestion& question, const std::string& as = "") {
  append_report_block(out, as + "answer", question.answer);
  append_report_block(out, as + "tree", question.tree);
  append_report_block(out, as + "pairs", question.pairs);
}

/// Appends what comes after the questions. `bytes` is the size of the page so far.
inline void append_report_tail(std::string& out, std::uint64_t bytes) {
  const std::uint64_t megabytes = (bytes + 500'000) / 1'000'000;
  out +=
      "<footer class=\"foot\"><p>Written by Espalier. Self-contained: this page loads nothing and sends nothing.</p>"
      "<p>It follows from the run's trees alone, except the names of model and retriever, the notes, and why questions "
      "are open. "
      "A comparison of two runs also shows their seconds.</p>";
  if (megabytes > 20)
    out += "<p>It holds " + std::to_string(megabytes) +
           " MB and may open slowly; a run over fewer questions makes a lighter page.</p>";
  out += "</footer>\n<script>";
  for (const std::string_view part : report_script) out += part;
  out += "</script>\n</body>\n</html>\n";
}

}  // namespace detail

/// Writes the page of the run in `folder`, whose summary is `summary_json`, to `target`. The run in `other`, if given,
/// is shown beside it, question by question. Throws InputError that names the file.
inline void write_report(const std::filesystem::path& folder, std::string_view summary_json,
                         const std::filesystem::path& target, const std::filesystem::path& other = {}) {
  detail::ReportRun run(folder);
  detail::AtomicFile file(target.string());
  std::string text;
  std::uint64_t bytes = 0;
  const auto flush = [&] {
    file.write(text);
    bytes += text.size();
    text.clear();
  };
  detail::append_report_head(text, summary_json);
  std::map<std::string, detail::ReportQuestion> others;  // the page holds all of them, so memory can
  if (!other.empty()) {
    const std::string other_summary = detail::read_summary(other);
    detail::ReportSummary checked(other_summary);
    for (detail::ReportRun rows(other); auto question = rows.next();)
      others.emplace(question->id, std::move(*question));
    std::string runs;
    JsonWriter json(runs);
    json.begin_array()
        .begin_object()
        .field("name", folder.filename().string())
        .key("summary")
        .raw(summary_json)
        .end_object();
    json.begin_object()
        .field("name", other.filename().string())
        .field("questions", others.size())
        .key("summary")
        .raw(other_summary)
        .end_object()
        .end_array();
    detail::append_report_block(text, "runs", runs);
  }
  while (const auto question = run.next()) {
    detail::append_report_question(text, *question);
    if (!other.empty()) {
      const auto same = others.find(question->id);
      detail::append_report_question(text, same == others.end() ? detail::ReportQuestion() : same->second, "other_");
    }
    flush();
  }
  detail::append_report_tail(text, bytes);
  flush();
  file.commit();
}

}  // namespace espalier::output
