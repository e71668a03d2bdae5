#pragma once

#include <espalier/core/seed.hpp>
#include <espalier/core/service.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace espalier::testing {

/// What a test may ask of a ShuffledService after the run.
struct Traffic {
  std::function<void(const void*)> hear = {};  ///< gets each request as it comes
  std::size_t submitted = 0, answered = 0, cancelled = 0, most_in_flight = 0;
};

/// An asynchronous backend: `answer(request)` -> Outcome<Out>, handed over in a random order, as drawn from a seed.
template <class In, class Out, class Answer>
class ShuffledService final : public Service<In, Out> {
 public:
  ShuffledService(Answer answer, std::uint64_t seed, Traffic* traffic = nullptr)
      : answer_(std::move(answer)), random_(Seed(seed)), traffic_(traffic) {}

  void submit(Ticket ticket, const In& request) override {
    waiting_.emplace_back(ticket, request);
    if (!traffic_) return;
    if (traffic_->hear) traffic_->hear(&request);
    ++traffic_->submitted;
    traffic_->most_in_flight = std::max(traffic_->most_in_flight, waiting_.size());
  }
  std::vector<Reply<Out>> poll(std::chrono::milliseconds) override {
    std::vector<Reply<Out>> replies;
    const std::uint32_t some = random_.below(4);
    for (std::uint32_t i = 0; i < some && !waiting_.empty(); ++i) {
      const auto at = waiting_.begin() + random_.below(static_cast<std::uint32_t>(waiting_.size()));
      replies.emplace_back(at->first, answer_(at->second));
      waiting_.erase(at);
      if (traffic_) ++traffic_->answered;
    }
    return replies;
  }
  void cancel(Ticket ticket) override {
    const auto gone = std::erase_if(waiting_, [ticket](const auto& item) { return item.first == ticket; });
    if (traffic_) traffic_->cancelled += gone;
  }
  [[nodiscard]] bool batch() const override { return false; }

 private:
  Answer answer_;
  Random random_;
  Traffic* traffic_;
  std::vector<std::pair<Ticket, In>> waiting_;
};

template <class In, class Out, class Answer>
std::unique_ptr<Service<In, Out>> shuffled(Answer answer, std::uint64_t seed, Traffic* traffic = nullptr) {
  return std::make_unique<ShuffledService<In, Out, Answer>>(std::move(answer), seed, traffic);
}

}  // namespace espalier::testing
