// CPU a request of the OpenAI client, JSON included, beside a bare loop over libcurl's multi_socket that does the same
// requests with the same JSON work, and nothing else. One thread, a local server, 256 requests in flight. Usage:
// bench_http [requests]; bench_http against URL requests, which prints the figures of both against a server that runs;
// or bench_http serve MEAN_MS, which prints the server's address and serves until its input ends (for http_peers.py).
#include <espalier/backend/detail/http/loop.hpp>
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
using Clock = backend::detail::HttpLoop::Clock;

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

/// What a handle of the bare loop sends and receives.
struct Bare {
  CURL* easy = nullptr;
  std::string body, received;
  std::size_t prompt = 0;
};

Figures with_bare_loop(const std::string& url, std::size_t requests, const std::vector<Prompt>& prompts) {
  backend::detail::HttpLoop loop;
  backend::detail::OpenAiRequest request("m", true, "");
  backend::detail::JsonReader json;
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
  std::vector<Bare> handles(in_flight);
  for (Bare& bare : handles) {
    CURL* easy = bare.easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, (url + "/chat/completions").c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &bare);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &bare);
    curl_easy_setopt(
        easy, CURLOPT_WRITEFUNCTION, +[](char* data, std::size_t, std::size_t size, void* self) {
          static_cast<Bare*>(self)->received.append(data, size);
          return size;
        });
  }
  const auto send = [&](Bare& bare, std::size_t number) {
    bare.prompt = number;
    bare.body =
        request.write(std::span(prompts).subspan(number, 1), backend::detail::dialect_of(backend::Server::other));
    bare.received.clear();
    curl_easy_setopt(bare.easy, CURLOPT_POSTFIELDS, bare.body.data());
    curl_easy_setopt(bare.easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(bare.body.size()));
    loop.add(bare.easy);
  };
  const auto run = [&](std::size_t count) {
    std::size_t sent = 0, done = 0;
    while (sent < in_flight) send(handles[sent], sent), ++sent;
    while (done < count) {
      loop.turn(Clock::now() + std::chrono::seconds(10));
      while (const auto ended = loop.ended()) {
        char* self = nullptr;
        curl_easy_getinfo(ended->first, CURLINFO_PRIVATE, &self);
        Bare& bare = *reinterpret_cast<Bare*>(self);
        loop.remove(ended->first);
        const auto asked = std::span(prompts).subspan(bare.prompt, 1);
        auto reply = backend::detail::ChatReply::whole(json.read(bare.received),
                                                       backend::detail::dialect_of(backend::Server::other));
        std::string doubt;
        const auto answers = reply.completions(asked, doubt);
        done += answers[0].has_value();
        if (sent < count) send(bare, sent++);
      }
    }
  };
  run(in_flight);
  const Figures figures = measure(requests, [&] { run(requests); });
  for (const Bare& bare : handles) curl_easy_cleanup(bare.easy);
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
  const bool against = argc == 4 && std::string(argv[1]) == "against";
  const std::size_t requests = argc > 1 ? std::strtoul(argv[argc - 1], nullptr, 10) : 10'000;
  std::vector<Prompt> prompts;
  for (std::size_t i = 0; i < std::max(requests, in_flight); ++i) prompts.emplace_back(prompt(i), 1, 0);
  if (against) {
    std::printf("%.2f\n", with_client(argv[2], requests, prompts).cpu_us);
    std::printf("%.2f\n", with_bare_loop(argv[2], requests, prompts).cpu_us);
    return 0;
  }
  const std::string answer = reply();
  std::printf(
      "%zu requests with prompts of %zu bytes, replies of %zu bytes, %zu in flight, medians of 5 interleaved runs\n",
      requests, prompts[0].text().size(), answer.size(), in_flight);

  for (const double mean_ms : {0.0, 50.0}) {
    test::FaultServer server(script(answer, mean_ms));
    std::vector<Figures> client, bare;
    for (int i = 0; i < 5; ++i) {
      client.push_back(with_client(server.url("/v1"), requests, prompts));
      bare.push_back(with_bare_loop(server.url("/v1"), requests, prompts));
    }
    const Figures a = median(client), b = median(bare);
    std::printf(
        "latency %2.0f ms: OpenAi %6.1f us CPU/request (%5.0f/s), bare loop over libcurl %6.1f us (%5.0f/s): %.2f of "
        "its requests a CPU second\n",
        mean_ms, a.cpu_us, a.requests, b.cpu_us, b.requests, b.cpu_us / a.cpu_us);
  }
}
