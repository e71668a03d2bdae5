#include <espalier/core/batch_service.hpp>
#include <espalier/llm/prompt.hpp>

#include <span>
#include <vector>

// A model that is a lambda answers one prompt.
int main() {
  auto echo = [](std::span<const espalier::Prompt> prompts) {
    std::vector<espalier::Completion> completions;
    for (const auto& prompt : prompts) completions.emplace_back(prompt.text());
    return completions;
  };
  espalier::BatchService<espalier::Prompt, espalier::Completion, decltype(echo)> model(echo);
  model.submit(7, espalier::Prompt("hello"));
  const auto replies = model.poll({});
  return replies.size() == 1 && replies[0].ticket == 7 && replies[0].outcome.value().text == "hello" ? 0 : 1;
}
