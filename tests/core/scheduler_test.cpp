#include <espalier/llm/scheduler.hpp>

#include <core/shuffled_service.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace scheduler_test {

using namespace espalier;
using namespace espalier::detail;

namespace {

Completion echo(const Prompt& prompt) { return Completion("<" + prompt.text() + ">"); }

/// A model that notes the size of each batch.
auto noting(std::vector<std::size_t>* batches) {
  return [batches](std::span<const Prompt> prompts) {
    batches->push_back(prompts.size());
    std::vector<Completion> answers;
    for (const Prompt& p : prompts) answers.push_back(echo(p));
    return answers;
  };
}
/// A scheduler with such a model.
struct Noted {
  std::vector<std::size_t> batches{};
  Scheduler scheduler{};
  ModelPort model = scheduler.model(noting(&batches));
};
auto noting_retriever(std::vector<std::size_t>* batches) {
  return [batches](std::span<const Query> queries) {
    batches->push_back(queries.size());
    std::vector<Passages> answers;
    for (const Query& q : queries) answers.push_back(Passages(1, Passage("1", "t", q.text)));
    return answers;
  };
}

Task<std::string> say(ModelPort model, std::string text) {
  const Completion completion = co_await model(Prompt(std::move(text)));
  co_return completion.text;
}
std::vector<Task<std::string>> say_each(const ModelPort& model, const std::vector<std::string>& texts) {
  std::vector<Task<std::string>> tasks;
  for (const std::string& text : texts) tasks.push_back(say(model, text));
  return tasks;
}
std::vector<std::string> numbers(int n) {
  std::vector<std::string> texts;
  for (int i = 0; i < n; ++i) texts.push_back(std::to_string(i));
  return texts;
}
/// `steps` calls, each asking with the answer to the one before.
Task<std::string> chain(ModelPort model, std::string text, int steps) {
  for (int i = 0; i < steps; ++i) {
    const Completion completion = co_await model(Prompt(text));
    text = completion.text;
  }
  co_return text;
}
Task<std::string> read_then_say(RetrieverPort retriever, ModelPort model, std::string text, int reads) {
  for (int i = 0; i < reads; ++i) {
    const Passages passages = co_await retriever(Query(text + std::to_string(i), 1));
    text = passages.front().text();
  }
  co_return co_await say(model, std::move(text));
}
std::vector<Task<std::string>> chains(ModelPort model, std::size_t n) {
  std::vector<Task<std::string>> tasks;
  for (std::size_t i = 0; i < n; ++i) tasks.push_back(chain(model, std::to_string(i), 1 + static_cast<int>(i % 3)));
  return tasks;
}

}  // namespace

TEST_CASE_FIXTURE(Noted, "everything that waits goes to a batch model in one call") {
  const auto texts = scheduler.run(chains(model, 9));
  CHECK(texts[4] == "<<4>>");
  CHECK(batches == std::vector<std::size_t>{9, 6, 3});  // a third of the chains ends after each round
  CHECK(model.accounts().flushes == 3);
  CHECK(model.accounts().logical == 18);
}

TEST_CASE_FIXTURE(Noted, "the model is asked only when no other port has work") {
  // Tree i reads i passages before it asks: the model must wait for the slowest reader.
  std::vector<std::size_t> reads;
  RetrieverPort retriever = scheduler.retriever(noting_retriever(&reads));
  std::vector<Task<std::string>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(read_then_say(retriever, model, "q" + std::to_string(i) + "_", i));
  CHECK(scheduler.run(std::move(tasks))[2] == "<q2_01>");
  CHECK(reads == std::vector<std::size_t>{4, 3, 2, 1});
  CHECK(batches == std::vector<std::size_t>{5});
}

TEST_CASE_FIXTURE(Noted, "the model waits for an asynchronous retriever too") {
  const auto find = [](const Query& q) -> Outcome<Passages> { return Passages(1, Passage("1", "t", q.text)); };
  RetrieverPort retriever = scheduler.retriever(testing::shuffled<Query, Passages>(find, 5));
  std::vector<Task<std::string>> tasks;
  for (int i = 0; i < 6; ++i) tasks.push_back(read_then_say(retriever, model, "q" + std::to_string(i) + "_", i));
  CHECK(scheduler.run(std::move(tasks))[1] == "<q1_0>");
  CHECK(batches == std::vector<std::size_t>{6});
}

