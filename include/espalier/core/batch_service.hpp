#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/service.hpp>

#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier {

/// f(span<const In>) -> vector of Out, of Outcome<Out>, or of something an Out can be made of. Equal lengths.
template <class F, class In, class Out>
concept BatchFunction = std::invocable<F&, std::span<const In>> &&
    requires(std::invoke_result_t<F&, std::span<const In>> replies) {
      replies.size();
      requires std::convertible_to<typename std::remove_cvref_t<decltype(replies)>::value_type, Outcome<Out>> ||
               std::convertible_to<typename std::remove_cvref_t<decltype(replies)>::value_type, Out>;
    };

/// A batch function as a service: everything that waits goes in one call.
template <class In, class Out, class F>
class BatchService final : public Service<In, Out> {
 public:
  explicit BatchService(F f) : f_(std::move(f)) {}

  void submit(Ticket ticket, const In& request) override {
    tickets_.push_back(ticket);
    requests_.push_back(request);
  }

  /// An exception of the function itself is not caught: BackendError is the item's to carry, anything else ends the run.
  std::vector<Reply<Out>> poll(std::chrono::milliseconds) override {
    std::vector<Reply<Out>> replies;
    if (requests_.empty()) return replies;
    const std::vector<Ticket> tickets = std::exchange(tickets_, {});
    const std::vector<In> requests = std::exchange(requests_, {});
    replies.reserve(tickets.size());
    try {
      auto answers = f_(std::span<const In>(requests));
      if (answers.size() != requests.size())
        throw BackendError("a batch function returned " + std::to_string(answers.size()) + " items for " +
                               std::to_string(requests.size()) + " requests", BackendError::Kind::permanent);
      for (std::size_t i = 0; i < tickets.size(); ++i) replies.emplace_back(tickets[i], to_outcome(std::move(answers[i])));
    } catch (const BackendError&) {
      replies.clear();
      for (Ticket ticket : tickets) replies.emplace_back(ticket, std::current_exception());
    }
    return replies;
  }

  [[nodiscard]] bool batch() const override { return true; }

 private:
  template <class Answer>
  static Outcome<Out> to_outcome(Answer&& answer) {
    if constexpr (std::convertible_to<Answer, Outcome<Out>>) return std::forward<Answer>(answer);
    else return Out(std::forward<Answer>(answer));
  }
  F f_;
  std::vector<Ticket> tickets_;
  std::vector<In> requests_;
};

}  // namespace espalier
