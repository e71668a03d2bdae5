#pragma once

#include <espalier/core/detail/agenda.hpp>
#include <espalier/core/detail/awaited.hpp>
#include <espalier/core/detail/frame.hpp>
#include <espalier/core/error.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier {

namespace detail {

/// Tasks that one parent waits for together.
struct Join {
  std::size_t left = 0;
  std::coroutine_handle<> parent{};
};

struct PromiseBase {
  std::coroutine_handle<> continuation{};
  Join* join = nullptr;
  std::exception_ptr error{};

  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> done) const noexcept {
      PromiseBase& promise = done.promise();
      if (promise.join == nullptr) next_coroutine = promise.continuation;
      else if (--promise.join->left == 0) next_coroutine = promise.join->parent;
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

  static void* operator new(std::size_t size) { return FrameMemory::allocate(size); }
  static void operator delete(void* frame, std::size_t size) { FrameMemory::release(frame, size); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> result{};
  template <class U>
  void return_value(U&& value) {
    result.emplace(std::forward<U>(value));
  }
  T take() {
    if (error) std::rethrow_exception(error);
    return std::move(*result);
  }
};

template <>
struct Promise<void> : PromiseBase {
  void return_void() const noexcept {}
  void take() const {
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace detail

/// A lazy coroutine. It starts when it is awaited or spawned, and gives its result or exception to the awaiting
/// coroutine. Move-only. Destroying a suspended task destroys everything that waits inside it.
template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::Promise<T> {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
  };
  using value_type = T;

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  class Awaiter {
   public:
    explicit Awaiter(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    bool await_ready() const noexcept { return handle_.done(); }
    void await_suspend(std::coroutine_handle<> parent) const noexcept {
      handle_.promise().continuation = parent;
      detail::next_coroutine = handle_;
    }
    T await_resume() const { return handle_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> handle_;
  };
  Awaiter operator co_await() && noexcept { return Awaiter(handle_); }

  [[nodiscard]] bool done() const { return !handle_ || handle_.done(); }
  /// The result of a finished task. Rethrows its exception. Call it once.
  T take() { return handle_.promise().take(); }
  [[nodiscard]] std::coroutine_handle<promise_type> handle() const { return handle_; }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_{};
};

namespace detail {

/// Starts all tasks in order and resumes the awaiting coroutine when the last one has ended.
template <class T>
class Gather {
 public:
  explicit Gather(std::vector<Task<T>>&& tasks) : tasks_(std::move(tasks)) {}
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;
  ~Gather() {
    if (join_.left > 0 && agenda)
      for (auto& task : tasks_) agenda->forget(task.handle());
  }
  bool await_ready() const noexcept { return tasks_.empty(); }
  void await_suspend(std::coroutine_handle<> parent) {
    join_.left = tasks_.size();
    join_.parent = parent;
    for (auto& task : tasks_) {
      task.handle().promise().join = &join_;
      agenda->ready.push_back(task.handle());
    }
  }
  auto await_resume() {
    if constexpr (std::is_void_v<T>) {
      for (auto& task : tasks_) task.take();
    } else {
      std::vector<T> results;
      for (auto& task : tasks_) results.push_back(task.take());
      return results;
    }
  }

 private:
  std::vector<Task<T>> tasks_;
  Join join_{};
};

/// Runs a coroutine beside the calling one, only inside a scheduler's run. The task must live until it has ended.
template <class T>
void start(const Task<T>& task) {
  agenda->ready.push_back(task.handle());
}

/// An event that happens once: `co_await event` waits until happen() was called. At most one coroutine may wait for it.
class Event {
 public:
  bool await_ready() const noexcept { return happened_; }
  void await_suspend(std::coroutine_handle<> waiting) noexcept { waiting_ = waiting; }
  void await_resume() const noexcept {}
  void happen() {
    happened_ = true;
    if (waiting_) agenda->ready.push_back(std::exchange(waiting_, {}));
  }

 private:
  bool happened_ = false;
  std::coroutine_handle<> waiting_{};
};

/// Turns a part's result into a task. A task is returned unchanged, a plain value becomes a finished task.
template <class T>
Task<T> as_task(Task<T> task) {
  return task;
}
template <class T>
  requires(!is_task_v<T>)
Task<T> as_task(T value) {
  co_return value;
}

/// Runs a task that waits for other tasks alone, in one plain call.
template <class T>
T run_plain(Task<T> task) {
  Agenda mine;
  mine.ready.push_back(task.handle());
  drain(mine);
  if (!task.done()) throw Error("a task that is run in a plain call waits for a port");
  return task.take();
}

}  // namespace detail

/// Runs tasks side by side to their ends and returns the results in order. Throws the first exception by index.
template <class T>
[[nodiscard]] detail::Gather<T> gather(std::vector<Task<T>> tasks) {
  return detail::Gather<T>(std::move(tasks));
}

}  // namespace espalier
