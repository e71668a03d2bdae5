#include <espalier/llm/grammar.hpp>
#include <espalier/method/all.hpp>
#include <espalier/rag/parse.hpp>

#include "grammar_forms.hpp"
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace grammar_test {

using namespace espalier;
using namespace grammar_forms;

namespace {

/// The thought that `parse` must find in front of a slot.
std::string thought_of(Spoken& spoken, const Protocol& protocol) {
  std::string before = spoken.said["thought"];
  before = std::string(rag::detail::trim(before));
  for (const char* role : {"thought", "reasoning"})
    if (const Protocol::Tag* tag = protocol.tag(role)) {
      rag::detail::erase_all(before, tag->open);
      if (tag->close != "\n") rag::detail::erase_all(before, tag->close);
    }
  std::string thought(rag::detail::trim(spoken.said["think"]));
  before = std::string(rag::detail::trim(before));
  if (!thought.empty() && !before.empty()) thought += '\n';
  return rag::detail::restore(thought + before);
}

/// Checks random replies of a purpose. Returns the first one that is read as something else, "" = none.
std::string misread(const Protocol& protocol, const Protocol::Purpose& purpose, std::uint64_t count) {
  const Grammar grammar(protocol, purpose, 64);
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    Spoken spoken(grammar.form(), seed);
    const auto reply = rag::parse(rag::ModelText(spoken.text), protocol, purpose);
    if (!reply) return "unread: " + spoken.text;
    const auto said = spoken.said.find(purpose.returns.empty() ? "line" : reply->tag);
    if (said == spoken.said.end()) return "read as " + reply->tag + ": " + spoken.text;
    if (reply->content != rag::detail::restore(rag::detail::trim(said->second)))
      return "read as '" + reply->content + "': " + spoken.text;
    if (spoken.said.contains("thought") && !protocol.tag(said->first)->open.empty() &&
        reply->thought != thought_of(spoken, protocol))
      return "thought '" + reply->thought + "': " + spoken.text;
  }
  return "";
}

Protocol of(std::vector<Protocol::Tag> tags, std::vector<std::string> returns, Protocol::ScoreForm scores = {}) {
  return {"test", {{"p", {}, std::move(returns), scores}}, std::move(tags)};
}
bool fits(const Protocol& protocol, const std::string& text, std::uint32_t max_tokens = 64) {
  return Fits::whole(Grammar(protocol, protocol.purposes[0], max_tokens).form(), text);
}

}  // namespace

