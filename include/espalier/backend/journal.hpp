#pragma once

#include <espalier/backend/detail/journal/codec.hpp>
#include <espalier/backend/journal/store.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/service.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/llm/prompt.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::backend {

namespace detail {

/// A request as a journal shows it to people: messages and sampling fields, without what differs between samples.
inline std::string request_json(const Prompt& prompt) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().objects("messages", prompt.body().messages, [&](const PromptBody::Message& message) {
    json.field("role", message.role).field("content", message.content);
  });
  const Sampling& sampling = prompt.sampling();
  json.field("temperature", sampling.temperature).field("top_p", sampling.top_p).field("top_k", sampling.top_k);
  json.field("min_p", sampling.min_p).field("max_tokens", sampling.max_tokens).key("stop").array(sampling.stop);
  json.field("logprobs", sampling.logprobs);
  if (sampling.token_logprobs) json.field("token_logprobs", true);
  if (sampling.tools) json.field("tools", true);
  if (!sampling.extra_body.empty()) json.field("extra_body", sampling.extra_body);
  if (!sampling.grammar.empty()) json.field("grammar", sampling.grammar);
  if (!prompt.body().ids.empty()) json.key("ids").array(prompt.body().ids);
  json.end_object();
  return out;
}

inline std::string request_json(const Query& query) {
  std::string out;
  JsonWriter(out).begin_object().field("query", query.text).field("k", query.k).end_object();
  return out;
}

inline std::string request_json(const EncodeRequest& request) {
  std::string out;
  const char* role = request.role == EncodeRequest::Role::query ? "query" : "passage";
  JsonWriter(out).begin_object().field("text", request.text).field("role", role).end_object();
  return out;
}

/// The journal's key of a request to the backend with this fingerprint.
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

}  // namespace detail

/// A backend behind a journal. Stored requests are answered from the journal. Others are sent to the backend, and their
/// answers are stored and handed on only after the transaction has committed. Errors are passed on and not stored. A
/// stored failure, which earlier versions took for an answer, is asked again. Failures of the store throw StoreError.
/// Without a backend it is a replay: a request that is not stored gives a permanent BackendError that names it.
template <class In, class Out>
class Journaled final : public Service<In, Out> {
 public:
  /// `inner` is null for a replay. `fingerprint` identifies the backend, and `source` is its name for people.
  Journaled(std::unique_ptr<Service<In, Out>> inner, std::shared_ptr<Store> store, Hash fingerprint,
            std::string source = "")
      : inner_(std::move(inner)), store_(std::move(store)), fingerprint_(fingerprint), source_(std::move(source)) {}

  void submit(Ticket ticket, const In& request) override {
    Hash key = detail::journal_key<Out>(fingerprint_, request);
    std::optional<Out> stored = find(key);
    if (stored && !espalier::detail::judged<In, Out>(*stored, request).ok()) {
      const Hash again = Hasher().add(std::string_view("asked again")).add(key).finish();
      std::optional<Out> newer = find(again);
      accounts_.renewed += inner_ && !newer;
      if (inner_ || newer) key = again, stored = std::move(newer);
    }
    if (stored) {
      if constexpr (requires { stored->cached; }) stored->cached = true;
      hits_.emplace_back(ticket, std::move(*stored));
    } else if (!inner_) {
      const BackendError error(missing(key, request), BackendError::Kind::permanent);
      hits_.emplace_back(ticket, std::make_exception_ptr(error));
    } else {
      waiting_.insert_or_assign(ticket, Waiting{key, request, text_of(request)});
      inner_->submit(ticket, request);
    }
  }

  /// Stored answers go first. A batch backend is not called while there are any: trees that wake may add to its batch.
  std::vector<Reply<Out>> poll(std::chrono::milliseconds wait) override {
    std::vector<Reply<Out>> replies = std::exchange(hits_, {});
    for (const Reply<Out>& reply : replies) accounts_.cached += reply.outcome.ok();
    if (!inner_) return replies;
    if (replies.empty()) keep(inner_->poll(wait), replies);
    else if (!batch()) keep(inner_->poll(std::chrono::milliseconds(0)), replies);
    return replies;
  }

