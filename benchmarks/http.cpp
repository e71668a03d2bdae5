// CPU a request of the OpenAI client, JSON included, beside a bare loop over the same libcurl event loop that sends fixed
// bytes and drops what comes back. One thread, a local server, 256 requests in flight. Usage: bench_http [requests], or
// bench_http serve MEAN_MS, which prints the server's address and serves until its input ends (for http_peers.py).
#include <espalier/backend/http_loop.hpp>
#include <espalier/backend/openai.hpp>
#include <espalier/core/seed.hpp>

#include "../tests/backend/fault_server.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numbers>
#include <string>
#include <vector>

using namespace espalier;
using Clock = backend::HttpLoop::Clock;

namespace {

constexpr std::size_t in_flight = 256;

struct Figures {
  double cpu_us;    ///< of the client's thread, a request
  double requests;  ///< a second
};
template <class Work>
Figures measure(std::size_t requests, Work work) {
  const auto cpu = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
  };
  const double cpu_before = cpu();
  const auto before = Clock::now();
  work();
  const double seconds = std::chrono::duration<double>(Clock::now() - before).count();
  return {1e6 * (cpu() - cpu_before) / double(requests), double(requests) / seconds};
}

/// A prompt whose message has about 2 kB; every number gives another one.
std::shared_ptr<const PromptBody> prompt(std::size_t number) {
  PromptBody body;
  body.messages = {{"user", "Question " + std::to_string(number) + ": "}};
  while (body.messages[0].content.size() < 1900)
    body.messages[0].content += "a line of the transcript so far, as \"long\" as they are\n";
  body.sampling.temperature = 1;
  body.sampling.stop = {"</search>", "</answer>"};
  return std::make_shared<const PromptBody>(std::move(body));
}
std::string reply() {
  std::string text;
  while (text.size() < 800) text += "some words of a completion\\n";
  return R"({"id":"cmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":")" +
         text +
         R"("},"finish_reason":"stop","stop_reason":"</search>"}],"usage":{"prompt_tokens":500,"completion_tokens":200,"total_tokens":700}})";
}

/// Replies of equal text after a log-normal time, sigma 0.5, of this mean.
test::FaultServer::Script script(const std::string& text, double mean_ms) {
  return [=](const test::Received&, std::size_t number) {
    Random random{Seed(number)};
    const double u = 1 - random.uniform(), v = random.uniform();
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    const double ms = mean_ms * std::exp(0.5 * normal - 0.125);
    return test::Answer{.body = text, .delay = std::chrono::microseconds(static_cast<long>(1000 * ms))};
  };
}

Figures with_client(const std::string& url, std::size_t requests, const std::vector<Prompt>& prompts) {
  backend::OpenAi model({.url = url, .model = "m", .api_key_env = "", .http = {.max_in_flight = in_flight}});
  const auto run = [&](std::size_t count) {
    std::size_t sent = 0, done = 0;
    while (done < count) {
      for (; sent < std::min(count, done + 2 * in_flight); ++sent) model.submit(sent, prompts[sent]);
      for (const auto& answer : model.poll(std::chrono::seconds(10))) done += answer.outcome.ok();
    }
  };
  run(in_flight);  // opens the connections
  return measure(requests, [&] { run(requests); });
}

Figures with_bare_loop(const std::string& url, std::size_t requests, const std::string& body) {
  backend::HttpLoop loop;
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
  std::vector<CURL*> handles;
  for (std::size_t i = 0; i < in_flight; ++i) {
    CURL* easy = handles.emplace_back(curl_easy_init());
    curl_easy_setopt(easy, CURLOPT_URL, (url + "/chat/completions").c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, +[](char*, std::size_t, std::size_t size, void*) { return size; });
  }
  const auto run = [&](std::size_t count) {
    std::size_t sent = 0, done = 0;
    for (; sent < in_flight; ++sent) loop.add(handles[sent]);
    while (done < count) {
      loop.turn(Clock::now() + std::chrono::seconds(10));
      while (const auto ended = loop.ended()) {
        loop.remove(ended->first);
        ++done;
        if (sent++ < count) loop.add(ended->first);
      }
    }
  };
  run(in_flight);
  const Figures figures = measure(requests, [&] { run(requests); });
  for (CURL* easy : handles) curl_easy_cleanup(easy);
  curl_slist_free_all(headers);
  return figures;
}

Figures median(std::vector<Figures> runs) {
  std::sort(runs.begin(), runs.end(), [](const Figures& a, const Figures& b) { return a.cpu_us < b.cpu_us; });
  return runs[runs.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "serve") {
    const test::FaultServer server(script(reply(), std::strtod(argv[2], nullptr)));
    std::puts(server.url("/v1").c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
  }
  const std::size_t requests = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000;
  std::vector<Prompt> prompts;
  for (std::size_t i = 0; i < std::max(requests, in_flight); ++i) prompts.emplace_back(prompt(i), 1, 0);
  const std::string body = backend::OpenAiRequest("m", true, "").write(std::span(prompts).first(1));
  const std::string answer = reply();
  std::printf("%zu requests of %zu bytes, replies of %zu bytes, %zu in flight, medians of 5 interleaved runs\n",
              requests, body.size(), answer.size(), in_flight);

  for (const double mean_ms : {0.0, 50.0}) {
    test::FaultServer server(script(answer, mean_ms));
    std::vector<Figures> client, bare;
    for (int i = 0; i < 5; ++i) {
      client.push_back(with_client(server.url("/v1"), requests, prompts));
      bare.push_back(with_bare_loop(server.url("/v1"), requests, body));
    }
    const Figures a = median(client), b = median(bare);
    std::printf(
        "latency %2.0f ms: OpenAi %6.1f us CPU/request (%5.0f/s), bare curl loop %6.1f us (%5.0f/s), ratio %.2f\n",
        mean_ms, a.cpu_us, a.requests, b.cpu_us, b.requests, a.cpu_us / b.cpu_us);
  }
}