TEST_CASE("random replies of the grammar of every purpose of every method are read as what they say") {
  for (const std::string& name : method::method_names()) {
    const auto protocol = method::make_method(name)->prompts().protocol();
    for (const Protocol::Purpose& purpose : protocol->purposes) {
      INFO(name, " ", purpose.name);
      CHECK(misread(*protocol, purpose, 10'000) == "");
    }
  }
}

TEST_CASE("marks that overlap themselves or each other are kept apart as well") {
  for (const Protocol& protocol :
       {of({{"answer", "aab", "bba"}}, {"answer"}), of({{"answer", "##A##", "##E##"}}, {"answer"}),
        of({{"answer", "ab", "ba"}, {"search", "ba(", ")"}}, {"answer", "search"}),
        of({{"answer", "Answer:", "\n"}, {"search", "Final Answer:", "\n"}}, {"search", "answer"}),
        of({{"answer", "[[", "]]"}, {"search", "", ""}}, {"answer", "search"}),
        of({{"verdict", "<v>", "</v>"}}, {"verdict"}), of({{"choice", "", ""}}, {"choice"})})
    CHECK(misread(protocol, protocol.purposes[0], 10'000) == "");
}

TEST_CASE("a slot holds all that the parser takes from it, up to its first closing mark") {
  const Protocol tags =
      of({{"answer", "<answer>", "</answer>"}, {"search", "<search>", "</search>"}}, {"answer", "search"});
  for (const char* text : {"<answer>Paris</answer>", "I think so. <answer> a < b </answer>", "<answer>x</b></answer>",
                           "<answer><</answer>", "<search>a <answer> b</search>", "x << y <search>\n1 </ 2\n</search>",
                           "<answer>\u00e9t\u00e9</answer>", "hm </think> <answer>a</answer>"}) {
    INFO(text);
    CHECK(fits(tags, text) == (std::string(text).find("a <answer>") == std::string::npos));
  }
  for (const char* text :
       {"Paris", "", "<answer></answer>", "<answer>  </answer>", "<answer>a</answer>b", "<answer>x</answe</answer>",
        "<answ <answer>x</answer>", "<answer></answer\nx</answer>", "<answer>a</answer></answer>", "<answer>a",
        "<search>a</answer>", "<answer>a</think>b</answer>"}) {
    INFO(text);
    CHECK_FALSE(fits(tags, text));
  }
  const auto prorag = method::make_method("prorag")->prompts().protocol();
  for (const char* text : {"<step>So </step>\n<subanswer>a</subanswer>", "<st> <su> </s> <answer>a</answer>"})
    CHECK(fits(*prorag, text));
  const Protocol brackets = of({{"search", "Search(", ")"}, {"answer", "Finish(", ")"}}, {"search", "answer"});
  for (const char* text :
       {"Search(a (b) c)", "so Finish(f(g(h(x))))", "Search(Search(a))", "Finish(Finis)", "Search([a)"})
    CHECK(fits(brackets, text));
  for (const char* text : {"Search(a (b c)", "Search(Finish(a))", "Search()", "Search( )", "Search(a))"})
    CHECK_FALSE(fits(brackets, text));
  const Protocol line = of({{"answer", "Answer:", "\n"}}, {"answer"});
  for (const char* text : {"Answer: Paris", "well\nAnswer: Paris\n", "An answer. Answer:x"}) CHECK(fits(line, text));
  for (const char* text : {"Answer:", "Answer: \n", "Answer: a\nb", "Answer: Answer: a"}) CHECK_FALSE(fits(line, text));
}

TEST_CASE("scores, verdicts, preferences and choices have the forms that their parsers read") {
  const Protocol score = of({{"score", "", ""}}, {"score"}, {-1, 1, 2});
  for (const char* text : {"0, 1", "-1,1", "0.5, -0.123456", " 1.000, -1.0"}) CHECK(fits(score, text));
  for (const char* text : {"0", "0, 2", "1.1, 0", "-1.01, 0", "a, 0", "0, 0, 0", "0.1234567, 0", "00, 1"})
    CHECK_FALSE(fits(score, text));
  const Protocol percent = of({{"score", "", ""}}, {"score"}, {0.5, 100, 1});
  for (const char* text : {"0.5", "0.50", "0.51", "7", "99.9", "100", "100.0"}) CHECK(fits(percent, text));
  for (const char* text : {"0", "0.49", "0.4999", "100.1", "101", "-1", "0."}) CHECK_FALSE(fits(percent, text));
  const Protocol between = of({{"score", "", ""}}, {"score"}, {-12.25, -3.5, 1});
  for (const char* text : {"-3.5", "-4", "-12.25", "-12.2", "-9.999"}) CHECK(fits(between, text));
  for (const char* text : {"-3.4", "-3", "-12.26", "-13", "3.5", "0"}) CHECK_FALSE(fits(between, text));
  const Protocol verdict = of({{"verdict", "", ""}}, {"verdict"});
  for (const char* text : {"yes", "No.", "YES, because", "(no)", "yes\nit is"}) CHECK(fits(verdict, text));
  for (const char* text : {"", "yesterday", "nope", "I say yes"}) CHECK_FALSE(fits(verdict, text));
  const Protocol preference = of({{"preference", "", ""}}, {"preference"});
  for (const char* text : {"2 over 1", "none", "None", "10 over 11", "31 over 21", "3 over 12", "12 over 3"})
    CHECK(fits(preference, text));
  for (const char* text : {"2 over 2", "0 over 1", "11 over 11", "a over b", "1 over 0", "none."})
    CHECK_FALSE(fits(preference, text));
  const Protocol choice = of({{"choice", "Class:", "\n"}}, {"choice"});
  for (const char* text : {"Class: A", "so Class: b\n", "Class: (C)"}) CHECK(fits(choice, text));
  for (const char* text : {"Class: Ab", "Class: 1", "A"}) CHECK_FALSE(fits(choice, text));
  const Protocol bare{"test", {{"p", {}, {}}}, {}};
  CHECK(fits(bare, "a query"));
  for (const char* text : {"", " ", "a <b>", "a\nb"}) CHECK_FALSE(fits(bare, text));
}

TEST_CASE("a part's length is counted in words of up to six letters") {
  // 158 tokens: 8 for the marks, 6 for the end, and 144 for 96 units. A slot has 32, a thought in a block 48, free text
  // behind it 16, and free text alone 64. All but the first are one fewer, because they are counted in eighths.
  const Protocol tags = of({{"answer", "<answer>", "</answer>"}, {"think", "<think>", "</think>"}}, {"answer"});
  const auto repeated = [](std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const auto reads = [&](const std::string& text) { return fits(tags, text, 158); };
  for (const std::string_view unit : {"a ", "words ", "sixsix", ".", "7"}) {
    INFO(unit);
    CHECK(reads("<answer>x" + repeated(unit, 31) + "</answer>"));
    CHECK(reads(repeated(unit, 63) + "<answer>x</answer>"));
    CHECK(reads("<think>" + repeated(unit, 47) + "</think>" + repeated(unit, 15) + "<answer>x</answer>"));
    CHECK_FALSE(reads("<answer>x" + repeated(unit, 32) + ".</answer>"));
    CHECK_FALSE(reads(repeated(unit, 63) + ".<answer>x</answer>"));
    CHECK_FALSE(reads("<think>" + repeated(unit, 47) + ".</think><answer>x</answer>"));
    CHECK_FALSE(reads("<think>x</think>" + repeated(unit, 15) + ".<answer>x</answer>"));
  }
  // Few units are counted as exactly: 47 tokens leave 33, so 22 units. A slot has 7, free text 14, with a bracket 28.
  CHECK(fits(tags, "<answer>x" + repeated(".", 6) + "</answer>", 47));
  CHECK_FALSE(fits(tags, "<answer>x" + repeated(".", 7) + "</answer>", 47));
  CHECK(fits(tags, repeated(".", 13) + "<answer>x</answer>", 47));
  CHECK_FALSE(fits(tags, repeated(".", 14) + "<answer>x</answer>", 47));
  CHECK(fits(tags, repeated(".<b", 6) + ".<answer>x</answer>", 47));
  CHECK_FALSE(fits(tags, repeated(".<b", 7) + "<answer>x</answer>", 47));
}

TEST_CASE("a grammar in its dialects") {
  const Protocol bare{"test", {{"p", {}, {}}}, {}};
  const Grammar line(bare, bare.purposes[0], 2);
  CHECK(line.gbnf() ==
        "root ::= reply\nreply ::= [ \\t\\n\\r]{0,8} [^\\t\\n\\r <] r1{0,5} [A-Za-z]{0,5}\n"
        "r1 ::= [A-Za-z]{0,5} [^\\n<A-Za-z] | [A-Za-z]{6}\n");
  CHECK(line.regex() == R"([ \t\n\r]{0,8}[^\t\n\r <](?:[A-Za-z]{0,5}[^\n<A-Za-z]|[A-Za-z]{6}){0,5}[A-Za-z]{0,5})");
  CHECK(line.lark() == "start: REPLY\nREPLY: /" + line.regex() + "/\n");
  CHECK(line.json_schema() ==
        R"({"type":"object","properties":{"reply":{"type":"string","pattern":"^[ \\t\\n\\r]{0,8}[^\\t\\n\\r <])"
        R"((?:[A-Za-z]{0,5}[^\\n<A-Za-z]|[A-Za-z]{6}){0,5}[A-Za-z]{0,5}$"}},)"
        R"("required":["reply"],"additionalProperties":false})");
  const Grammar digits(of({{"answer", "0123", "abd"}}, {"answer"}), Protocol::Purpose{"p", {}, {"answer"}}, 9);
  CHECK(digits.gbnf().find("[A-Zb-z]{6}") != std::string::npos);  // the beginning of a mark is no plain letter
  const Protocol tag = of({{"answer", "$(", ")"}}, {"answer"});
  const Grammar marked(tag, tag.purposes[0], 6757);  // 4500 units
  CHECK(marked.gbnf().starts_with("root ::= reply\nreply ::= thought \"$(\" answer \")\"\n"));
  CHECK(marked.gbnf().find("{375}") != std::string::npos);
  CHECK(marked.gbnf().find("{0,4000}") == std::string::npos);  // servers refuse so many
  CHECK(marked.regex().find("\\$\\(") != std::string::npos);
  CHECK_THROWS_WITH(
      Grammar(of({{"answer", "\u3010", "\u3011"}}, {"answer"}), Protocol::Purpose{"p", {}, {"answer"}}, 9),
      "no grammar can be made of the tag 'answer': its marks are not ASCII");
}

}  // namespace grammar_test
