#pragma once

#include <type_traits>

namespace espalier {

template <class T = void>
class Task;

namespace detail {

/// What co_await gives for a type: a task's result, or the value itself. It needs no definition of Task.
template <class T>
struct awaited {
  using type = T;
};
template <class T>
struct awaited<Task<T>> {
  using type = T;
};
template <class T>
using awaited_t = typename awaited<std::remove_cvref_t<T>>::type;

template <class T>
inline constexpr bool is_task_v = !std::is_same_v<awaited_t<T>, std::remove_cvref_t<T>>;

}  // namespace detail

}  // namespace espalier
