#include <espalier/core/task.hpp>
#include <espalier/llm/scheduler.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace task_test {

using namespace espalier;
using namespace espalier::detail;

namespace {

/// Counts how many of its kind live.
struct Counted {
  static inline int alive = 0;
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
};

Task<int> value(int i) { co_return i; }
Task<int> failing(std::string what) {
  throw std::runtime_error(what);
  co_return 0;
}
Task<int> nested(int depth) {
  if (depth == 0) co_return 0;
  const int below = co_await nested(depth - 1);
  co_return below + 1;
}
Task<long> sum_of(int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) sum += co_await value(i);
  co_return sum;
}
Task<void> note(std::vector<int>* log, int i) {
  log->push_back(i);
  co_return;
}
Task<int> holding(ModelPort port, Counted counted) {
  const Completion completion = co_await port(Prompt("question"));
  (void)counted;
  co_return static_cast<int>(completion.text.size());
}
Task<int> holding_nested(ModelPort port, Counted counted) {
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(holding(port, counted));
  const std::vector<int> sizes = co_await gather(std::move(tasks));
  co_return sizes[0];
}

}  // namespace

TEST_CASE("a task hands its result to whoever awaits it") {
  Scheduler scheduler;
  CHECK(scheduler.run(value(7)) == 7);
  CHECK(scheduler.run(nested(100)) == 100);
}

TEST_CASE("a task does nothing before it is awaited") {
  std::vector<int> log;
  Task<void> task = note(&log, 1);
  CHECK(log.empty());
  CHECK(!task.done());
}

TEST_CASE("an exception passes through every level to the caller") {
  const auto outer = [](std::string what) -> Task<int> {
    const int x = co_await failing(what);
    co_return x + 1;
  };
  Scheduler scheduler;
  CHECK_THROWS_WITH_AS(scheduler.run(outer("deep")), "deep", std::runtime_error);
}

TEST_CASE("100,000 awaits one after another do not grow the stack") {
  Scheduler scheduler;
  CHECK(scheduler.run(sum_of(100'000)) == 4'999'950'000L);
}

TEST_CASE("results may be moved only") {
  const auto make = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  Scheduler scheduler;
  CHECK(*scheduler.run(make()) == 3);
}

TEST_CASE("gather returns results in order and starts its tasks in order") {
  std::vector<int> log;
  const auto all = [](std::vector<int>* order) -> Task<std::vector<int>> {
    std::vector<Task<void>> notes;
    for (int i = 0; i < 4; ++i) notes.push_back(note(order, i));
    co_await gather(std::move(notes));
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 4; ++i) tasks.push_back(value(10 * i));
    co_return co_await gather(std::move(tasks));
  };
  Scheduler scheduler;
  CHECK(scheduler.run(all(&log)) == std::vector<int>{0, 10, 20, 30});
  CHECK(log == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("gather of nothing is ready at once") {
  const auto none = []() -> Task<std::vector<int>> { co_return co_await gather(std::vector<Task<int>>()); };
  Scheduler scheduler;
  CHECK(scheduler.run(none()).empty());
}

TEST_CASE("gather lets all tasks end, then throws the first error by index") {
  std::vector<int> log;
  const auto late = [](std::vector<int>* order, int i, bool fails) -> Task<int> {
    co_await note(order, i);
    if (fails) throw std::runtime_error("task " + std::to_string(i));
    co_return i;
  };
  const auto all = [&late](std::vector<int>* order) -> Task<int> {
    std::vector<Task<int>> tasks;
    tasks.push_back(late(order, 0, false));
    tasks.push_back(late(order, 1, true));
    tasks.push_back(late(order, 2, true));
    tasks.push_back(late(order, 3, false));
    const std::vector<int> results = co_await gather(std::move(tasks));
    co_return results[0];
  };
  Scheduler scheduler;
  CHECK_THROWS_WITH(scheduler.run(all(&log)), "task 1");
  CHECK(log == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("a task that is destroyed in mid-flight destroys all that waits inside it") {
  REQUIRE(Counted::alive == 0);
  Scheduler scheduler;
  ModelPort port = scheduler.external_model();
  {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 5; ++i) tasks.push_back(holding_nested(port, Counted()));
    for (const auto& task : tasks) scheduler.start(task);
    scheduler.step();
    CHECK(Counted::alive >= 20);        // five parents with three children each
    CHECK(port.pending().size() == 1);  // all ask the same
  }
  CHECK(Counted::alive == 0);
  CHECK(port.pending().empty());
}

TEST_CASE("a task that never ran is destroyed without trace") {
  Scheduler scheduler;
  {
    Task<int> task = holding(scheduler.external_model(), Counted());
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("a task moved onto another frees what it replaces") {
  Scheduler scheduler;
  ModelPort port = scheduler.external_model();
  Task<int> task = holding(port, Counted());
  task = value(4);
  CHECK(Counted::alive == 0);
  CHECK(scheduler.run(std::move(task)) == 4);
}

TEST_CASE("a coroutine may wait for an event that another one causes, before or after") {
  const auto waiting = [](espalier::detail::Event* event, std::vector<int>* log) -> Task<void> {
    co_await *event;
    log->push_back(2);
  };
  const auto causing = [](espalier::detail::Event* event, std::vector<int>* log) -> Task<void> {
    log->push_back(1);
    event->happen();
    co_return;
  };
  const auto both = [&](std::vector<int>* log, bool first) -> Task<int> {
    espalier::detail::Event event;
    std::vector<Task<void>> tasks;
    if (first) tasks.push_back(waiting(&event, log));
    tasks.push_back(causing(&event, log));
    if (!first) tasks.push_back(waiting(&event, log));
    co_await gather(std::move(tasks));
    co_return 0;
  };
  for (const bool first : {true, false}) {
    std::vector<int> log;
    Scheduler scheduler;
    scheduler.run(both(&log, first));
    CHECK(log == std::vector<int>{1, 2});
  }
}

TEST_CASE("over-aligned locals of a coroutine are where they should be") {
  struct alignas(64) Wide {
    double numbers[8] = {};
  };
  const auto aligned = []() -> Task<bool> {
    Wide wide;
    const int one = co_await value(1);
    wide.numbers[0] = one;
    co_return reinterpret_cast<std::uintptr_t>(&wide) % alignof(Wide) == 0;
  };
  Scheduler scheduler;
  for (int i = 0; i < 50; ++i) CHECK(scheduler.run(aligned()));
}

}  // namespace task_test
