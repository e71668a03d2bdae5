#pragma once

#include <espalier/core/error.hpp>
#include <espalier/output/html.hpp>
#include <espalier/output/jsonl.hpp>
#include <espalier/output/report_summary.hpp>

#include <simdjson.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

/// report.html: one file that shows a run's trees in a browser, without a network. The records of the run stand in it as
/// they are, each in a script element that is no script; the page's own script, the only one its policy lets run, reads
/// them and builds every element from text. Trees are parsed when their question is opened.
namespace espalier::output {

#include <espalier/output/report_data.inc>

/// Appends what stands before the questions. Throws InputError if `summary_json` is not an object.
inline void append_report_head(std::string& out, std::string_view summary_json) {
  const ReportSummary summary(summary_json);
  ((out += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-") += report_script_sha256) +=
      "'; style-src 'sha256-";
  (out += report_style_sha256) += "'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\">\n"
                                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  append_html(out, summary.title());
  ((out += " \u00B7 Espalier</title>\n<style>") += report_style) += "</style>\n</head>\n<body data-label=\"";
  append_html(out, summary.label());
  out += "\">\n";
  summary.append(out);
  out += "<noscript><p class=\"foot\">The trees below the summary need JavaScript. Nothing is loaded from elsewhere.</p></noscript>\n"
         "<div id=\"explorer\"></div>\n";
}

/// Appends one question: its row of answers.jsonl and its row of trees.jsonl, empty where a question was left open.
inline void append_report_question(std::string& out, std::string_view answer_json, std::string_view tree_json) {
  append_json_in_html(out += "<script type=\"application/json\" data-block=\"answer\">", answer_json);
  append_json_in_html(out += "</script>\n<script type=\"application/json\" data-block=\"tree\">", tree_json);
  out += "</script>\n";
}

/// Appends what stands behind the questions. `bytes` is the size of the page so far.
inline void append_report_tail(std::string& out, std::uint64_t bytes) {
  const std::uint64_t megabytes = (bytes + 500'000) / 1'000'000;
  out += "<footer class=\"foot\"><p>Written by Espalier. Self-contained: this page loads nothing and sends nothing.</p>";
  if (megabytes > 20) out += "<p>It holds " + std::to_string(megabytes) + " MB and may open slowly; a run over fewer questions makes a lighter page.</p>";
  ((out += "</footer>\n<script>") += report_script) += "</script>\n</body>\n</html>\n";
}

/// Writes report.html into a run's folder from the answers.jsonl and trees.jsonl there. Throws InputError that names the file.
inline void write_report(const std::filesystem::path& folder, std::string_view summary_json) {
  const auto open = [&](const char* name) {
    std::ifstream file(folder / name, std::ios::binary);
    if (!file) throw InputError((folder / name).string(), 0, "", "cannot be read");
    return file;
  };
  std::ifstream answers = open("answers.jsonl"), trees = open("trees.jsonl");
  simdjson::dom::parser parser;
  const auto id = [&](const std::string& line, const char* name) {
    std::string_view value;
    if (parser.parse(line)["id"].get(value) != simdjson::SUCCESS) throw InputError((folder / name).string(), 0, "id", "a row has none");
    return std::string(value);
  };
  AtomicFile file((folder / "report.html").string());
  std::string text, answer, tree;
  std::uint64_t bytes = 0;
  const auto flush = [&] {
    file.write(text);
    bytes += text.size();
    text.clear();
  };
  append_report_head(text, summary_json);
  bool waiting = static_cast<bool>(std::getline(trees, tree));  // both files stand in question order; an open question has no tree
  while (std::getline(answers, answer)) {
    const std::string question = id(answer, "answers.jsonl");
    const bool grown = waiting && id(tree, "trees.jsonl") == question;
    append_report_question(text, answer, grown ? std::string_view(tree) : std::string_view());
    if (grown) waiting = static_cast<bool>(std::getline(trees, tree));
    flush();
  }
  if (waiting) throw InputError((folder / "trees.jsonl").string(), 0, "id", "holds a tree whose question answers.jsonl does not name in its order");
  append_report_tail(text, bytes);
  flush();
  file.commit();
}

}  // namespace espalier::output
