#pragma once

#include <espalier/backend/journal.hpp>

namespace espalier::backend {

/// A journal without a backend. A request that is not stored gives a permanent BackendError that names it.
template <class In, class Out>
class Replay final : public Service<In, Out> {
 public:
  /// `fingerprint` is that of the backend whose answers were stored.
  Replay(std::shared_ptr<Store> store, Hash fingerprint) : store_(std::move(store)), fingerprint_(fingerprint) {}

  void submit(Ticket ticket, const In& request) override {
    const Hash key = detail::journal_key<Out>(fingerprint_, request);
    if (const auto bytes = store_->find(key)) {
      replies_.emplace_back(ticket, detail::decode_record<Out>(*store_, key, *bytes));
    } else {
      const BackendError error(missing(key, request), BackendError::Kind::permanent);
      replies_.emplace_back(ticket, std::make_exception_ptr(error));
    }
  }
  std::vector<Reply<Out>> poll(std::chrono::milliseconds) override {
    std::vector<Reply<Out>> replies = std::exchange(replies_, {});
    for (const Reply<Out>& reply : replies) accounts_.cached += reply.outcome.ok();
    return replies;
  }
  [[nodiscard]] bool batch() const override { return true; }
  void cancel(Ticket ticket) override {
    std::erase_if(replies_, [ticket](const Reply<Out>& reply) { return reply.ticket == ticket; });
  }
  /// Counts cached.
  [[nodiscard]] const Accounts& accounts() const { return accounts_; }

 private:
  std::string missing(Hash key, const In& request) const {
    std::string what = "not in the journal " + store_->name() + ": record " + key.hex();
    if constexpr (requires { request.purpose(); }) what += " for purpose '" + request.purpose() + "'";
    return what;
  }

  std::shared_ptr<Store> store_;
  Hash fingerprint_;
  std::vector<Reply<Out>> replies_;
  Accounts accounts_;
};

}  // namespace espalier::backend
