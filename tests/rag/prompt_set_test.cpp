#include <espalier/method/decex/prompts.hpp>

#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

#include <fstream>

namespace prompt_set_test {

using namespace espalier;
using namespace espalier::rag;

namespace {

PromptSet small(const std::string& text) {
  auto protocol = std::make_shared<const Protocol>(
      Protocol{"m", {{"ask", {"question", "history"}, {}}}, {{"search", "<s>", "</s>"}}});
  return {protocol, {{"ask", text}}};
}

}  // namespace

TEST_CASE("spans are exactly the places of slots and segments") {
  Transcript transcript;
  transcript = transcript.append(Segment(SegmentKind::query, ModelText("who < what")))
                   .append(Segment(Passages{Passage("1", "T", "<b>")}));
  const PromptSet prompts = small("Q: {question}! {unknown} {\n{history}END");
  const auto body = prompts.render(
      "ask", {{"question", render_text("a < b?")}, {"history", render_history(transcript, *prompts.protocol())}}, {});
  const std::string& text = body->messages.back().content;
  CHECK(text == "Q: a &lt; b?! {unknown} {\n<s> who &lt; what </s>\nDocs 1: \"T\"\n&lt;b>\nEND");
  std::vector<std::pair<std::string, std::string>> spans;
  for (const PromptBody::Span& span : body->spans)
    spans.emplace_back(span.name, text.substr(span.begin, span.end - span.begin));
  const std::vector<std::pair<std::string, std::string>> expected{
      {"question", "a &lt; b?"},
      {"history", "<s> who &lt; what </s>\nDocs 1: \"T\"\n&lt;b>\n"},
      {"query", "who &lt; what"},
      {"document", "T\"\n&lt;b>"}};
  CHECK(spans == expected);
}

TEST_CASE("a value that looks like a slot is not filled again") {
  const auto body = small("{question}|{history}")
                        .render("ask", {{"question", render_text("{history}")}, {"history", render_text("h")}}, {});
  CHECK(body->messages.back().content == "{history}|h");
}

TEST_CASE("an empty history says so") {
  CHECK(render_history(Transcript(), *method::decex_prompts().protocol()).text == "(nothing yet)\n");
}

TEST_CASE_FIXTURE(test::InFolder, "prompts are replaced from files; wrong names and missing slots are named") {
  const auto write = [&](const char* name, const char* text) { std::ofstream(folder.path() / name) << text; };
  write("rollout.md", "ignored");
  CHECK_THROWS_WITH_AS((void)method::decex_prompts().replaced_from(folder.path()),
                       doctest::Contains(": holds no prompt, such as forced"), InputError);
  write("sub_query.txt", "Look up: {question}");
  const PromptSet prompts = method::decex_prompts().replaced_from(folder.path());
  CHECK(prompts.texts().at("sub_query") == "Look up: {question}");
  CHECK(prompts.texts().at("rollout") == method::decex_prompts().texts().at("rollout"));
  write("rollout.txt", "only {question}");
  CHECK_THROWS_WITH_AS(
      (void)method::decex_prompts().replaced_from(folder.path()),
      ((folder.path() / "rollout.txt").string() + ": field '{history}': the prompt lacks this slot").c_str(),
      InputError);
  write("rollout.txt", "\xc3\xa9 \xff {question} {history}");
  CHECK_THROWS_WITH_AS((void)method::decex_prompts().replaced_from(folder.path()),
                       ((folder.path() / "rollout.txt").string() + ": byte 4 is not UTF-8").c_str(), InputError);
  write("rollout.txt", "{question} {history}");
  write("rolout.txt", "{question} {history}");
  CHECK_THROWS_WITH_AS((void)method::decex_prompts().replaced_from(folder.path()),
                       ((folder.path() / "rolout.txt").string() + ": no prompt of decex has this name").c_str(),
                       InputError);
  CHECK_THROWS_AS((void)method::decex_prompts().replaced_from(folder.path() / "nowhere"), InputError);
  std::filesystem::remove(folder.path() / "rolout.txt");
  std::filesystem::remove(folder.path() / "rollout.txt");
  std::filesystem::create_symlink("gone", folder.path() / "rollout.txt");
  CHECK_THROWS_WITH_AS(
      (void)method::decex_prompts().replaced_from(folder.path()),
      ((folder.path() / "rollout.txt").string() + ": cannot be read: No such file or directory").c_str(), InputError);
}

TEST_CASE("a set of prompts is whole: a text for each purpose, marks for each tag that is returned") {
  const auto protocol = [](const char* tag) {
    return std::make_shared<const Protocol>(
        Protocol{"m", {{"ask", {}, {tag}}, {"tell", {}, {}}}, {{"answer", "[", "]"}}});
  };
  CHECK_NOTHROW(PromptSet(protocol("answer"), {{"ask", "?"}, {"tell", "!"}}));
  CHECK_THROWS_WITH_AS(PromptSet(protocol("answer"), {{"ask", "?"}}), "tell: there is no text for the prompt 'tell'",
                       InputError);
  CHECK_THROWS_WITH_AS(PromptSet(protocol("anser"), {{"ask", "?"}, {"tell", "!"}}),
                       "the prompt 'ask' of m returns the tag 'anser', which has no marks", std::invalid_argument);
}

}  // namespace prompt_set_test