TEST_CASE("an asynchronous backend has at most max_in_flight requests and results do not depend on it") {
  Noted other;
  const std::vector<std::string> expected = other.scheduler.run(chains(other.model, 100));
  const auto answer = [](const Prompt& p) -> Outcome<Completion> { return echo(p); };
  for (const std::size_t in_flight : {std::size_t(1), std::size_t(7), std::size_t(64)})
    for (std::uint64_t order = 0; order < 5; ++order) {
      testing::Traffic traffic;
      Scheduler scheduler;
      ModelPort model = scheduler.model(testing::shuffled<Prompt, Completion>(answer, order, &traffic), in_flight);
      CHECK(scheduler.run(chains(model, 100)) == expected);
      CHECK(traffic.most_in_flight == in_flight);
      CHECK(traffic.submitted == 199);  // 34 + 33 + 33 chains of 1, 2 and 3 calls
    }
}

TEST_CASE_FIXTURE(Noted, "identical requests in flight are asked once and counted") {
  const auto texts = scheduler.run(say_each(model, {"same", "same", "same", "same", "other", "other"}));
  CHECK(std::count(texts.begin(), texts.end(), "<same>") == 4);
  CHECK(batches == std::vector<std::size_t>{2});
  CHECK(model.accounts().logical == 6);
  CHECK(model.accounts().shared == 4);
  CHECK(model.accounts().failed == 0);
}

TEST_CASE("of several who ask the same any may leave, in any order: the others get the answer") {
  for (unsigned leaving = 0; leaving < 16; ++leaving)
    for (const bool backwards : {false, true}) {
      CAPTURE(leaving);
      CAPTURE(backwards);
      Scheduler scheduler;
      const ModelPort model = scheduler.external_model();
      std::vector<std::optional<Task<std::string>>> tasks;
      const auto come = [&] {
        tasks.emplace_back(say(model, "same"));
        scheduler.start(*tasks.back());
        scheduler.step();
      };
      for (int i = 0; i < 4; ++i) come();
      for (unsigned i = 0; i < 4; ++i)
        if (const unsigned who = backwards ? 3 - i : i; leaving >> who & 1) tasks[who].reset();
      CHECK(model.pending().empty() == (leaving == 15));
      come();
      REQUIRE(model.pending().size() == 1);
      scheduler.resume(model, model.pending()[0].first, Outcome<Completion>(Completion("answer")));
      scheduler.step();
      for (auto& task : tasks) CHECK((!task || task->take() == "answer"));
      CHECK(model.accounts().logical == static_cast<std::uint64_t>(5 - std::popcount(leaving)));
      CHECK(model.accounts().shared == model.accounts().logical - 1);
    }
}

TEST_CASE("requests without a key are never the same") {
  struct Number {
    explicit Number(int n) : number(n) {}
    int number;
  };
  std::vector<int> asked;
  Scheduler scheduler;
  const Port<Number, int> port = scheduler.port<Number, int>([&](std::span<const Number> numbers) {
    for (const Number& n : numbers) asked.push_back(n.number);
    return std::vector<int>(numbers.size(), 7);
  });
  std::vector<Task<int>> tasks;
  for (const int n : {3, 3, 4}) tasks.push_back(port.ask(Number(n)));
  CHECK(scheduler.run(std::move(tasks)) == std::vector<int>{7, 7, 7});
  CHECK(asked == std::vector<int>{3, 3, 4});
  CHECK(port.accounts().shared == 0);
}

