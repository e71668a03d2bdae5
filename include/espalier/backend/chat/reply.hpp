#pragma once

#include <espalier/backend/detail/chat/choice.hpp>
#include <espalier/backend/detail/chat/grammar_field.hpp>
#include <espalier/backend/detail/chat/refusal.hpp>
#include <espalier/backend/detail/chat/stop_text.hpp>
#include <espalier/backend/detail/chat/usage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// Why a choice ended, by the names that servers use. `other`: that is no ending of an answer.
inline Completion::Finish finish_of(const Choice& choice) {
  static constexpr std::string_view limits[] = {"length", "max_tokens", "max_length", "model_length"};
  static constexpr std::string_view stops[] = {"stop",       "eos",         "eos_token",
                                               "end_turn",   "stop_string", "stop_sequence",
                                               "tool_calls", "tool_use",    "function_call"};
  const std::string reason = choice.finish.value_or(choice.stop ? "stop" : "");
  if (!choice.refusal.empty() && !reason.empty()) return Completion::Finish::refused;
  if (std::ranges::count(limits, reason) > 0) return Completion::Finish::length;
  return std::ranges::count(stops, reason) > 0 ? Completion::Finish::stop : Completion::Finish::other;
}

/// The one place that says if a choice is an answer: it ended, and holds something or took tokens. Else its failure.
inline std::optional<FailedReply> failure_of(const Choice& choice, const Completion& completion) {
  using Finish = Completion::Finish;
  if (completion.finish == Finish::other && !choice.finish) return FailedReply("the reply does not say why it ended");
  if (completion.finish == Finish::other) return FailedReply("the reply ended with '" + *choice.finish + "'");
  const bool said = !(choice.text + choice.thought + choice.refusal + choice.foreign).empty() || !choice.calls.empty();
  const bool counted = completion.prompt_tokens > 0 || completion.finish != Finish::length;
  if (!said && completion.completion_tokens == 0 && counted) return FailedReply("the reply is empty");
  return std::nullopt;
}

/// A choice's text and why it ended. A separate thought of a reasoning model stands in front, as a `<think>` block. The
/// text has no assistant's message that it continues. It has the calls of tools in the marks of their tags (tools.hpp),
/// and the stop string that the server removed (stop_text.hpp). An object that was asked for around the text is removed
/// too (grammar_field.hpp). A refusal is the text of a refused choice. A part that is no text damages the completion.
inline Completion completion_of(const Choice& choice, const PromptBody& body, const Dialect& dialect) {
  std::string_view text = choice.text;
  const std::string& begun = body.messages.back().content;
  if (choice.chat && is_prefill(body) && dialect.prefill == Dialect::Prefill::repeated && text.starts_with(begun))
    text.remove_prefix(begun.size());
  const std::string inner = is_wrapped(body, dialect) ? unwrapped(text) : "";
  if (is_wrapped(body, dialect)) text = inner;
  std::string whole = choice.thought.empty() ? "" : "<think>\n" + choice.thought + "\n</think>\n";
  Completion completion(whole.append(text).append(choice.refusal));
  completion.finish = finish_of(choice);
  if (!choice.foreign.empty()) {
    completion.text += "damaged reply: it has a part of the sort '" + choice.foreign + "'";
    completion.damaged = true;
  }
  append_calls(choice.calls, body, completion);
  if (completion.finish == Completion::Finish::stop && !choice.end_token && choice.calls.empty())
    completion.text += missing_stop(text, body, choice.stop);
  return completion;
}

/// Distributes the tokens of a message over its choices. Usage gives only the sum. If `listed` adds up to that sum,
/// each choice gets its own number, so nothing depends on who shared the message. Otherwise they get equal parts, the
/// first ones one more. `listed` holds Choice::listed of each choice, by index.
inline void count_tokens(std::vector<std::optional<Completion>>& completions, const std::vector<std::uint32_t>& listed,
                         std::uint32_t sum) {
  const auto count = static_cast<std::uint32_t>(
      std::count_if(completions.begin(), completions.end(), [](const auto& c) { return c.has_value(); }));
  const bool told = std::accumulate(listed.begin(), listed.end(), std::uint64_t(0)) == sum;
  std::uint32_t nth = 0;
  for (std::size_t i = 0; i < completions.size(); ++i)
    if (completions[i])
      completions[i]->completion_tokens = told ? listed[i] : sum / count + (nth++ < sum % count ? 1 : 0);
}

