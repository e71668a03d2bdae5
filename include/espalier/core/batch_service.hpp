#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/seed.hpp>
#include <espalier/core/service.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier {

namespace detail {

/// f(span<const In>) -> vector of Out, of Outcome<Out>, or of something convertible to Out. Lengths must be equal.
template <class F, class In, class Out>
concept BatchFunction =
    std::invocable<F&, std::span<const In>> && requires(std::invoke_result_t<F&, std::span<const In>> replies) {
      replies.size();
      requires std::convertible_to<typename std::remove_cvref_t<decltype(replies)>::value_type, Outcome<Out>> ||
                   std::convertible_to<typename std::remove_cvref_t<decltype(replies)>::value_type, Out>;
    };

}  // namespace detail

/// A batch function as a service: all waiting requests go in one call. A BackendError may be thrown for the whole batch
/// or returned for one item. Transport failures are retried, final ones become answers. Other exceptions end the run.
template <class In, class Out, class F>
class BatchService final : public Service<In, Out> {
 public:
  static constexpr std::uint32_t attempts = 3;  ///< for one item

  explicit BatchService(F f) : f_(std::move(f)) {}

  void submit(Ticket ticket, const In& request) override { waiting_.emplace_back(ticket, request); }

  /// Calls the function for all items that are due. If all items wait for another attempt, it sleeps for at most 20 ms.
  std::vector<Reply<Out>> poll(std::chrono::milliseconds) override {
    const std::vector<Item> items = take_due();
    std::vector<Reply<Out>> replies;
    if (items.empty()) return replies;
    std::vector<In> requests;
    for (const Item& item : items) requests.push_back(item.request);
    std::vector<Outcome<Out>> outcomes = call(requests);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (!again(items[i], outcomes[i])) replies.emplace_back(items[i].ticket, std::move(outcomes[i]));
    return replies;
  }

  void cancel(Ticket ticket) override {
    std::erase_if(waiting_, [ticket](const Item& item) { return item.ticket == ticket; });
  }

  [[nodiscard]] bool batch() const override { return true; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Item {
    Item(Ticket ticket, In request) : ticket(ticket), request(std::move(request)) {}
    Ticket ticket;
    In request;
    std::uint32_t failures = 0;
    Clock::time_point due{};
  };

  std::vector<Item> take_due() {
    std::vector<Item> due, later;
    if (waiting_.empty()) return due;
    const auto now = Clock::now();
    auto first = Clock::time_point::max();
    for (Item& item : waiting_) {
      first = std::min(first, item.due);
      (item.due <= now ? due : later).push_back(std::move(item));
    }
    waiting_ = std::move(later);
    if (due.empty()) std::this_thread::sleep_until(std::min(first, now + std::chrono::milliseconds(20)));
    return due;
  }

  std::vector<Outcome<Out>> call(const std::vector<In>& requests) {
    std::vector<Outcome<Out>> outcomes;
    try {
      auto answers = f_(std::span<const In>(requests));
      if (answers.size() != requests.size())
        throw BackendError("a batch function returned " + std::to_string(answers.size()) + " items for " +
                               std::to_string(requests.size()) + " requests",
                           BackendError::Kind::permanent);
      for (auto& answer : answers)
        outcomes.push_back(detail::judged(to_outcome(std::move(answer)), requests[outcomes.size()]));
    } catch (const BackendError&) {
      outcomes.clear();
      while (outcomes.size() < requests.size()) outcomes.push_back(std::current_exception());
    }
    return outcomes;
  }

  /// Queues the item for another attempt if its failure can be retried, and returns true if it did. It is due between
  /// now and 50 milliseconds later, or 100 after the second failure.
  bool again(const Item& item, const Outcome<Out>& outcome) {
    if (outcome.ok() || item.failures + 1 >= attempts) return false;
    try {
      std::rethrow_exception(outcome.error());
    } catch (const BackendError& error) {
      if (error.kind() != BackendError::Kind::transport) return false;
    } catch (...) {
      return false;
    }
    waiting_.push_back(item);
    const std::uint32_t longest = 50'000 * ++waiting_.back().failures;
    waiting_.back().due = Clock::now() + std::chrono::microseconds(jitter_.below(longest));
    return true;
  }

  template <class Answer>
  static Outcome<Out> to_outcome(Answer&& answer) {
    if constexpr (std::convertible_to<Answer, Outcome<Out>>) return std::forward<Answer>(answer);
    else return Out(std::forward<Answer>(answer));
  }

  F f_;
  std::vector<Item> waiting_;
  Random jitter_{Seed()};
};

}  // namespace espalier