TEST_CASE("a model that always has an answer ready holds up no retrieval") {
  struct Ready final : Service<Prompt, Completion> {
    void submit(Ticket ticket, const Prompt& p) override { waiting.emplace_back(ticket, echo(p)); }
    std::vector<Reply<Completion>> poll(std::chrono::milliseconds) override {
      std::vector<Reply<Completion>> one;
      if (waiting.empty()) return one;
      one.push_back(std::move(waiting.front()));
      waiting.erase(waiting.begin());
      return one;
    }
    bool batch() const override { return false; }
    std::vector<Reply<Completion>> waiting;
  };
  Scheduler scheduler;
  const ModelPort model = scheduler.model(std::unique_ptr<Service<Prompt, Completion>>(std::make_unique<Ready>()));
  int asked = 0, asked_when_found = -1;
  const RetrieverPort retriever = scheduler.retriever([&](std::span<const Query> queries) {
    asked_when_found = asked;
    return std::vector<Passages>(queries.size());
  });
  struct Tasks {
    static Task<int> talk(ModelPort port, int* count) {
      for (int i = 0; i < 50; ++i) {
        Prompt prompt(std::to_string(i));
        co_await port(std::move(prompt));
        ++*count;
      }
      co_return 0;
    }
    static Task<int> look_up(RetrieverPort port) {
      Query query("q", 1);
      co_await port(std::move(query));
      co_return 0;
    }
  };
  std::vector<Task<int>> tasks;
  tasks.push_back(Tasks::talk(model, &asked));
  tasks.push_back(Tasks::look_up(retriever));
  (void)scheduler.run(std::move(tasks));
  CHECK(asked == 50);
  CHECK(asked_when_found >= 0);
  CHECK(asked_when_found <= 2);
}

TEST_CASE("a request whose task is gone is cancelled, also in flight; one that others share is not") {
  testing::Traffic traffic;
  Scheduler scheduler;
  bool open = false;
  const auto answer = [](const Prompt& p) -> Outcome<Completion> { return echo(p); };
  struct Gate final : Service<Prompt, Completion> {  // answers only when open
    Gate(std::unique_ptr<Service<Prompt, Completion>> s, bool* o) : inner(std::move(s)), open(o) {}
    void submit(Ticket t, const Prompt& p) override { inner->submit(t, p); }
    std::vector<Reply<Completion>> poll(std::chrono::milliseconds wait) override {
      return *open ? inner->poll(wait) : std::vector<Reply<Completion>>();
    }
    void cancel(Ticket t) override { inner->cancel(t); }
    bool batch() const override { return false; }
    std::unique_ptr<Service<Prompt, Completion>> inner;
    bool* open;
  };
  std::unique_ptr<Service<Prompt, Completion>> gate =
      std::make_unique<Gate>(testing::shuffled<Prompt, Completion>(answer, 1, &traffic), &open);
  ModelPort model = scheduler.model(std::move(gate), 2);
  Task<std::string> kept = say(model, "a");
  {
    const auto gone = say_each(model, {"a", "b", "c"});
    scheduler.start(kept);
    for (const auto& task : gone) scheduler.start(task);
    scheduler.step();
    CHECK(traffic.submitted == 2);  // a and b; c waits
    CHECK(model.pending().size() == 1);
  }
  CHECK(traffic.cancelled == 1);  // b
  CHECK(model.pending().empty());
  open = true;
  while (!kept.done()) scheduler.step();
  CHECK(kept.take() == "<a>");
  CHECK(traffic.answered == 1);
  CHECK(model.accounts().logical == 1);
}

TEST_CASE_FIXTURE(Noted, "a task that is destroyed runs no more, though its answers have come") {
  int ended = 0;
  const auto part = [](ModelPort model, std::string text, int* end) -> Task<void> {
    co_await model(Prompt(std::move(text)));
    ++*end;
  };
  const auto many = [&](ModelPort model) -> Task<void> {
    std::vector<Task<void>> parts;
    for (const char* text : {"b", "c"}) parts.push_back(part(model, text, &ended));
    co_await gather(std::move(parts));
  };
  const auto first = [&]() -> Task<void> {
    Task<void> other = many(model);
    start(other);
    co_await model(Prompt("a"));  // answered together with "b" and "c"
    other = Task<void>();
  };
  Task<void> task = first();
  scheduler.start(task);
  while (!task.done()) scheduler.step();
  CHECK(scheduler.step() == false);
  CHECK(ended == 0);
  CHECK(batches == std::vector<std::size_t>{3});
  CHECK(model.pending().empty());
}

