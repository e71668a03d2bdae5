#include <espalier/core/json_writer.hpp>
#include <espalier/output/report.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace report_test {

using namespace espalier;
namespace out = espalier::output;

namespace {

/// Everything that has ended a script, an attribute, a comment or a CDATA section, and characters that end lines or
/// strings.
const std::string hostile =
    std::string(
        "</script><script>alert(1)</script><img src=x onerror=alert(2)>--><!--]]>\xE2\x80\xA8\xE2\x80\xA9\"'&amp;\\ ") +
    '\0' + "\x1b\x7f" + "\xE2\x80\xAE end";

/// A record with the hostile text in every name and value that a run may choose.
std::string hostile_tree(const std::string& id) {
  std::string text;
  JsonWriter json(text);
  json.begin_object()
      .field("id", id)
      .field("question", hostile)
      .key("golden_answers")
      .begin_array()
      .value(hostile)
      .end_array();
  json.field("method", hostile)
      .field("status", "done")
      .field("seed", 1)
      .key("options")
      .begin_object()
      .field(hostile, hostile)
      .end_object();
  json.key("documents")
      .begin_object()
      .key(hostile)
      .begin_object()
      .field("title", hostile)
      .field("text", hostile)
      .end_object()
      .end_object();
  json.key("nodes").begin_array().begin_object().field("id", 0).key("parent").null().end_object();
  json.begin_object()
      .field("id", 1)
      .field("parent", 0)
      .field("kind", hostile)
      .field("text", hostile)
      .field("thought", hostile);
  json.field("status", hostile).field("reason", hostile).end_object().end_array();
  json.key("rollouts").begin_array().begin_object().field("node", 1).field("answer", hostile).end_object().end_array();
  json.key("skips")
      .begin_array()
      .end_array()
      .key("costs")
      .begin_object()
      .key(hostile)
      .begin_object()
      .end_object()
      .end_object()
      .end_object();
  return text;
}
std::string hostile_answer(const std::string& id) {
  std::string text;
  JsonWriter json(text);
  json.begin_object()
      .field("id", id)
      .field("question", hostile)
      .field("answer", hostile)
      .field("status", "done")
      .field("error", hostile)
      .end_object();
  return text;
}
std::string hostile_pair(const std::string& tree) {
  std::string text;
  JsonWriter json(text);
  json.begin_object()
      .field("id", tree + "#1>2")
      .field("prompt", hostile)
      .field("chosen", hostile)
      .field("rejected", hostile);
  json.key("provenance").begin_object().field("tree", tree).end_object().end_object();
  return text;
}
std::string hostile_summary() {
  std::string text;
  JsonWriter json(text);
  json.begin_object().field("method", hostile).field("model", hostile).field("oracle", true).field(hostile, hostile);
  json.key("by_purpose").begin_object().key(hostile).begin_object().field(hostile, 3).end_object().end_object();
  json.key(hostile).begin_object().field(hostile, 2).end_object().end_object();
  return text;
}

std::string page(const std::string& summary, const std::vector<std::array<std::string, 3>>& questions) {
  std::string text;
  out::detail::append_report_head(text, summary);
  for (const auto& [answer, tree, pairs] : questions)
    out::detail::append_report_question(text, {"", answer, tree, pairs});
  out::detail::append_report_tail(text, text.size());
  return text;
}
std::size_t count(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++n;
  return n;
}
/// The content of every data block of that name.
std::vector<std::string> blocks(const std::string& html, const std::string& name) {
  const std::string start = "<script type=\"application/json\" data-block=\"" + name + "\">", end = "</script>";
  std::vector<std::string> all;
  for (auto at = html.find(start); at != html.npos; at = html.find(start, at)) {
    at += start.size();
    all.push_back(html.substr(at, html.find(end, at) - at));
  }
  return all;
}
std::string same_json(const std::string& text) {
  simdjson::dom::parser parser;
  return simdjson::minify(parser.parse(text).value());
}

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("espalier_report_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const char* name, const std::string& text) const { std::ofstream(path / name, std::ios::binary) << text; }
  [[nodiscard]] std::string read(const char* name) const {
    std::ifstream file(path / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

}  // namespace

TEST_CASE("HTML text escapes all five characters and replaces NUL") {
  std::string text;
  out::detail::append_html(text, std::string_view("a<b>&\"'\0é", 10));
  CHECK(text == "a&lt;b&gt;&amp;&quot;&#39;\xEF\xBF\xBDé");
}

TEST_CASE("JSON in a page keeps its meaning and loses every character that markup could see") {
  std::string text;
  out::detail::append_json_in_html(text, "[\"</script>&\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\"]");
  CHECK(text == "[\"\\u003c/script\\u003e\\u0026\\u2028\\u2029\xE2\x80\xAA\"]");
  std::string cut;
  out::detail::append_json_in_html(cut, "\xE2\x80");  // a sequence that ends too early is left alone
  CHECK(cut == "\xE2\x80");
}

TEST_CASE("no text of a run becomes markup") {
  const std::string html = page(
      hostile_summary(), {{hostile_answer("a"), hostile_tree("a"), hostile_pair("a")}, {hostile_answer("b"), "", ""}});
  const std::string clean = page("{}", {{"{}", "{}", "[]"}, {"{}", "", ""}});
  CHECK(count(html, "<script") == count(clean, "<script"));
  CHECK(count(html, "</script") == count(clean, "</script"));
  for (const std::string piece : {"<img", "<!--", "-->", "]]>"})
    CHECK_MESSAGE(count(html, piece) == count(clean, piece), piece);
  for (const char* name : {"answer", "tree", "pairs"})
    for (const std::string& block : blocks(html, name)) CHECK(block.find_first_of("<>&") == block.npos);
  CHECK(count(html, "onerror=alert(2)&gt;--&gt;&lt;!--]]&gt;") > 0);
  CHECK(count(html, "&quot;&#39;&amp;amp;") > 0);
  CHECK(html.find('\0') == std::string::npos);
  CHECK(html.find("&lt;/script&gt;&lt;script&gt;alert(1)") != std::string::npos);  // the summary shows it as text
}

TEST_CASE("the records in the page read back as they were") {
  const std::string html =
      page("{}", {{hostile_answer("a"), hostile_tree("a") + "\n", ""}, {hostile_answer("b"), "", ""}});
  const auto trees = blocks(html, "tree"), answers = blocks(html, "answer");
  REQUIRE(trees.size() == 2);
  REQUIRE(answers.size() == 2);
  CHECK(same_json(trees[0]) == same_json(hostile_tree("a")));
  CHECK(trees[1].empty());
  CHECK(same_json(answers[0]) == same_json(hostile_answer("a")));
  CHECK(same_json(answers[1]) == same_json(hostile_answer("b")));
}

TEST_CASE("the summary is there without scripts, and says oracle and simulated model beside its scores") {
  const std::string summary =
      R"({"method":"decex","model":"simulated","simulated":true,"oracle":true,"questions":1200,"em":0.4375,"f1":null,"calls":1234567,)"
      R"("seconds":2.5,"by_purpose":{"sub_query":{"calls":12,"prompt_tokens":3400}},"pruned":{"not_best":8,"outvoted":2}})";
  const std::string html = page(summary, {});
  CHECK(html.find("<title>decex on 1,200 questions") != html.npos);
  CHECK(html.find("<b>0.438</b>") != html.npos);         // 0.4375 with three decimals
  CHECK(html.find("width=\"438\"") != html.npos);        // of a bar 1000 wide
  CHECK(html.find("<b>\xE2\x80\x93</b>") != html.npos);  // no F1: a dash
  CHECK(html.find("<b>1,234,567</b>") != html.npos);
  CHECK(html.find("<td>sub query</td><td>12</td><td>3,400</td>") != html.npos);
  CHECK(html.find("<td>not best</td><td>8</td>") != html.npos);
  CHECK(html.find("<rect class=\"bar\" width=\"250\"") != html.npos);  // outvoted beside not_best: 2 of 8
  CHECK(count(html, "<em>oracle, simulated model</em>") == 2);         // under EM and F1; acc is not in this summary
  CHECK(html.find("<body data-label=\"oracle, simulated model\">") != html.npos);
  const std::string own = page(R"({"method":"decex","model":"qwen","oracle":false,"em":0.5})", {});
  CHECK(own.find("<body data-label=\"\">") != own.npos);
  CHECK(count(own, "class=\"badge\"") == 0);
  CHECK_THROWS_AS(page("[1]", {}), InputError);
}

TEST_CASE("a page shows no clock") {
  const auto after = [](const char* seconds) {
    return page(std::string(R"({"method":"decex","questions":1,"seconds":)") + seconds + "}", {});
  };
  CHECK(after("2.5") == after("31"));
}

TEST_CASE("the page lets its own script run and nothing else, and names nothing to load") {
  std::string html = page("{}", {});
  const std::string svg = "http://www.w3.org/2000/svg";  // the name of a language, which nothing loads
  for (auto at = html.find(svg); at != html.npos; at = html.find(svg)) html.erase(at, svg.size());
  CHECK(html.find("default-src 'none'; script-src 'sha256-") != html.npos);
  for (const std::string piece : {"unsafe-inline", "unsafe-eval", " src=", " href=", "url(", "@import", "innerHTML",
                                  "eval(", " style=", "http://", "https://"})
    CHECK_MESSAGE(html.find(piece) == html.npos, piece);
}

TEST_CASE("the page adds little to its records, and a heavy one says so") {
  const std::string tree = hostile_tree("a"), answer = hostile_answer("a");
  std::string question;
  out::detail::append_report_question(question, {"a", answer, tree, ""});
  CHECK(question.size() < 2 * (answer.size() + tree.size()));
  CHECK(page("{}", {}).size() < 131'072);
  std::string light, heavy;
  out::detail::append_report_tail(light, 20'000'000);
  out::detail::append_report_tail(heavy, 23'400'000);
  CHECK(light.find(" MB") == light.npos);
  CHECK(heavy.find("It holds 23 MB") != heavy.npos);
}

TEST_CASE("a run's folder becomes the same report each time; an open question has no tree") {
  const Folder folder;
  folder.write("answers.jsonl", hostile_answer("a") + "\n" + hostile_answer("b") + "\n" + hostile_answer("c") + "\n");
  folder.write("trees.jsonl", hostile_tree("a") + "\n" + hostile_tree("c") + "\n");
  folder.write("dpo.jsonl", hostile_pair("a") + "\n" + hostile_pair("a") + "\n" + hostile_pair("c") + "\n");
  const auto target = folder.path / "report.html";
  out::write_report(folder.path, hostile_summary(), target);
  const std::string first = folder.read("report.html"), pair = hostile_pair("a");
  CHECK(first == page(hostile_summary(), {{hostile_answer("a"), hostile_tree("a"), "[" + pair + "," + pair + "]"},
                                          {hostile_answer("b"), "", ""},
                                          {hostile_answer("c"), hostile_tree("c"), "[" + hostile_pair("c") + "]"}}));
  out::write_report(folder.path, hostile_summary(), target);
  CHECK(folder.read("report.html") == first);
}

TEST_CASE("pairs of siblings come from prm.jsonl where there is no dpo.jsonl, and rows that are no pairs stay out") {
  const Folder folder;
  folder.write("answers.jsonl", hostile_answer("a") + "\n");
  folder.write("trees.jsonl", hostile_tree("a") + "\n");
  folder.write("prm.jsonl", R"({"id":"a#4","provenance":{"tree":"a"}})"
                            "\n" +
                                hostile_pair("a") + "\n");
  out::write_report(folder.path, "{}", folder.path / "report.html");
  CHECK(blocks(folder.read("report.html"), "pairs").size() == 1);
  CHECK(same_json(blocks(folder.read("report.html"), "pairs")[0]) == same_json("[" + hostile_pair("a") + "]"));
}

TEST_CASE("a second run stands beside the first by question, whatever its order") {
  const Folder folder;
  const auto other = folder.path / "other";
  std::filesystem::create_directories(other);
  folder.write("answers.jsonl", hostile_answer("a") + "\n" + hostile_answer("b") + "\n");
  folder.write("trees.jsonl", hostile_tree("a") + "\n" + hostile_tree("b") + "\n");
  folder.write("other/answers.jsonl", hostile_answer("c") + "\n" + hostile_answer("a") + "\n");
  folder.write("other/trees.jsonl", hostile_tree("a") + "\n");
  CHECK_THROWS_WITH_AS(out::write_report(folder.path, "{}", folder.path / "both.html", other),
                       doctest::Contains("summary.json"), InputError);
  folder.write("other/summary.json", hostile_summary());
  out::write_report(folder.path, "{}", folder.path / "both.html", other);
  const std::string html = folder.read("both.html");
  const auto answers = blocks(html, "other_answer"), trees = blocks(html, "other_tree");
  REQUIRE(answers.size() == 2);
  CHECK(same_json(answers[0]) == same_json(hostile_answer("a")));
  CHECK(same_json(trees[0]) == same_json(hostile_tree("a")));
  CHECK(answers[1].empty());
  REQUIRE(blocks(html, "runs").size() == 1);
  const std::string runs = blocks(html, "runs")[0];
  CHECK(runs.find_first_of("<>&") == runs.npos);
  simdjson::dom::parser parser;
  CHECK(std::string_view(parser.parse(runs).at(1)["name"]) == "other");
  CHECK(std::uint64_t(parser.parse(runs).at(1)["questions"]) == 2);
}

TEST_CASE("records that do not belong together are refused by file") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(out::write_report(folder.path, "{}", folder.path / "report.html"),
                       doctest::Contains("answers.jsonl"), InputError);
  folder.write("answers.jsonl", hostile_answer("a") + "\n");
  folder.write("trees.jsonl", hostile_tree("other") + "\n");
  CHECK_THROWS_WITH_AS(out::write_report(folder.path, "{}", folder.path / "report.html"),
                       doctest::Contains("trees.jsonl"), InputError);
  folder.write("trees.jsonl", "{\"id\":\n");
  CHECK_THROWS_WITH_AS(out::write_report(folder.path, "{}", folder.path / "report.html"),
                       doctest::Contains("trees.jsonl"), InputError);
  folder.write("answers.jsonl", hostile_answer("a") + "\n{\"id\":\n");  // behind the last tree
  folder.write("trees.jsonl", hostile_tree("a") + "\n");
  CHECK_THROWS_WITH_AS(out::write_report(folder.path, "{}", folder.path / "report.html"),
                       doctest::Contains("answers.jsonl"), InputError);
  CHECK_FALSE(std::filesystem::exists(folder.path / "report.html"));
}

}  // namespace report_test
