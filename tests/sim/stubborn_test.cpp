#include "stubborn.hpp"

#include <espalier/core/batch_service.hpp>
#include <espalier/rag/parse.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stubborn_test {

using namespace espalier;
using testing::Habit;
using testing::Stubborn;

static_assert(espalier::detail::BatchFunction<const Stubborn, Prompt, Completion>);

namespace {

const std::shared_ptr<const Protocol> protocol = std::make_shared<const Protocol>(
    Protocol{"p",
             {{"step", {}, {"answer", "search"}}, {"end", {}, {"answer"}}, {"bare", {}, {}}},
             {{"answer", "<a>", "</a>"}, {"search", "Search(", ")"}}});

Completion complete(Habit habit, const std::string& purpose, const std::string& text = "Go on.") {
  PromptBody body;
  body.messages = {{"user", text}};
  body.purpose = purpose;
  body.protocol = protocol;
  return Stubborn(habit)(std::vector{Prompt(std::make_shared<const PromptBody>(std::move(body)), 0, 0)}).front();
}
std::optional<rag::Reply> read(Habit habit, const std::string& purpose, const std::string& text = "Go on.") {
  return rag::parse(rag::ModelText(complete(habit, purpose, text).text), *protocol, *protocol->purpose(purpose));
}

}  // namespace

TEST_CASE("one that repeats itself searches for the same in every state, one that never stops for something else") {
  CHECK(read(Habit::repeats, "step")->tag == "search");
  CHECK(read(Habit::repeats, "step")->content == read(Habit::repeats, "step", "A longer history.")->content);
  CHECK(read(Habit::repeats, "end")->tag == "answer");
  CHECK(read(Habit::repeats, "bare")->content == "the same again");
  CHECK(read(Habit::never_stops, "step")->tag == "search");
  CHECK(read(Habit::never_stops, "step")->content == read(Habit::never_stops, "step")->content);
  CHECK(read(Habit::never_stops, "step")->content != read(Habit::never_stops, "step", "A longer history.")->content);
}

TEST_CASE("one that rambles or says nothing cannot be read, and one of another language can") {
  for (const std::string purpose : {"step", "end"}) {
    CHECK_FALSE(read(Habit::rambles, purpose));
    CHECK_FALSE(read(Habit::says_nothing, purpose));
    CHECK(read(Habit::foreign, purpose)->content == "Ich weiß es nicht, 我不知道");
  }
  CHECK_FALSE(read(Habit::says_nothing, "bare"));
  CHECK(complete(Habit::rambles, "step").finish == Completion::Finish::length);
  CHECK(complete(Habit::rambles, "step").text.size() == 512 / 4 * 11);
  CHECK(complete(Habit::says_nothing, "end").finish == Completion::Finish::stop);
  CHECK(complete(Habit::says_nothing, "end").completion_tokens == 2);
}

TEST_CASE("habits are different models") {
  CHECK(Stubborn(Habit::repeats).fingerprint() == Stubborn(Habit::repeats).fingerprint());
  CHECK(Stubborn(Habit::repeats).fingerprint() != Stubborn(Habit::foreign).fingerprint());
}

}  // namespace stubborn_test