TEST_CASE("the backend error of one item fails its task alone") {
  Scheduler scheduler;
  const auto some = [](std::span<const Prompt> prompts) {
    std::vector<Outcome<Completion>> answers;
    for (const Prompt& p : prompts) {
      if (p.text() == "bad")
        answers.emplace_back(std::make_exception_ptr(BackendError("refused", BackendError::Kind::permanent)));
      else answers.emplace_back(echo(p));
    }
    return answers;
  };
  ModelPort model = scheduler.model(some);
  const auto outcomes = scheduler.run_all(say_each(model, {"a", "bad", "b", "bad"}));
  CHECK(outcomes[0].value() == "<a>");
  CHECK(outcomes[2].value() == "<b>");
  CHECK_THROWS_WITH_AS((void)outcomes[1].value(), "refused", BackendError);
  CHECK(!outcomes[3].ok());
  CHECK(model.accounts().failed == 2);
  CHECK(model.accounts().logical == 4);
  CHECK(model.accounts().shared == 0);  // a shared failure is two failures
}

TEST_CASE("run throws the first error by index") {
  Scheduler scheduler;
  const auto fails = [](const Prompt& p) -> Outcome<Completion> {
    return std::make_exception_ptr(BackendError(p.text(), BackendError::Kind::permanent));
  };
  ModelPort model = scheduler.model(testing::shuffled<Prompt, Completion>(fails, 4));
  CHECK_THROWS_WITH(scheduler.run(say_each(model, {"first", "second", "third"})), "first");
}

TEST_CASE("an error that is not a BackendError ends the run at once and destroys the trees") {
  struct Alive {
    explicit Alive(int* n) : n(n) { ++*n; }
    Alive(const Alive& o) : n(o.n) { ++*n; }
    ~Alive() { --*n; }
    int* n;
  };
  int alive = 0;
  Scheduler scheduler;
  const auto forever = [](ModelPort model, Alive) -> Task<int> {
    for (int i = 0;; ++i) co_await say(model, std::to_string(i));
  };
  SUBCASE("thrown by the batch function") {
    int calls = 0;
    ModelPort model = scheduler.model([&](std::span<const Prompt> prompts) {
      if (++calls == 5) throw std::domain_error("a fault in the model");
      return std::vector<Completion>(prompts.size());
    });
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 3; ++i) tasks.push_back(forever(model, Alive(&alive)));
    CHECK_THROWS_WITH_AS(scheduler.run_all(std::move(tasks)), "a fault in the model", std::domain_error);
    CHECK(scheduler.run(say(model, "x")).empty());  // and the scheduler is as good as new
  }
  SUBCASE("in an item's place") {
    const auto answer = [](const Prompt& p) -> Outcome<Completion> {
      if (p.text() == "7") return std::make_exception_ptr(std::domain_error("an item's fault"));
      return echo(p);
    };
    ModelPort model = scheduler.model(testing::shuffled<Prompt, Completion>(answer, 2));
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 3; ++i) tasks.push_back(forever(model, Alive(&alive)));
    CHECK_THROWS_WITH_AS(scheduler.run_all(std::move(tasks)), "an item's fault", std::domain_error);
  }
  SUBCASE("thrown by a task while others would go on for ever") {
    std::vector<std::size_t> batches;
    ModelPort model = scheduler.model(noting(&batches));
    const auto broken = [](ModelPort m) -> Task<int> {
      co_await say(m, "x");
      throw std::logic_error("a fault in the search");
    };
    std::vector<Task<int>> tasks;
    tasks.push_back(forever(model, Alive(&alive)));
    tasks.push_back(broken(model));
    CHECK_THROWS_WITH_AS(scheduler.run_all(std::move(tasks)), "a fault in the search", std::logic_error);
  }
  SUBCASE("thrown by the hook") {
    int turns = 0;
    std::vector<std::size_t> batches;
    ModelPort model = scheduler.model(noting(&batches));
    scheduler.on_turn([&] {
      if (++turns == 10) throw std::runtime_error("interrupted");
    });
    CHECK_THROWS_WITH(scheduler.run(forever(model, Alive(&alive))), "interrupted");
  }
  CHECK(alive == 0);
}