/// What a server has replied to one message, in any dialect, as a whole or in chunks.
class ChatReply {
 public:
  /// Throws BackendError for an error sent as a reply, and for repeated choices.
  static ChatReply whole(simdjson::dom::element root, const Dialect& dialect) {
    ChatReply reply(dialect);
    reply.add(root, false);
    return reply;
  }
  /// From events with a line of data each, or from Ollama's lines of JSON. Other fields (a to z) are skipped. Throws
  /// FailedReply for an error in any form, and for a stream that ends before its "[DONE]" or the line that is "done".
  static ChatReply streamed(std::string_view stream, const Dialect& dialect, JsonReader& json) {
    ChatReply reply(dialect);
    const bool events = dialect.server != Server::ollama;
    bool failed = false;  // the event is an error
    while (!reply.done_ && !stream.empty()) {
      const std::size_t end = stream.find('\n');
      if (events && end == std::string_view::npos) break;  // an event that is cut off
      std::string_view line = stream.substr(0, end);
      stream.remove_prefix(std::min(line.size() + 1, stream.size()));
      failed = failed || line.starts_with("error:") || (line.starts_with("event:") && says_failed(line));
      const std::size_t name = line.starts_with("data:") ? 5 : line.starts_with("error:") ? 6 : 0;
      const bool field = name == 0 && line.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == line.find(':');
      if (events && field) continue;  // or a comment
      line.remove_prefix(events ? name : 0);
      line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
      if (events && !failed && line.starts_with("[DONE]")) {
        reply.done_ = true;
      } else if (std::string text(line); !line.empty()) {
        const auto root = json.parse(text);
        if (!root && (failed || end == text.npos || text[0] != '{')) throw FailedReply("the stream says: " + text);
        if (!root) throw BackendError("a line of the stream is not JSON");
        reply.add(*root, true, failed);
      }
    }
    if (!reply.done_) throw FailedReply("the stream ends before its end");
    return reply;
  }

