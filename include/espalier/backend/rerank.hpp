#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/service.hpp>
#include <espalier/llm/passage.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// One request to a reranker: how well does each text answer the query?
struct RerankRequest {
  using Scores = std::vector<double>;  ///< a score for each text, higher is better
  RerankRequest(std::string question, std::vector<std::string> documents)
      : query(std::move(question)), texts(std::move(documents)) {}
  std::string query;
  std::vector<std::string> texts;
};

/// A retriever whose best `depth` passages a reranker orders again. The scores are the reranker's, and equal ones keep
/// the retriever's order. The reranker sees a passage's title, if it has one, and its text, each on its own line.
class Reranked final : public Service<Query, Passages> {
 public:
  using Retriever = std::unique_ptr<Service<Query, Passages>>;
  using Reranker = std::unique_ptr<Service<RerankRequest, RerankRequest::Scores>>;
  /// Throws std::invalid_argument for a depth of 0.
  Reranked(Retriever retriever, Reranker reranker, std::uint32_t depth)
      : retriever_(std::move(retriever)), reranker_(std::move(reranker)), depth_(depth) {
    if (depth_ == 0) bad_option("depth", depth_, "1 or more");
  }

  void submit(Ticket ticket, const Query& query) override {
    open_.emplace(ticket, Open{query});
    retriever_->submit(ticket, Query(query.text, std::max(query.k, depth_)));
  }
  std::vector<Reply<Passages>> poll(std::chrono::milliseconds wait) override {
    std::vector<Reply<Passages>> replies;
    const bool reranking = std::ranges::any_of(open_, [](const auto& one) { return one.second.reranking; });
    for (auto& reply : retriever_->poll(reranking ? std::chrono::milliseconds(0) : wait)) found(reply, replies);
    if (open_.empty()) return replies;
    const auto patience = std::min(wait, std::chrono::milliseconds(reranking && replies.empty() ? 20 : 0));
    for (auto& reply : reranker_->poll(patience)) scored(reply, replies);
    return replies;
  }
  [[nodiscard]] bool batch() const override { return retriever_->batch() && reranker_->batch(); }
  void cancel(Ticket ticket) override {
    if (open_.erase(ticket) == 0) return;
    retriever_->cancel(ticket);
    reranker_->cancel(ticket);
  }

 private:
  struct Open {
    Query query;
    Passages passages = {};
    bool reranking = false;
  };

  void found(Reply<Passages>& reply, std::vector<Reply<Passages>>& replies) {
    const auto at = open_.find(reply.ticket);
    if (at == open_.end()) return;
    if (!reply.outcome.ok() || reply.outcome.value().empty()) {
      open_.erase(at);
      replies.push_back(std::move(reply));
      return;
    }
    at->second.passages = std::move(reply.outcome).value();
    at->second.reranking = true;
    std::vector<std::string> texts;
    for (const Passage& passage : at->second.passages)
      texts.push_back(passage.title().empty() ? passage.text() : passage.title() + "\n" + passage.text());
    reranker_->submit(reply.ticket, RerankRequest(at->second.query.text, std::move(texts)));
  }
  void scored(Reply<RerankRequest::Scores>& reply, std::vector<Reply<Passages>>& replies) {
    const auto at = open_.find(reply.ticket);
    if (at == open_.end()) return;
    const Open open = std::move(open_.extract(at).mapped());
    if (!reply.outcome.ok()) {
      replies.emplace_back(reply.ticket, reply.outcome.error());
      return;
    }
    const RerankRequest::Scores scores = std::move(reply.outcome).value();
    std::string fault;
    if (scores.size() != open.passages.size())
      fault = std::to_string(scores.size()) + " scores for " + std::to_string(open.passages.size()) + " passages";
    else if (!std::ranges::all_of(scores, [](double score) { return std::isfinite(score); }))
      fault = "a score that is not finite";
    if (!fault.empty()) {
      const BackendError error("a reranker gave " + fault, BackendError::Kind::permanent);
      replies.emplace_back(reply.ticket, std::make_exception_ptr(error));
      return;
    }
    Passages best;
    for (std::size_t i = 0; i < scores.size(); ++i) best.push_back(open.passages[i].scored(scores[i]));
    std::ranges::stable_sort(best, std::greater<>(), &Passage::score);
    if (best.size() > open.query.k) best.erase(best.begin() + open.query.k, best.end());
    replies.emplace_back(reply.ticket, std::move(best));
  }

  Retriever retriever_;
  Reranker reranker_;
  std::uint32_t depth_;
  std::map<Ticket, Open> open_;
};

}  // namespace espalier::backend
