#pragma once

#include <espalier/backend/fusion.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/service.hpp>
#include <espalier/llm/passage.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace espalier::backend {

struct HybridOptions {
  std::uint32_t depth = 100;  ///< passages that each retriever is asked for, at least as many as wanted, >= 1
  double constant = 60;       ///< added to ranks, >= 0
};

/// Asks several retrievers and fuses their results (fuse). A query fails if one of them fails.
class Hybrid final : public Service<Query, Passages> {
 public:
  using Part = std::unique_ptr<Service<Query, Passages>>;
  /// Throws std::invalid_argument for a bad option.
  explicit Hybrid(std::vector<Part> parts, HybridOptions options = {}) : parts_(std::move(parts)), options_(options) {
    if (parts_.empty()) bad_option("retrievers", 0, "1 or more");
    if (options_.depth == 0) bad_option("depth", options_.depth, "1 or more");
    if (!(options_.constant >= 0 && options_.constant < 1e9)) bad_option("constant", options_.constant, "0 or more");
  }

  void submit(Ticket ticket, const Query& query) override {
    open_.emplace(ticket, Open{query.k, std::vector<std::optional<Passages>>(parts_.size())});
    for (const Part& part : parts_) part->submit(ticket, Query(query.text, std::max(query.k, options_.depth)));
  }
  std::vector<Reply<Passages>> poll(std::chrono::milliseconds wait) override {
    std::vector<Reply<Passages>> replies;
    for (std::size_t i = 0; i < parts_.size(); ++i) take(i, std::chrono::milliseconds(0), replies);
    for (std::size_t i = 0; i < parts_.size() && replies.empty(); ++i)
      if (std::any_of(open_.begin(), open_.end(), [i](const auto& one) { return !one.second.found[i]; })) {
        take(i, std::min(wait, std::chrono::milliseconds(20)), replies);
        break;  // another part may have answered in the meantime
      }
    return replies;
  }
  [[nodiscard]] bool batch() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part->batch(); });
  }
  void cancel(Ticket ticket) override {
    if (open_.erase(ticket) > 0)
      for (const Part& part : parts_) part->cancel(ticket);
  }

 private:
  struct Open {
    std::uint32_t k;
    std::vector<std::optional<Passages>> found;  ///< by part
  };

  void take(std::size_t part, std::chrono::milliseconds wait, std::vector<Reply<Passages>>& replies) {
    for (auto& reply : parts_[part]->poll(wait)) {
      const auto at = open_.find(reply.ticket);
      if (at == open_.end()) continue;  // failed by another part
      if (!reply.outcome.ok()) {
        replies.push_back(std::move(reply));
        cancel(replies.back().ticket);
        continue;
      }
      at->second.found[part] = std::move(reply.outcome).value();
      std::vector<Passages> lists;
      for (const auto& found : at->second.found)
        if (found) lists.push_back(*found);
      if (lists.size() < parts_.size()) continue;
      replies.emplace_back(reply.ticket, fuse(lists, at->second.k, options_.constant));
      open_.erase(at);
    }
  }

  std::vector<Part> parts_;
  HybridOptions options_;
  std::map<Ticket, Open> open_;
};

}  // namespace espalier::backend
