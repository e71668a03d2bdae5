#include <espalier/output/answers.hpp>
#include <espalier/output/report.hpp>

#include "backend/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace {

using namespace espalier;
using output::write_report;
using test::read_bytes;
using test::TemporaryFolder;
using test::write_bytes;

/// What a text would have to contain to leave its element, open another, or break a script or an attribute.
const std::string hostile =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)><!-- --> ]]> \"quoted\" 'b' &lt;i&gt; </title></style> \\u003c "
    "\xE2\x80\xA8 \xE2\x80\xA9 \x01 \x7F";

/// A row of trees.jsonl whose every text, and every name a run may choose, is `text`.
std::string tree_line(const std::string& id, const std::string& text) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("id", id).field("question", text).key("golden_answers").begin_array().value(text).end_array();
  json.field("method", text).field("status", "done").field("seed", 1).key("options").begin_object().field(text, text).end_object();
  json.key("documents").begin_object().key(text).begin_object().field("title", text).field("text", text).end_object().end_object();
  json.key("nodes").begin_array();
  json.begin_object().field("id", 0).key("parent").null().field("visits", 0).field("value", 0.0).field("status", "expanded").end_object();
  json.begin_object().field("id", 1).field("parent", 0).field("kind", text).field("text", text).field("thought", text).field("key", text);
  json.key("documents").begin_array().begin_object().field("id", text).field("score", 1.5).end_object().end_array();
  json.field("visits", 1).field("value", 1.0).field("reward", 1.0).field("prior", 1.0).field("status", "pruned").field("reason", text);
  json.end_object().end_array().key("rollouts").begin_array();
  json.begin_object().field("node", 1).field("reward", 1.0).field("answer", text).key("steps").begin_array();
  json.begin_object().field("query", text).end_object().end_array().end_object().end_array();
  json.key("skips").begin_array().begin_object().field("node", 0).field("kind", text).end_object().end_array();
  json.key("costs").begin_object().key(text).begin_object().field("completions", 1).end_object().end_object().end_object();
  return out;
}
std::string answer_line(const std::string& id, const std::string& text, const std::string& status = "done") {
  output::AnswerRow row;
  row.id = id;
  row.question = text;
  row.status = status;
  if (status == "done") row.answer = text;
  else row.error = text;
  std::string out;
  output::append_answer_row(row, out);
  out.pop_back();
  return out;
}
std::string summary_line(const std::string& text, bool simulated, bool oracle) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("method", text).field("model", simulated ? "simulated" : text).field("simulated", simulated);
  json.field("retriever", text).field("oracle", oracle).field("questions", 12345).field("em", 0.25).field("f1", 0.5).key("acc").null();
  json.field("calls", 77).key("by_purpose").begin_object().key(text).begin_object().field("calls", 77).end_object().end_object();
  json.key("pruned").begin_object().field(text, 3).field("not_best", 9).end_object().field("seconds", 1.25).end_object();
  return out;
}
std::string lines(const std::vector<std::string>& rows) {
  std::string out;
  for (const auto& row : rows) (out += row) += '\n';
  return out;
}

/// A run of three questions whose middle one was left open.
struct Run {
  explicit Run(const std::string& text = "plain")
      : answers{answer_line("a", text), answer_line("b", text, "open"), answer_line("c", text)}, trees{tree_line("a", text), tree_line("c", text)} {
    write();
  }
  void write() const {
    write_bytes(folder / "answers.jsonl", lines(answers));
    write_bytes(folder / "trees.jsonl", lines(trees));
  }
  std::string page(const std::string& summary = summary_line("plain", false, false)) const {
    write_report(folder.path(), summary);
    return read_bytes(folder / "report.html");
  }
  TemporaryFolder folder;
  std::vector<std::string> answers, trees;
};

std::size_t count(std::string_view page, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = page.find(part); at != page.npos; at = page.find(part, at + part.size())) ++found;
  return found;
}
/// What stands in the page's data blocks of one name, as a browser cuts them out: up to the next end tag.
std::vector<std::string> blocks(const std::string& page, const std::string& name) {
  const std::string begin = "<script type=\"application/json\" data-block=\"" + name + "\">";
  std::vector<std::string> found;
  for (std::size_t at = page.find(begin); at != page.npos; at = page.find(begin, at)) {
    at += begin.size();
    found.push_back(page.substr(at, page.find("</script", at) - at));
  }
  return found;
}
/// The JSON read and written again, so that two spellings of the same values compare equal.
std::string values(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  REQUIRE(parser.parse(json).get(element) == simdjson::SUCCESS);
  return simdjson::minify(element);
}

TEST_CASE("hostile text in every field stands nowhere in the page as it is") {
  const std::string page = Run(hostile).page(summary_line(hostile, false, true));
  const std::string plain = Run().page(summary_line("plain", false, true));
  for (const std::string part : {"alert(1)</script>", "<img", "<!--", "-->", "]]>", "<i>", "&lt;i&gt;", "\"quoted\""}) {
    CAPTURE(part);
    CHECK(count(page, part) == 0);
  }
  CHECK(count(page.substr(0, page.find("<noscript>")), "'b'") == 0);  // would end an attribute
  for (const std::string part : {"<script", "</script", "</title", "</style", "<td", "<section", "<meta"}) {
    CAPTURE(part);
    CHECK(count(page, part) == count(plain, part));
  }
}

