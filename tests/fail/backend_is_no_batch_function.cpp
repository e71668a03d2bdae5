// expect: a backend is a batch function
#include <espalier/llm/scheduler.hpp>

#include <span>
#include <vector>

int main() {
  espalier::Scheduler scheduler;
#ifdef FAIL
  const auto model = [](const espalier::Prompt& prompt) {
    return espalier::Completion(prompt.text());
  };  // one at a time
#else
  const auto model = [](std::span<const espalier::Prompt> prompts) {
    return std::vector<espalier::Completion>(prompts.size());
  };
#endif
  return scheduler.model(model).pending().empty() ? 0 : 1;
}
