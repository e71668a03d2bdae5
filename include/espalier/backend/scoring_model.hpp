#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/service.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/llm/prompt.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Uses a reward or value model in place of a language model, for purposes that return scores. Its numbers become a
/// reply in the purpose's form. A number x becomes the form's middle plus tanh(x) times half its range. Two numbers for
/// a form of one are the logits of "bad" and "good", with x = half their difference.
class ScoringModel final : public Service<Prompt, Completion> {
 public:
  using Scorer = std::unique_ptr<Service<EncodeRequest, Embedding>>;
  explicit ScoringModel(Scorer scorer) : scorer_(std::move(scorer)) {}

  void submit(Ticket ticket, const Prompt& prompt) override {
    const Protocol::Purpose* purpose =
        prompt.body().protocol ? prompt.body().protocol->purpose(prompt.purpose()) : nullptr;
    if (!purpose || purpose->scores.count == 0) {
      refused_.emplace_back(
          ticket, failure("a scoring server answers with numbers, the purpose '" + prompt.purpose() + "' wants words"));
      return;
    }
    open_.emplace(ticket, prompt);
    scorer_->submit(ticket, EncodeRequest(scored_text(prompt), EncodeRequest::Role::passage));
  }
  std::vector<Reply<Completion>> poll(std::chrono::milliseconds wait) override {
    std::vector<Reply<Completion>> replies = std::exchange(refused_, {});
    for (auto& reply : scorer_->poll(replies.empty() ? wait : std::chrono::milliseconds(0))) {
      const auto asked = open_.extract(reply.ticket);
      if (reply.outcome.ok()) replies.emplace_back(reply.ticket, completion(asked.mapped(), reply.outcome.value()));
      else replies.emplace_back(reply.ticket, reply.outcome.error());
    }
    return replies;
  }
  [[nodiscard]] bool batch() const override { return scorer_->batch(); }
  void cancel(Ticket ticket) override {
    std::erase_if(refused_, [ticket](const auto& reply) { return reply.ticket == ticket; });
    if (open_.erase(ticket) > 0) scorer_->cancel(ticket);
  }

 private:
  /// The text of a prompt for a scoring model: its slots, one paragraph each, without the rest of the template.
  static std::string scored_text(const Prompt& prompt) {
    std::string text;
    for (const PromptBody::Span& span : prompt.body().spans) {
      const std::string part = prompt.body().shown().substr(span.begin, span.end - span.begin);
      if (const Protocol::Purpose* purpose = prompt.body().protocol->purpose(prompt.purpose());
          std::find(purpose->slots.begin(), purpose->slots.end(), span.name) != purpose->slots.end())
        text += (text.empty() ? "" : "\n\n") + part;
    }
    return text;
  }
  static std::exception_ptr failure(const std::string& what) {
    return std::make_exception_ptr(BackendError(what, BackendError::Kind::permanent));
  }
  static Outcome<Completion> completion(const Prompt& prompt, const Embedding& numbers) {
    const Protocol& protocol = *prompt.body().protocol;
    const Protocol::ScoreForm& form = protocol.purpose(prompt.purpose())->scores;
    std::vector<double> logits(numbers.begin(), numbers.end());
    if (form.count == 1 && logits.size() == 2) logits = {(logits[1] - logits[0]) / 2};
    if (logits.size() != form.count)
      return failure("a scoring server gave " + std::to_string(logits.size()) + " numbers, the purpose '" +
                     prompt.purpose() + "' wants " + std::to_string(form.count));
    std::string text;
    for (const double logit : logits) {
      const double score = form.low + (form.high - form.low) * (std::tanh(logit) + 1) / 2;
      if (!text.empty()) text += ", ";
      JsonWriter(text).value(std::clamp(score, form.low, form.high));
    }
    const Protocol::Tag* tag = protocol.tag("score");
    return Completion(tag ? tag->open + text + tag->close : text);
  }

  Scorer scorer_;
  std::vector<Reply<Completion>> refused_;
  std::map<Ticket, Prompt> open_;
};

}  // namespace espalier::backend