TEST_CASE("the data in the page reads back to the rows of the run, an open question without a tree") {
  const Run run(hostile);
  const std::string page = run.page();
  const auto answers = blocks(page, "answer"), trees = blocks(page, "tree");
  REQUIRE(answers.size() == 3);
  REQUIRE(trees.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(values(answers[i]) == values(run.answers[i]));
  CHECK(values(trees[0]) == values(run.trees[0]));
  CHECK(trees[1].empty());
  CHECK(values(trees[2]) == values(run.trees[1]));
  for (const auto& block : {answers[0], trees[0]})
    for (const char* part : {"<", ">", "&", "\xE2\x80\xA8", "\xE2\x80\xA9"}) CHECK(count(block, part) == 0);
}

TEST_CASE("the same run gives the same bytes, and a report in place is replaced") {
  const Run run(hostile), twin(hostile);
  const std::string page = run.page();
  CHECK(run.page() == page);
  CHECK(twin.page() == page);
  CHECK(!std::filesystem::exists(run.folder / "report.html.part"));
}

TEST_CASE("the page allows its own script and style only and names no other address") {
  const std::string page = Run().page();
  CHECK(count(page, "default-src 'none'; script-src 'sha256-") == 1);
  CHECK(count(page, "'unsafe-") == 0);
  for (const std::string part : {"http://", "https://", " src=", "@import", "url(", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(",
                           "fetch(", "XMLHttpRequest", " onclick=", " onload="}) {
    CAPTURE(part);
    CHECK(count(page, part) == 0);
  }
}

TEST_CASE("the summary stands in the page as text, without a script") {
  std::string page = Run().page();
  page.resize(page.find("<noscript>"));
  CHECK(count(page, "<b>0.250</b>") == 1);          // em
  CHECK(count(page, "<b>12,345</b>") == 1);         // questions
  CHECK(count(page, "<b>\xE2\x80\x93</b>") == 1);   // acc, null
  CHECK(count(page, "<td>plain</td><td>77</td>") == 1);
  CHECK(count(page, "<td>not best</td><td>9</td><td class=\"chart\">") == 1);
}

TEST_CASE("scores of a simulated model and of an oracle say so, others do not") {
  const Run run;
  for (const bool simulated : {false, true})
    for (const bool oracle : {false, true}) {
      const std::string page = run.page(summary_line("plain", simulated, oracle));
      const std::string head = page.substr(0, page.find("<noscript>"));
      CAPTURE(simulated);
      CAPTURE(oracle);
      CHECK(count(head, "<b>simulated model</b>") == std::size_t{simulated});
      CHECK(count(head, "<b>oracle</b>") == std::size_t{oracle});
      const std::string label = std::string(oracle ? "oracle" : "") + (oracle && simulated ? ", " : "") + (simulated ? "simulated model" : "");
      CHECK(count(head, "<body data-label=\"" + label + "\">") == 1);
      CHECK(count(head, "<em>" + label + "</em>") == (label.empty() ? 0 : 3));  // beside em, f1 and acc
    }
}

TEST_CASE("a run without questions gives a page") {
  Run run;
  run.answers.clear();
  run.trees.clear();
  run.write();
  const std::string page = run.page();
  CHECK(blocks(page, "answer").empty());
  CHECK(page.ends_with("</html>\n"));
}

TEST_CASE("what is missing or out of order is named, and no page is left") {
  const auto refused = [](const Run& run, const std::string& summary, const std::string& file) {
    try {
      write_report(run.folder.path(), summary);
      FAIL("was accepted");
    } catch (const InputError& error) {
      CHECK(std::string(error.what()).find(file) != std::string::npos);
    }
    CHECK(!std::filesystem::exists(run.folder / "report.html"));
    CHECK(!std::filesystem::exists(run.folder / "report.html.part"));
  };
  const std::string summary = summary_line("plain", false, false);
  SUBCASE("no trees") {
    const Run run;
    std::filesystem::remove(run.folder / "trees.jsonl");
    refused(run, summary, "trees.jsonl");
  }
  SUBCASE("no answers") {
    const Run run;
    std::filesystem::remove(run.folder / "answers.jsonl");
    refused(run, summary, "answers.jsonl");
  }
  SUBCASE("a tree that no answer names") {
    Run run;
    run.trees.push_back(tree_line("d", "plain"));
    run.write();
    refused(run, summary, "trees.jsonl");
  }
  SUBCASE("trees in another order") {
    Run run;
    std::swap(run.trees[0], run.trees[1]);
    run.write();
    refused(run, summary, "trees.jsonl");
  }
  SUBCASE("an answer that is not JSON") {
    Run run;
    run.answers[1] = "{\"id\":";
    run.write();
    refused(run, summary, "answers.jsonl");
  }
  SUBCASE("a summary that is not an object") { refused(Run(), "[1]", "summary.json"); }
}

}  // namespace
