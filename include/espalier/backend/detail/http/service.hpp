#pragma once

#include <espalier/backend/detail/http/server_error.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/service.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// An asynchronous service over HTTP. Requests wait in line, first in first out. Neighbours that join() share one
/// message. At most HttpOptions::max_in_flight messages are under way. If a server refuses a message of several items
/// for good, each item is sent alone, so that none fails because of its neighbours. Derived classes define the rest.
template <class In, class Out>
class HttpService : public Service<In, Out> {
 public:
  ~HttpService() override {
    client_->cancel(hello_);
    for (const auto& [id, message] : under_way_) client_->cancel(id);
  }
  void submit(Ticket ticket, const In& request) final { waiting_.emplace_back(ticket, request); }
  std::vector<Reply<Out>> poll(std::chrono::milliseconds wait) final {
    if (!std::exchange(answered_, false) || !chooses_ || wait.count() > 0) dispatch();
    if (ready_.empty()) client_->run_once(wait);
    for (const auto& reply : ready_) accounts_.paid_applied += reply.outcome.ok();
    answered_ = !ready_.empty();
    return std::exchange(ready_, {});
  }
  [[nodiscard]] bool batch() const final { return false; }
  void cancel(Ticket ticket) final {
    std::erase_if(waiting_, [&](const Item& item) { return item.ticket == ticket; });
    const auto arrived =
        std::find_if(ready_.begin(), ready_.end(), [&](const auto& reply) { return reply.ticket == ticket; });
    if (arrived != ready_.end()) {
      accounts_.paid_cancelled += arrived->outcome.ok();
      ready_.erase(arrived);
    }
    for (const auto& [id, message] : under_way_) {
      const auto found = std::find(message->tickets.begin(), message->tickets.end(), std::optional(ticket));
      if (found == message->tickets.end()) continue;
      found->reset();
      ++accounts_.paid_cancelled;
      if (!message->wanted()) {
        client_->cancel(id);
        under_way_.erase(id);
      }
      break;
    }
  }
  /// `requests` counts messages sent, with retries. The `paid_*` fields count items: given, cancelled, unusable.
  [[nodiscard]] const Accounts& accounts() const { return accounts_; }

 protected:
  HttpService(std::shared_ptr<HttpClient> client, std::size_t max_in_flight, std::size_t batch = 1)
      : client_(client ? std::move(client) : std::make_shared<HttpClient>()),
        max_in_flight_(max_in_flight),
        batch_(batch) {}
  [[nodiscard]] const std::shared_ptr<HttpClient>& client() const { return client_; }

  JsonReader json_;
  std::shared_ptr<const HttpEndpoint> endpoint_;  ///< of a service with one route
  bool joins_ = false;        ///< read() joins what a body's repair has marked, and counts what stays broken
  std::size_t replaced_ = 0;  ///< U+FFFD of the body under way, for what is no Unicode
  bool chooses_ = false;      ///< next() chooses. What replies lead to joins the line before it moves on
  bool greets_ = false;       ///< its messages only ask who is there

  /// False while the service asks its server for something it must know first. Throws BackendError if it cannot know,
  /// and then all waiting requests fail. By default a watched server is first asked whether it says anything, so that a
  /// slow first answer is not taken for a dead server.
  virtual bool prepared() {
    if (endpoint_ && !std::exchange(greeted_, true) && std::isfinite(endpoint_->patience({}, true)))
      hello_ = client_->send(std::make_unique<Hello>(*this));
    return hello_ == 0;
  }
  /// True if `next`, the first in line, joins the message of `group`. By default a message holds at most `batch` items.
  [[nodiscard]] virtual bool joins(std::span<const In> group, const In& /*next*/) const {
    return group.size() < batch_;
  }
  /// Writes the message's body and returns its endpoint. Throws BackendError for what the server does not support.
  virtual std::shared_ptr<const HttpEndpoint> write(std::span<const In> group, std::string& body) = 0;
  /// The item that a failure stands for. Nothing = the request fails.
  virtual std::optional<Out> understood(const BackendError&) { return std::nullopt; }
  /// One item for each of `group`. Empty ones are asked again. Throws BackendError for a damaged reply.
  virtual std::vector<std::optional<Out>> read(std::span<const In> group, std::string& body) = 0;

  struct Item {
    Item(Ticket t, const In& r, bool a = false) : ticket(t), request(r), alone(a) {}
    Ticket ticket;
    In request;
    bool alone;  ///< shares no message
  };

  struct Message final : HttpExchange {
    explicit Message(HttpService& owner) : service(owner) {}
    void attempt() override {
      ++sent;
      ++service.accounts_.requests;
    }
    void reply(std::string& received) override { service.deliver(*this, received); }
    void failure(const BackendError& error) override { service.fail(*this, error); }
    [[nodiscard]] bool wanted() const {
      return std::any_of(tickets.begin(), tickets.end(), [](const auto& ticket) { return ticket.has_value(); });
    }
    HttpService& service;
    std::uint32_t sent = 0;                      ///< attempts, with those that do not count
    std::pair<std::string, int> damage;          ///< the last reply's, and how many in a row had it
    std::vector<std::optional<Ticket>> tickets;  ///< empty = cancelled
    std::vector<In> requests;
  };
  using Messages = std::map<HttpClient::Id, Message*>;