  /// The completions of samples of one prompt, one place each, by choice index. A place stays empty if the server sent
  /// no answer for it. Each completion counts the whole prompt's tokens, as if it was asked alone. Thinking tokens are
  /// known where the reply has one choice. Log-probabilities are left out if they cover fewer tokens than usage counts,
  /// unless their tokens spell the text up to its stop string. The server reads the prompt once: what it had in its
  /// cache before is the first completion's, and the others reuse it whole. A count that cannot be is ignored, and
  /// `doubt` says so. `stops`: endings that are like "stop" at this server, as NAME,NAME.
  /// Throws FailedReply if no choice is an answer, and BackendError (transport) for missing and surplus ones.
  std::vector<std::optional<Completion>> completions(std::span<const Prompt> samples, std::string& doubt,
                                                     const std::string& stops = "") {
    if (choices_.empty()) throw BackendError("a reply without choices");
    if (!done_) throw FailedReply("the reply is not done");
    Usage usage = believed(usage_, doubt);
    std::vector<std::optional<Completion>> completions(samples.size());
    std::vector<std::uint32_t> listed(samples.size());
    const PromptBody& body = samples.front().body();
    const bool scores = body.sampling.logprobs && !is_wrapped(body, *dialect_);  // of the text alone
    std::uint64_t scored = 0;
    std::vector<Completion::TokenLogprob> none;
    for (const auto& [index, choice] : choices_)
      if (choice.logprobs && choice.logprobs->scored) scored += choice.logprobs->tokens;
    for (auto& [index, choice] : choices_) {
      if (index >= samples.size()) throw BackendError("a choice that was not asked for");
      broken += join_marked(choice.text) + join_marked(choice.thought) + join_marked(choice.refusal);
      for (auto& [number, call] : choice.calls) broken += join_marked(call.arguments);
      for (auto& token : choice.logprobs ? choice.logprobs->each : none) (void)join_marked(token.text);
      if (choice.finish && (',' + stops + ',').find(',' + *choice.finish + ',') != std::string::npos)
        choice.finish = "stop";
      Completion completion = completion_of(choice, body, *dialect_);
      completion.prompt_tokens = static_cast<std::uint32_t>(usage.prompt);
      if (choices_.size() == 1)
        completion.thinking_tokens = static_cast<std::uint32_t>(std::min(usage.completion, usage.thinking));
      listed[index] = choice.listed();
      const bool told = choice.logprobs && choice.logprobs->scored;
      const bool all =
          told && (choice.counted > 0 ? choice.logprobs->tokens >= choice.counted : scored >= usage.completion);
      if (told) choice.logprobs->finish(completion.text, body.sampling.stop);
      if (scores && told && (choice.logprobs->whole || all)) {
        completion.logprob = choice.logprobs->sum;
        if (body.sampling.token_logprobs) completion.tokens = std::move(choice.logprobs->each);
      }
      if (body.sampling.keep_tokens) completion.sampled = choice.sampled(all, doubt);
      completions[index] = std::move(completion);
    }
    count_tokens(completions, listed, static_cast<std::uint32_t>(usage.completion));
    std::size_t failures = 0;
    for (const auto& [index, choice] : choices_) {
      const std::optional<FailedReply> failure = failure_of(choice, *completions[index]);
      if (failure && ++failures == choices_.size()) throw FailedReply(*failure);
      if (failure) completions[index].reset();
    }
    for (auto& completion : completions)
      if (completion && usage.cached) completion->reused_tokens = std::exchange(usage.cached, usage.prompt);
    return completions;
  }
  std::size_t broken = 0;  ///< U+FFFD in its completions for what was no Unicode

 private:
  explicit ChatReply(const Dialect& dialect) : dialect_(&dialect) {}

  /// `failed`: it is known to be an error.
  void add(simdjson::dom::element root, bool piece, bool failed = false) {
    if (!root.is_object()) throw FailedReply("the reply is no object: " + simdjson::minify(root));
    const bool says = field<std::string_view>(root, "message") || field<std::string_view>(root, "detail");
    throw_if_error(root, failed || (says && root["choices"].error()));
    if (dialect_->server == Server::ollama) {
      choices_[0].add(root, false);
      done_ = field<bool>(root, "done").value_or(false);
      usage_ = {read_count(root["prompt_eval_count"]), read_count(root["eval_count"])};
      return;
    }
    done_ = !piece;
    if (const auto cached = read_cached(root)) usage_.cached = cached;
    if (const auto told = root["usage"]; told.is_object()) {
      const std::uint64_t before = usage_.completion;
      usage_ = read_usage(told, usage_.cached);
      if (piece && dialect_->server == Server::llamacpp) {  // of the choice that has just ended
        choices_[last_].counted = usage_.completion;
        usage_.completion += before;
      }
    }
    simdjson::dom::array parts;
    if (root["choices"].get(parts)) return;
    std::uint64_t position = 0;
    for (const auto part : parts) {
      std::uint64_t index = piece ? 0 : position++;
      const auto error = part["index"].get(index);  // without an index, choices are in order
      if (error && error != simdjson::NO_SUCH_FIELD) throw BackendError("a choice that was not asked for");
      if (!piece && choices_.contains(index)) throw BackendError("two choices under one index");
      choices_[index].add(part, piece);
      last_ = index;
    }
  }

  const Dialect* dialect_;
  std::map<std::uint64_t, Choice> choices_;
  Usage usage_;
  std::uint64_t last_ = 0;  ///< the choice that came last
  bool done_ = false;
};

}  // namespace espalier::backend::detail