TEST_CASE("ask and tell: a run that is answered from outside gives what run() gives") {
  Noted inside;
  const auto expected = inside.scheduler.run(chains(inside.model, 12));
  for (const std::uint32_t taken : {1u, 3u, 100u}) {  // answers told at a time, the youngest request first
    Scheduler outside;
    ModelPort model = outside.external_model();
    auto tasks = chains(model, 12);
    for (const auto& task : tasks) outside.start(task);
    for (bool more = true; more;) {
      outside.step();
      const auto requests = model.pending();
      more = !requests.empty();
      for (std::size_t i = 0; i < std::min<std::size_t>(taken, requests.size()); ++i) {
        const auto& [ticket, prompt] = requests[requests.size() - 1 - i];
        const Completion answer = echo(*prompt);
        outside.resume(model, ticket, Outcome<Completion>(answer));
      }
    }
    std::vector<std::string> told;
    for (auto& task : tasks) told.push_back(task.take());
    CHECK(told == expected);
  }
}

TEST_CASE("a told answer is idempotent: the first one stands") {
  Scheduler scheduler;
  ModelPort model = scheduler.external_model();
  auto task = say(model, "x");
  scheduler.start(task);
  scheduler.step();
  const Ticket ticket = model.pending().front().first;
  scheduler.resume(model, ticket, Outcome<Completion>(Completion("1")));
  scheduler.resume(model, ticket, Outcome<Completion>(Completion("2")));
  scheduler.step();
  scheduler.resume(model, ticket, Outcome<Completion>(Completion("3")));
  CHECK(task.take() == "1");
  CHECK(model.accounts().logical == 1);
  CHECK_THROWS_AS(scheduler.resume(model, ticket + 1, Outcome<Completion>(Completion("4"))), std::invalid_argument);
}

TEST_CASE("searches that wait for what nobody answers are an error, not a hang") {
  Scheduler scheduler;
  ModelPort model = scheduler.external_model();
  CHECK_THROWS_AS(scheduler.run(say(model, "x")), Error);
  CHECK(model.pending().empty());
}

TEST_CASE("for_each keeps at most `open` tasks alive and gives each its own index") {
  for (const std::size_t open : {std::size_t(1), std::size_t(3), std::size_t(50)}) {
    const auto answer = [](const Prompt& p) -> Outcome<Completion> {
      if (p.text() == "5") return std::make_exception_ptr(BackendError("no", BackendError::Kind::permanent));
      return echo(p);
    };
    Scheduler scheduler;
    ModelPort model = scheduler.model(testing::shuffled<Prompt, Completion>(answer, 8));
    std::size_t alive = 0, most = 0;
    std::vector<std::string> results(20);
    scheduler.for_each(
        20, open,
        [&](std::size_t i) {
          most = std::max(most, ++alive);
          return say(model, std::to_string(i));
        },
        [&](std::size_t i, Outcome<std::string> outcome) {
          --alive;
          results[i] = outcome.ok() ? outcome.value() : "failed";
        });
    CHECK(most == std::min<std::size_t>(open, 20));
    CHECK(alive == 0);
    for (std::size_t i = 0; i < 20; ++i) CHECK(results[i] == (i == 5 ? "failed" : "<" + std::to_string(i) + ">"));
  }
}

TEST_CASE("for_each of nothing ends at once") {
  Scheduler scheduler;
  ModelPort model = scheduler.external_model();
  int calls = 0;
  scheduler.for_each(
      0, 4, [&](std::size_t) { return say(model, "x"); }, [&](std::size_t, Outcome<std::string>) { ++calls; });
  CHECK(calls == 0);
}

TEST_CASE_FIXTURE(Noted, "a backend that may have nothing in flight is a bad option") {
  CHECK_THROWS_WITH_AS(scheduler.model(noting(&batches), 0), "option 'max_in_flight' is 0, allowed: 1 or more",
                       std::invalid_argument);
}

TEST_CASE("batches are cut at the largest batch, and ten thousand requests may wait in line for it") {
  std::vector<std::size_t> batches;
  Scheduler scheduler;
  ModelPort model = scheduler.model(noting(&batches), 8);
  CHECK(scheduler.run(say_each(model, numbers(10'003))).back() == "<10002>");
  CHECK(batches.size() == 1251);
  CHECK(std::count(batches.begin(), batches.end(), 8) == 1250);
}

}  // namespace scheduler_test