  /// The place in the line of what goes next. The line's size: nothing for now.
  [[nodiscard]] virtual std::size_t next(const std::deque<Item>&, const Messages&) { return 0; }

 private:
  /// A GET. Whatever comes back, somebody is there.
  struct Hello final : HttpExchange {
    explicit Hello(HttpService& owner) : service(owner) { endpoint = owner.endpoint_, greets = true; }
    void reply(std::string&) override { throw BackendError("any reply will do", BackendError::Kind::permanent); }
    void failure(const BackendError&) override { service.hello_ = 0; }
    HttpService& service;
  };

  void dispatch() {
    try {
      if (waiting_.empty() || !prepared()) return;
    } catch (const BackendError&) {
      for (const Item& item : std::exchange(waiting_, {})) ready_.emplace_back(item.ticket, std::current_exception());
      return;
    }
    while (!waiting_.empty() && under_way_.size() < max_in_flight_) {
      const std::size_t place = next(waiting_, under_way_);
      if (place == waiting_.size()) return;
      auto first = waiting_.begin() + static_cast<std::ptrdiff_t>(place);
      auto message = std::make_unique<Message>(*this);
      message->greets = greets_;
      bool alone = false;
      do {
        alone = first->alone;
        message->tickets.emplace_back(first->ticket);
        message->requests.push_back(std::move(first->request));
        first = waiting_.erase(first);
      } while (!alone && first != waiting_.end() && !first->alone && joins(message->requests, first->request));
      try {
        message->endpoint = write(message->requests, message->body);
      } catch (const BackendError&) {
        for (const auto& ticket : message->tickets) ready_.emplace_back(*ticket, std::current_exception());
        continue;
      }
      Message& sent = *message;
      if constexpr (requires { sent.requests.front().affinity(); }) sent.affinity = sent.requests.front().affinity();
      under_way_.emplace(client_->send(std::move(message)), &sent);
    }
  }
  /// A damaged reply is asked for again, until the same damage has come three times in a row. Text that is not UTF-8 is
  /// then accepted with U+FFFD in the bad places, and anything else is final.
  void deliver(Message& message, std::string& body) {
    std::vector<std::optional<Out>> items;
    const auto third = [&](const std::string& damage) {
      message.damage = {damage, message.damage.first == damage ? message.damage.second + 1 : 1};
      return message.damage.second == 3;
    };
    try {
      replaced_ = repair_json(body, joins_);
      items = read(message.requests, body);
      if (replaced_ > 0 && !third("not UTF-8")) throw FailedReply("the reply is not UTF-8");
      accounts_.replaced += replaced_;
    } catch (const BackendError& error) {
      accounts_.paid_failed += message.requests.size();
      if (dynamic_cast<const FailedReply*>(&error) != nullptr || !third(error.what())) throw;
      throw BackendError(std::string(error.what()) + " (three times in a row)", BackendError::Kind::permanent);
    }
    under_way_.erase(message.id);
    if constexpr (requires(Out out) { out.attempts; })
      if (!items.empty() && items.front()) items.front()->attempts = message.sent;  // of the message, entered once
    for (std::size_t i = items.size(); i-- > 0;)  // missing items go back to the front of the line, in order
      if (!items[i]) put_back(message, i, false);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (message.tickets[i] && items[i]) ready_.emplace_back(*message.tickets[i], std::move(*items[i]));
    if (!chooses_) dispatch();
  }
  void fail(Message& message, const BackendError& error) {
    under_way_.erase(message.id);
    const bool permanent = error.kind() != BackendError::Kind::transport;
    Outcome<Out> outcome = std::make_exception_ptr(error);
    if (auto item = understood(error)) outcome = std::move(*item);
    const bool split = permanent && !outcome.ok() && message.tickets.size() > 1;
    for (std::size_t i = message.tickets.size(); split && i-- > 0;) put_back(message, i, true);
    for (const auto& ticket : message.tickets)
      if (ticket && !split) ready_.emplace_back(*ticket, outcome);
    if (!chooses_) dispatch();
  }
  void put_back(const Message& message, std::size_t i, bool alone) {
    if (message.tickets[i]) waiting_.emplace_front(*message.tickets[i], message.requests[i], alone);
  }

  std::shared_ptr<HttpClient> client_;
  std::size_t max_in_flight_, batch_;
  bool greeted_ = false;
  HttpClient::Id hello_ = 0;  ///< under way, 0 = none
  std::deque<Item> waiting_;
  Messages under_way_;  ///< owned by the client
  std::vector<Reply<Out>> ready_;
  Accounts accounts_;
  bool answered_ = false;  ///< the last poll returned replies
};

}  // namespace espalier::backend::detail
