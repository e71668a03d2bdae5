// expect: BatchFunction
#include <espalier/core/batch_service.hpp>
#include <espalier/llm/prompt.hpp>

#include <span>
#include <vector>

template <class F>
  requires espalier::detail::BatchFunction<F, espalier::Prompt, espalier::Completion>
void accept(F) {}

int main() {
#ifdef FAIL
  using Reply = int;  // a model that answers with numbers
#else
  using Reply = espalier::Completion;
#endif
  accept([](std::span<const espalier::Prompt> prompts) { return std::vector<Reply>(prompts.size()); });
}
