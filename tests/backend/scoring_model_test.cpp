#include <espalier/backend/scoring_model.hpp>
#include <espalier/core/batch_service.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace scoring_model_test {

using namespace espalier;
using backend::ScoringModel;

namespace {

/// A prompt with slots "question" and "step" of a purpose that wants `count` numbers from low to high; 0 = words.
Prompt prompt(double low, double high, std::uint32_t count) {
  Protocol protocol;
  protocol.purposes = {{"reward", {"question", "step"}, {"score"}, {low, high, count}}};
  protocol.tags = {{"score", "<score>", "</score>"}};
  PromptBody body;
  body.messages = {{"user", "Judge. Question: who? Step: look it up. Write a number."}};
  body.spans = {{"question", 17, 21}, {"step", 28, 39}, {"documents", 0, 5}};
  body.purpose = "reward";
  body.protocol = std::make_shared<const Protocol>(protocol);
  return Prompt(std::make_shared<const PromptBody>(body), 1, 0);
}
Outcome<Completion> reply(const Prompt& asked, const Embedding& numbers, std::vector<std::string>* texts = nullptr) {
  const std::function<std::vector<Embedding>(std::span<const EncodeRequest>)> score =
      [=](std::span<const EncodeRequest> requests) {
        for (const EncodeRequest& request : requests)
          if (texts) texts->push_back(request.text);
        return std::vector<Embedding>(requests.size(), numbers);
      };
  ScoringModel model(std::make_unique<BatchService<EncodeRequest, Embedding, decltype(score)>>(score));
  return test::ask(model, {asked})[0];
}

}  // namespace

TEST_CASE("a model of numbers sees a prompt's slots and answers in the purpose's form") {
  std::vector<std::string> texts;
  CHECK(reply(prompt(-1, 1, 1), {0}, &texts).value().text == "<score>0</score>");
  CHECK(texts == std::vector<std::string>{"who?\n\nlook it up."});
  CHECK(reply(prompt(0, 10, 1), {0}).value().text == "<score>5</score>");
  CHECK(reply(prompt(-1, 1, 1), {100}).value().text == "<score>1</score>");
  CHECK(reply(prompt(-1, 1, 2), {100, -100}).value().text == "<score>1, -1</score>");
  // Logits of "bad" and "good": half their difference is 1, tanh(1) = 0.761594...
  CHECK(reply(prompt(-1, 1, 1), {-0.5F, 1.5F}).value().text.starts_with("<score>0.76159415595576"));
}

TEST_CASE("a purpose that wants words, or another number of scores, is refused") {
  CHECK(test::failure_of(reply(prompt(0, 1, 0), {0})).message ==
        "a scoring server answers with numbers, the purpose 'reward' wants words");
  CHECK(test::failure_of(reply(Prompt("hello"), {0})).kind == BackendError::Kind::permanent);
  CHECK(test::failure_of(reply(prompt(0, 1, 1), {1, 2, 3})).message ==
        "a scoring server gave 3 numbers, the purpose 'reward' wants 1");
}

}  // namespace scoring_model_test
