#pragma once

#include <algorithm>
#include <coroutine>
#include <utility>
#include <vector>

namespace espalier::detail {

/// The coroutine to resume after the one that just suspended. Tasks use it instead of symmetric transfer, which
/// overflows the stack under g++ 12 without optimisation and under every sanitizer.
inline thread_local std::coroutine_handle<> next_coroutine{};

/// Resumes a coroutine and then every coroutine that it passes control to.
inline void run_from(std::coroutine_handle<> handle) {
  std::coroutine_handle<>& next = next_coroutine;  // looked up once
  while (handle) {
    next = {};
    handle.resume();
    handle = std::exchange(next, {});
  }
}

/// The coroutines that a scheduler runs: those of this round and those of the next.
struct Agenda {
  std::vector<std::coroutine_handle<>> round{}, ready{};
  /// Takes out a coroutine that is about to be destroyed.
  void forget(std::coroutine_handle<> gone) {
    for (auto* list : {&round, &ready}) std::replace(list->begin(), list->end(), gone, {});
  }
};
/// The agenda of what runs on this thread now, null if nothing runs.
inline thread_local Agenda* agenda = nullptr;

/// While alive, coroutines that become ready go to this agenda.
class Running {
 public:
  explicit Running(Agenda& mine) : before_(std::exchange(agenda, &mine)) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { agenda = before_; }

 private:
  Agenda* before_;
};

/// Runs all that is ready, and all that becomes ready by that.
inline void drain(Agenda& mine) {
  const Running running(mine);
  while (!mine.ready.empty()) {
    mine.round.clear();
    mine.round.swap(mine.ready);
    for (const auto& handle : mine.round) run_from(handle);  // a coroutine may take out later ones
  }
}

}  // namespace espalier::detail
