#include <espalier/core/batch_service.hpp>
#include <espalier/llm/scheduler.hpp>

#include <doctest/doctest.h>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace batch_service_test {

using namespace espalier;

namespace {

using Kind = BackendError::Kind;

template <class F>
using PromptService = BatchService<Prompt, Completion, F>;

/// Polls until all `n` requests are answered; replies by ticket.
template <class F>
std::map<Ticket, Outcome<Completion>> answers(PromptService<F>& service, std::size_t n) {
  std::map<Ticket, Outcome<Completion>> found;
  while (found.size() < n)
    for (auto& reply : service.poll(std::chrono::milliseconds(0)))
      found.emplace(reply.ticket, std::move(reply.outcome));
  return found;
}
using Numbers = std::vector<int> (*)(std::span<const Prompt>);
static_assert(!detail::BatchFunction<Numbers, Prompt, Completion>);

template <class F>
PromptService<F> service_of(F f) {
  return PromptService<F>(std::move(f));
}
std::string error_of(const Outcome<Completion>& outcome) {
  try {
    (void)outcome.value();
  } catch (const BackendError& error) {
    return error.what();
  }
  return "none";
}
std::exception_ptr failure(Kind kind) { return std::make_exception_ptr(BackendError("failed", kind)); }

}  // namespace

TEST_CASE("a batch function gets all that waits, in order, in one call") {
  std::vector<std::string> seen;
  int calls = 0;
  auto service = service_of([&](std::span<const Prompt> prompts) {
    ++calls;
    std::vector<std::string> out;
    for (const Prompt& p : prompts) seen.push_back(p.text()), out.push_back(p.text() + "!");
    return out;  // a string is a completion
  });
  CHECK(service.batch());
  CHECK(service.poll(std::chrono::milliseconds(0)).empty());
  CHECK(calls == 0);
  for (Ticket t : {1u, 2u, 3u}) service.submit(t, Prompt(std::to_string(t)));
  const auto found = answers(service, 3);
  CHECK(calls == 1);
  CHECK(seen == std::vector<std::string>{"1", "2", "3"});
  CHECK(found.at(2).value().text == "2!");
}

TEST_CASE("an answer of the wrong length is a permanent error of every item") {
  int calls = 0;
  auto service = service_of([&](std::span<const Prompt>) { return ++calls, std::vector<Completion>(3); });
  service.submit(1, Prompt("a"));
  service.submit(2, Prompt("b"));
  const auto found = answers(service, 2);
  CHECK(calls == 1);
  for (Ticket t : {1u, 2u}) CHECK(error_of(found.at(t)) == "a batch function returned 3 items for 2 requests");
}

TEST_CASE("a result or an error stands for each item, and only what failed is asked again") {
  std::map<std::string, int> asked;
  Completion cut("The River Te");
  cut.finish = Completion::Finish::other;  // is no answer
  auto service = service_of([&](std::span<const Prompt> prompts) {
    std::vector<Outcome<Completion>> out;
    for (const Prompt& p : prompts) {
      const int times = ++asked[p.text()];
      if ((p.text() == "shaky" && times < 3) || p.text() == "dead") out.emplace_back(failure(Kind::transport));
      else if (p.text() == "denied") out.emplace_back(failure(Kind::permanent));
      else if (p.text() == "cut" && times < 3) out.emplace_back(cut);
      else out.emplace_back(Completion(p.text()));
    }
    return out;
  });
  const char* texts[] = {"good", "shaky", "denied", "dead", "cut"};
  for (Ticket t = 0; t < 5; ++t) service.submit(t, Prompt(texts[t]));
  const auto found = answers(service, 5);
  CHECK(found.at(0).value().text == "good");
  CHECK(found.at(1).value().text == "shaky");  // at the third attempt
  CHECK(error_of(found.at(2)) == "failed");
  CHECK(error_of(found.at(3)) == "failed");
  CHECK(found.at(4).value().text == "cut");
  CHECK(asked == std::map<std::string, int>{{"good", 1}, {"shaky", 3}, {"denied", 1}, {"dead", 3}, {"cut", 3}});
}

TEST_CASE("a transport error thrown by the function is every item's, and all are asked again") {
  int calls = 0;
  auto service = service_of([&](std::span<const Prompt> prompts) {
    if (++calls < 3) throw BackendError("connection reset");
    return std::vector<Completion>(prompts.size());
  });
  service.submit(1, Prompt("a"));
  service.submit(2, Prompt("b"));
  const auto found = answers(service, 2);
  CHECK(found.at(1).ok());
  CHECK(found.at(2).ok());
  CHECK(calls >= 3);
}

TEST_CASE("a request that waits for another attempt can be cancelled") {
  int calls = 0;
  auto service =
      service_of([&](std::span<const Prompt>) -> std::vector<Completion> { ++calls, throw BackendError("reset"); });
  service.submit(1, Prompt("a"));
  CHECK(service.poll(std::chrono::milliseconds(0)).empty());
  service.cancel(1);
  for (int i = 0; i < 5; ++i) CHECK(service.poll(std::chrono::milliseconds(0)).empty());
  CHECK(calls == 1);
}

TEST_CASE("an error of another type passes through") {
  auto service =
      service_of([](std::span<const Prompt>) -> std::vector<Completion> { throw std::domain_error("a fault"); });
  service.submit(1, Prompt("a"));
  CHECK_THROWS_AS(service.poll(std::chrono::milliseconds(0)), std::domain_error);
}

TEST_CASE("a scheduler waits for the attempts of a model while other trees go on") {
  int calls = 0;
  const auto model_function = [&](std::span<const Prompt> prompts) {
    ++calls;
    std::vector<Outcome<Completion>> out;
    for (const Prompt& p : prompts) {
      if (p.text() == "shaky" && calls < 3) out.emplace_back(failure(Kind::transport));
      else out.emplace_back(Completion(p.text()));
    }
    return out;
  };
  const auto say = [](ModelPort model, std::string text) -> Task<std::string> {
    const Completion completion = co_await model(Prompt(std::move(text)));
    co_return completion.text;
  };
  std::unique_ptr<Service<Prompt, Completion>> service =
      std::make_unique<PromptService<decltype(model_function)>>(model_function);
  Scheduler scheduler;
  ModelPort model = scheduler.model(std::move(service));
  std::vector<Task<std::string>> tasks;
  for (const char* text : {"a", "shaky", "b"}) tasks.push_back(say(model, text));
  CHECK(scheduler.run(std::move(tasks)) == std::vector<std::string>{"a", "shaky", "b"});
}

}  // namespace batch_service_test
