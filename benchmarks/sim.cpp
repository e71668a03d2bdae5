/// Speed of the generated world (passages per second) and of the simulated model (replies per second, one core, prompts
/// of about 3 kB): the floor is 20,000 replies per second, so that the model is never what a search waits for.
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace espalier;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A question with its supporting passages and others, `bytes` of them or more.
Prompt page(const sim::World& world, const rag::Example& example, std::shared_ptr<const Protocol> protocol,
            std::size_t bytes) {
  PromptBody body;
  std::string text;
  const auto put = [&](const char* name, const std::string& value) {
    const auto begin = static_cast<std::uint32_t>(text.size());
    text += value;
    body.spans.push_back({name, begin, static_cast<std::uint32_t>(text.size())});
    text += '\n';
  };
  const auto show = [&](std::size_t i) {
    const Passage p = world.passage(i);
    put("document", p.title() + "\n" + p.text());
  };
  put("question", example.question.text);
  put("sub_question", example.chain[0].question);
  put("query", example.chain[0].support_title);
  for (const auto& step : example.chain) show(std::stoul(step.support_id.substr(2)));
  for (std::size_t i = 0; text.size() < bytes; i += 7) show(i % world.size());
  body.messages = {{"user", std::move(text)}};
  body.purpose = protocol->purposes.front().name;
  body.protocol = std::move(protocol);
  body.sampling.temperature = 0.7;
  return Prompt(std::make_shared<const PromptBody>(std::move(body)), 1, 0);
}

}  // namespace

int main() {
  auto start = std::chrono::steady_clock::now();
  const sim::World large({.passages = 1'000'000, .questions = 1000});
  std::printf("world of %zu passages, 1000 questions: %.3f s to make\n", large.size(), seconds_since(start));
  start = std::chrono::steady_clock::now();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < large.size(); ++i) bytes += large.passage(i).text().size();
  std::printf("passages: %.0f a second (%zu bytes each)\n", static_cast<double>(large.size()) / seconds_since(start),
              bytes / large.size());

  const sim::World world({.passages = 5000, .questions = 300});
  start = std::chrono::steady_clock::now();
  const sim::Model model(world.examples());
  std::printf("model over %zu chains: %.4f s to make\n", world.examples().size(), seconds_since(start));
  const std::vector<std::pair<const char*, std::vector<std::string>>> purposes = {
      {"termination", {"answer", "question"}},
      {"rollout", {"search", "answer"}},
      {"own_answer", {"answer"}},
      {"sub_query", {}}};
  for (const auto& [name, returns] : purposes) {
    const auto protocol = std::make_shared<const Protocol>(Protocol{"bench",
                                                                    {{name, {"question", "history"}, returns}},
                                                                    {{"answer", "<answer>", "</answer>"},
                                                                     {"question", "<question>", "</question>"},
                                                                     {"search", "<search>", "</search>"}}});
    std::vector<Prompt> prompts;
    for (const auto& example : world.examples()) prompts.push_back(page(world, example, protocol, 3000));
    std::size_t replies = 0;
    start = std::chrono::steady_clock::now();
    do replies += model(prompts).size();
    while (seconds_since(start) < 1);
    const double rate = static_cast<double>(replies) / seconds_since(start);
    std::printf("replies, %s: %.0f a second, %.2f x the floor of 20,000\n", name, rate, rate / 20'000);
  }
}
