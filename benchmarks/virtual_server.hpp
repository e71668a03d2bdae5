#pragma once

#include <espalier/core/seed.hpp>
#include <espalier/core/service.hpp>
#include <espalier/llm/prompt.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numbers>
#include <queue>
#include <utility>
#include <vector>

namespace espalier::benchmarks {

/// Service time of a request, decided by its number.
inline double service_time(std::uint64_t request) {
  Random random{Seed(request)};
  const double u = 1 - random.uniform(), v = random.uniform();
  return std::exp(0.5 * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v) - 0.125);
}

/// A server with so many slots whose clock jumps from one finished request to the next.
class VirtualServer final : public Service<Prompt, Completion> {
 public:
  struct Clock {
    double now = 0, busy = 0;
  };
  using Model = std::function<Completion(const Prompt&)>;
  VirtualServer(
      std::size_t slots, std::shared_ptr<Clock> clock, Model model = [](const Prompt&) { return Completion("ok"); })
      : slots_(slots), clock_(std::move(clock)), model_(std::move(model)) {}
  void submit(Ticket ticket, const Prompt& prompt) override {
    waiting_.push_back({service_time(prompt.key().low), ticket, model_(prompt)});
    start();
  }
  /// The clock goes on only for a caller that waits: nothing else is left to do.
  std::vector<Reply<Completion>> poll(std::chrono::milliseconds wait) override {
    std::vector<Reply<Completion>> replies;
    if (running_.empty() || (wait.count() == 0 && running_.top().first > clock_->now)) return replies;
    clock_->now = running_.top().first;
    auto ended = answers_.extract(running_.top().second);
    running_.pop();
    replies.emplace_back(ended.key(), std::move(ended.mapped()));
    start();
    return replies;
  }
  /// Drops a request that still waits for a slot.
  void cancel(Ticket ticket) override {
    std::erase_if(waiting_, [ticket](const Item& item) { return item.ticket == ticket; });
  }
  [[nodiscard]] bool batch() const override { return false; }

 private:
  using Entry = std::pair<double, Ticket>;
  struct Item {
    double seconds;
    Ticket ticket;
    Completion answer;
  };
  void start() {
    while (!waiting_.empty() && running_.size() < slots_) {
      Item& next = waiting_.front();
      clock_->busy += next.seconds;
      running_.emplace(clock_->now + next.seconds, next.ticket);
      answers_.emplace(next.ticket, std::move(next.answer));
      waiting_.pop_front();
    }
  }
  std::size_t slots_;
  std::shared_ptr<Clock> clock_;
  Model model_;
  std::deque<Item> waiting_;
  std::map<Ticket, Completion> answers_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> running_;
};

}  // namespace espalier::benchmarks
