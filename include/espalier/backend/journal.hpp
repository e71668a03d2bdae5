#pragma once

#include <espalier/backend/codec.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/service.hpp>

#include <memory>
#include <unordered_map>

namespace espalier::backend {

/// The journal's key of a request to the backend of that fingerprint.
template <class Out, class In>
Hash journal_key(Hash fingerprint, const In& request) {
  return Hasher().add(std::uint64_t(Codec<Out>::kind)).add(fingerprint).add(request.key()).finish();
}

/// The response of a stored record. Throws StoreError that names the record and its store if it cannot be read.
template <class Out>
Out decode_record(const Store& store, Hash key, std::string_view bytes) {
  try {
    return decode<Out>(bytes);
  } catch (const Error& error) {
    throw StoreError(store.name() + ": record " + key.hex() + ": " + error.what());
  }
}

/// A backend behind a journal: what is stored is answered from there, what is not is asked for, stored, and handed on
/// only after its transaction has committed. Errors are passed on and not stored. Store failures throw StoreError.
template <class In, class Out>
class Journaled final : public Service<In, Out> {
 public:
  /// `fingerprint` is the backend's identity: model and revision, index, or what its user gave.
  Journaled(std::unique_ptr<Service<In, Out>> inner, std::shared_ptr<Store> store, Hash fingerprint)
      : inner_(std::move(inner)), store_(std::move(store)), fingerprint_(fingerprint) {}

  void submit(Ticket ticket, const In& request) override {
    const Hash key = journal_key<Out>(fingerprint_, request);
    if (const auto bytes = store_->find(key)) {
      Out stored = decode_record<Out>(*store_, key, *bytes);
      if constexpr (requires { stored.cached; }) stored.cached = true;
      hits_.emplace_back(ticket, std::move(stored));
    } else {
      waiting_.insert_or_assign(ticket, Waiting{key});
      inner_->submit(ticket, request);
    }
  }

  /// Hits go first. A batch backend is not called while there are any: the trees they wake may add to its next batch.
  std::vector<Reply<Out>> poll(std::chrono::milliseconds wait) override {
    std::vector<Reply<Out>> replies = std::exchange(hits_, {});
    accounts_.cached += replies.size();
    if (replies.empty()) keep(inner_->poll(wait), replies);
    else if (!batch()) keep(inner_->poll(std::chrono::milliseconds(0)), replies);
    return replies;
  }

  [[nodiscard]] bool batch() const override { return inner_->batch(); }

  /// An answer that arrives all the same is stored, counted as paid_cancelled and not handed on.
  void cancel(Ticket ticket) override {
    std::erase_if(hits_, [ticket](const Reply<Out>& reply) { return reply.ticket == ticket; });
    const auto it = waiting_.find(ticket);
    if (it == waiting_.end()) return;
    it->second.cancelled = true;
    inner_->cancel(ticket);
  }

  /// Counts cached, paid_applied and paid_cancelled.
  [[nodiscard]] const Accounts& accounts() const { return accounts_; }

 private:
  struct Waiting {
    Hash key;
    bool cancelled = false;
  };

  /// Stores what arrived in one transaction, then hands it on.
  void keep(std::vector<Reply<Out>> arrived, std::vector<Reply<Out>>& replies) {
    std::vector<Record> records;
    for (const Reply<Out>& reply : arrived)
      if (reply.outcome.ok())
        records.emplace_back(waiting_.at(reply.ticket).key, Codec<Out>::kind, encode(reply.outcome.value()));
    const std::vector<std::string> stored = store_->put(records);
    std::size_t row = 0;
    for (Reply<Out>& reply : arrived) {
      const bool cancelled = waiting_.at(reply.ticket).cancelled;
      waiting_.erase(reply.ticket);
      if (reply.outcome.ok()) {
        const Record& record = records[row];
        if (stored[row] != record.value) reply.outcome = decode_record<Out>(*store_, record.key, stored[row]);
        ++row;
        ++(cancelled ? accounts_.paid_cancelled : accounts_.paid_applied);
      }
      if (!cancelled) replies.push_back(std::move(reply));
    }
  }

  std::unique_ptr<Service<In, Out>> inner_;
  std::shared_ptr<Store> store_;
  Hash fingerprint_;
  std::vector<Reply<Out>> hits_;
  std::unordered_map<Ticket, Waiting> waiting_;
  Accounts accounts_;
};

}  // namespace espalier::backend
