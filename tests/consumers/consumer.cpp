#include <espalier/core/batch_service.hpp>
#include <espalier/espalier.hpp>
#include <espalier/llm/prompt.hpp>
#include <espalier/search.hpp>

#include <span>
#include <vector>

// A program's own names stand beside those of the library.
using namespace espalier;
int run(int x) { return x; }
int step(int x) { return x; }
int search(int x) { return x; }
int propose(int x) { return x; }
int evaluate(int x) { return x; }
int prune(int x) { return x; }
const int value = 1, rank = 2, best = 3, answer = 4, root = 5, seed = 6;

// A model that is a lambda answers one prompt.
int main() {
  if (run(step(search(propose(evaluate(prune(value)))))) + rank + best + answer + root + seed != 21) return 1;
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
