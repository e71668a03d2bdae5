#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/detail/chat/choice.hpp>
#include <espalier/backend/detail/chat/grammar_field.hpp>
#include <espalier/backend/detail/chat/refusal.hpp>
#include <espalier/backend/detail/chat/stop_text.hpp>
#include <espalier/backend/detail/chat/tools.hpp>
#include <espalier/backend/detail/chat/usage.hpp>
#include <espalier/backend/detail/http/server_error.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/llm/prompt.hpp>

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

/// Why a choice ended. Servers use several names for it.
inline Completion::Finish finish_named(std::string_view reason) {
  if (reason == "length" || reason == "max_tokens" || reason == "model_length") return Completion::Finish::length;
  const bool stop = reason == "stop" || reason == "tool_calls" || reason == "eos_token" || reason == "stop_sequence" ||
                    reason == "end_turn";
  return stop ? Completion::Finish::stop : Completion::Finish::other;
}

/// A choice's text and why it ended. A separate thought of a reasoning model stands in front, as a `<think>` block. The
/// text has no assistant's message that it continues. It has the calls of tools in the marks of their tags (tools.hpp),
/// and the stop string that the server removed (stop_text.hpp). An object that was asked for around the text is removed
/// too (grammar_field.hpp). A refusal is the text of a choice that is refused. A part that is no text is named, and
/// damages the completion. Throws BackendError (transport) if both the text and why it ended are missing.
inline Completion completion_of(const Choice& choice, const PromptBody& body, const Dialect& dialect) {
  if (!choice.answered()) throw BackendError("a choice without text");
  std::string_view text = choice.text;
  const std::string& begun = body.messages.back().content;
  if (choice.chat && is_prefill(body) && dialect.prefill == Dialect::Prefill::repeated && text.starts_with(begun))
    text.remove_prefix(begun.size());
  const std::string inner = is_wrapped(body, dialect) ? unwrapped(text) : "";
  if (is_wrapped(body, dialect)) text = inner;
  std::string whole = choice.thought.empty() ? "" : "<think>\n" + choice.thought + "\n</think>\n";
  Completion completion(whole.append(text).append(choice.refusal));
  completion.finish = choice.refusal.empty() ? finish_named(choice.finish.value_or("")) : Completion::Finish::refused;
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
    if (completions[i]) {
      completions[i]->completion_tokens = told ? listed[i] : sum / count + (nth < sum % count ? 1 : 0);
      ++nth;
    }
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
  /// From events with a line of data each, or from Ollama's lines of JSON. Other lines of events are skipped. Throws
  /// BackendError for an error among the chunks. Throws BackendError (transport) for a stream that is damaged or ends
  /// before its "[DONE]", or before the line that says "done".
  static ChatReply streamed(std::string_view stream, const Dialect& dialect, JsonReader& json) {
    ChatReply reply(dialect);
    const bool events = dialect.server != Server::ollama;
    while (!reply.done_ && !stream.empty()) {
      const std::size_t end = stream.find('\n');
      if (events && end == std::string_view::npos) break;  // an event that is cut off
      std::string_view line = stream.substr(0, end);
      stream.remove_prefix(std::min(line.size() + 1, stream.size()));
      if (events && !line.starts_with("data:")) continue;
      if (events) line.remove_prefix(5);
      line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
      std::string text(line);
      if (events && line.starts_with("[DONE]")) reply.done_ = true;
      else if (!line.empty()) reply.add(json.read(text), true);
    }
    if (!reply.done_) throw BackendError("the stream ends before its end");
    return reply;
  }

  /// The completions of samples of one prompt, one place each, by choice index. A place stays empty if the server sent
  /// fewer. Each completion counts the whole prompt's tokens, as if it was asked alone. Thinking tokens are known where
  /// the reply has one choice. Log-probabilities are left out if they cover fewer tokens than usage counts, unless
  /// their tokens spell the text up to its stop string. A count that cannot be is ignored, and `doubt` says so. Throws
  /// BackendError (transport) for missing and surplus choices.
  std::vector<std::optional<Completion>> completions(std::span<const Prompt> samples, std::string& doubt) {
    if (choices_.empty()) throw BackendError("a reply without choices");
    if (!done_) throw BackendError("a reply that is not done");
    const Usage usage = believed(usage_, doubt);
    std::vector<std::optional<Completion>> completions(samples.size());
    std::vector<std::uint32_t> listed(samples.size());
    const PromptBody& body = samples.front().body();
    const bool scores = body.sampling.logprobs && !is_wrapped(body, *dialect_);  // of the text alone
    std::uint64_t scored = 0;
    for (const auto& [index, choice] : choices_)
      if (choice.logprobs && choice.logprobs->scored) scored += choice.logprobs->tokens;
    for (auto& [index, choice] : choices_) {
      if (index >= samples.size()) throw BackendError("a choice that was not asked for");
      Completion completion = completion_of(choice, body, *dialect_);
      completion.prompt_tokens = static_cast<std::uint32_t>(usage.prompt);
      if (choices_.size() == 1)
        completion.thinking_tokens = static_cast<std::uint32_t>(std::min(usage.completion, usage.thinking));
      listed[index] = choice.listed();
      if (scores && choice.logprobs && choice.logprobs->scored) {
        LogprobSum list = std::move(*choice.logprobs);
        const bool all = choice.tokens > 0 ? list.tokens >= choice.tokens : scored >= usage.completion;
        list.finish(completion.text, body.sampling.stop);
        if (list.whole || all) {
          completion.logprob = list.sum;
          if (body.sampling.token_logprobs) completion.tokens = std::move(list.each);
        }
      }
      completions[index] = std::move(completion);
    }
    count_tokens(completions, listed, static_cast<std::uint32_t>(usage.completion));
    return completions;
  }

 private:
  explicit ChatReply(const Dialect& dialect) : dialect_(&dialect) {}

  void add(simdjson::dom::element root, bool piece) {
    throw_if_error(root);
    if (dialect_->server == Server::ollama) {
      choices_[0].add_ollama(root, piece);
      done_ = field<bool>(root, "done").value_or(false);
      usage_ = {read_count(root["prompt_eval_count"]), read_count(root["eval_count"])};
      return;
    }
    done_ = !piece;
    if (const auto told = root["usage"]; told.is_object()) {
      const std::uint64_t before = usage_.completion;
      usage_ = read_usage(told);
      if (piece && dialect_->server == Server::llamacpp) {  // of the choice that has just ended
        choices_[last_].tokens = usage_.completion;
        usage_.completion += before;
      }
    }
    simdjson::dom::array parts;
    if (root["choices"].get(parts)) return;
    std::uint64_t position = 0;
    for (const auto part : parts) {
      std::uint64_t index = piece ? 0 : position++;
      const auto error = part["index"].get(index);  // without an index, choices are in order
      if (!piece && error && error != simdjson::NO_SUCH_FIELD) throw BackendError("a choice that was not asked for");
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
