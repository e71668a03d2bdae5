#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace espalier::backend::detail {

/// The number of workers for `threads`, at most `most`. 0 = the number of hardware threads.
inline std::size_t worker_count(unsigned threads, std::size_t most) {
  const std::size_t wanted = threads ? threads : std::max(1u, std::thread::hardware_concurrency());
  return std::max<std::size_t>(1, std::min(wanted, most));
}

/// Calls f(i, worker) once for every i in [0, n), with worker in [0, workers). Any worker may get any i, so results
/// must not depend on it. After an exception no new call begins, and the exception of the lowest i is thrown.
void parallel_for(std::size_t n, std::size_t workers, auto f) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> errors(n);
  const auto work = [&](std::size_t worker) {
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        f(i, worker);
      } catch (...) {
        errors[i] = std::current_exception();
        next = n;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t worker = 1; worker < std::min(workers, n); ++worker) others.emplace_back(work, worker);
    work(0);
  }
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace espalier::backend::detail