  [[nodiscard]] bool batch() const override { return !inner_ || inner_->batch(); }

  /// An answer that still arrives is stored, counted as paid_cancelled and not handed on.
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
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Hash key;
    In request;
    std::shared_ptr<const detail::RequestText> text;
    Clock::time_point asked = Clock::now();
    bool cancelled = false;
  };

  [[nodiscard]] std::optional<Out> find(Hash key) {
    if (const auto bytes = store_->find(key)) return detail::decode_record<Out>(*store_, key, *bytes);
    return std::nullopt;
  }
  std::string missing(Hash key, const In& request) const {
    std::string what = "not in the journal " + store_->name() + ": record " + key.hex();
    if constexpr (requires { request.purpose(); }) what += " for purpose '" + request.purpose() + "'";
    return what;
  }
  /// Samples of one prompt come one after the other, so the last text serves most of them.
  std::shared_ptr<const detail::RequestText> text_of(const In& request) {
    if constexpr (std::is_same_v<In, Prompt>) {
      if (request.shared_body() == last_body_) return last_text_;
      last_body_ = request.shared_body();
    }
    return last_text_ = std::make_shared<const detail::RequestText>(detail::request_json(request));
  }
  [[nodiscard]] detail::RecordNote note(const Waiting& waiting, [[maybe_unused]] const Out& answer) const {
    detail::RecordNote note;
    note.source = source_;
    note.request = waiting.text;
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - waiting.asked);
    note.microseconds = static_cast<std::uint64_t>(took.count());
    if constexpr (std::is_same_v<In, Prompt>) {
      note.purpose = waiting.request.purpose();
      note.seed = waiting.request.seed();
      note.sample = waiting.request.sample();
      note.prompt_tokens = answer.prompt_tokens;
      note.completion_tokens = answer.completion_tokens;
      note.attempts = answer.attempts;
    }
    return note;
  }

  /// Stores arrived answers in one transaction, then hands them on.
  void keep(std::vector<Reply<Out>> arrived, std::vector<Reply<Out>>& replies) {
    std::vector<Record> records;
    for (Reply<Out>& reply : arrived) {
      const Waiting& waiting = waiting_.at(reply.ticket);
      reply.outcome = espalier::detail::judged(std::move(reply.outcome), waiting.request);
      if (reply.outcome.ok()) {
        const Out& answer = reply.outcome.value();
        records.emplace_back(waiting.key, detail::Codec<Out>::kind, detail::encode(answer), note(waiting, answer));
      }
    }
    const std::vector<std::string> stored = store_->put(records);
    std::size_t row = 0;
    for (Reply<Out>& reply : arrived) {
      const bool cancelled = waiting_.at(reply.ticket).cancelled;
      waiting_.erase(reply.ticket);
      if (reply.outcome.ok()) {
        const Record& record = records[row];
        if (stored[row] != record.value) reply.outcome = detail::decode_record<Out>(*store_, record.key, stored[row]);
        ++row;
        ++(cancelled ? accounts_.paid_cancelled : accounts_.paid_applied);
      }
      if (!cancelled) replies.push_back(std::move(reply));
    }
  }

  std::unique_ptr<Service<In, Out>> inner_;
  std::shared_ptr<Store> store_;
  Hash fingerprint_;
  std::string source_;
  std::shared_ptr<const PromptBody> last_body_;  ///< the prompt of the last text
  std::shared_ptr<const detail::RequestText> last_text_;
  std::vector<Reply<Out>> hits_;  ///< also what a replay misses
  std::unordered_map<Ticket, Waiting> waiting_;
  Accounts accounts_;
};

}  // namespace espalier::backend
