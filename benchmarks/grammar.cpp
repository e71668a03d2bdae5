// What grammars cost a client: microseconds to compile one, by purpose, and the CPU of a call with one and without: the
// prompt's body, its key, the request and the reply. Usage: bench_grammar [calls]
#include <espalier/backend/chat/detail/openai_reply.hpp>
#include <espalier/backend/chat/detail/openai_request.hpp>
#include <espalier/method/all.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/rag/parse.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

using namespace espalier;

namespace {

double cpu() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}
/// The median of several measurements, in microseconds.
template <class Work>
double median_us(int times, Work work) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const double before = cpu();
    work();
    all.push_back(1e6 * (cpu() - before));
  }
  std::nth_element(all.begin(), all.begin() + times / 2, all.end());
  return all[std::size_t(times / 2)];
}

void compile_times() {
  std::printf("%-24s %-20s %10s %10s\n", "method", "purpose", "compile us", "GBNF bytes");
  for (const char* name : {"decex", "decouple", "airrag", "prorag", "reasonrag", "search-o1"}) {
    const auto protocol = method::make_method(name)->prompts().protocol();
    for (const Protocol::Purpose& purpose : protocol->purposes) {
      std::size_t bytes = 0;
      const double us = median_us(9, [&] { bytes = Grammar(*protocol, purpose, 512).gbnf().size(); });
      std::printf("%-24s %-20s %10.0f %10zu\n", name, purpose.name.c_str(), us, bytes);
    }
  }
}

/// CPU of one call without the network.
double call_us(const std::string& grammar, int calls) {
  const auto prompts = method::make_method("decex")->prompts();
  rag::Rendering history;
  while (history.text.size() < 1500) history.text += "a line of the rounds so far, as \"long\" as they are\n";
  std::string reply = R"({"choices":[{"index":0,"message":{"role":"assistant","content":")";
  for (int i = 0; i < 30; ++i) reply += "some words of a reply\\n";
  reply += R"(<answer>x</answer>"},"finish_reason":"stop"}],"usage":{"prompt_tokens":500,"completion_tokens":200}})";
  backend::detail::OpenAiRequest request("m", true, "");
  backend::detail::JsonReader json;
  const backend::detail::Dialect& dialect = backend::detail::dialect_of(backend::Server::vllm);
  int number = 0;
  return median_us(15,
                   [&] {
                     for (int i = 0; i < calls; ++i) {
                       Sampling sampling{.temperature = 0.7, .stop = {"</search>", "</answer>"}, .grammar = grammar};
                       const std::string question = "Question " + std::to_string(++number) + "?";
                       const std::vector<Prompt> asked{Prompt(
                           prompts.render("rollout", {{"question", rag::render_text(question)}, {"history", history}},
                                          std::move(sampling)),
                           1, 0)};
                       std::string body = request.write(asked, dialect), received = reply;
                       backend::detail::UsageReader counts(
                           backend::detail::most_usage(asked, asked.front().sampling().max_tokens, ""));
                       auto read = backend::detail::read_completions(json.read(received), asked, dialect, counts);
                       const rag::ModelText text(std::move(read[0]->text));
                       if (!rag::parse(text, *prompts.protocol(), *prompts.protocol()->purpose("rollout")))
                         std::abort();
                     }
                   }) /
         calls;
}

}  // namespace

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 2000;
  compile_times();
  const auto protocol = method::make_method("decex")->prompts().protocol();
  const std::string grammar = Grammar(*protocol, *protocol->purpose("rollout"), 512).gbnf();
  const double without = call_us("", calls), with = call_us(grammar, calls);
  std::printf("client CPU a call, no network: %.2f us without, %.2f us with a grammar of %zu bytes\n", without, with,
              grammar.size());
}
