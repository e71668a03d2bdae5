#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/detail/chat/grammar_field.hpp>
#include <espalier/backend/detail/chat/logprob_sum.hpp>
#include <espalier/backend/detail/chat/message_text.hpp>
#include <espalier/backend/detail/chat/refusal.hpp>
#include <espalier/backend/detail/chat/stop_text.hpp>
#include <espalier/backend/detail/chat/tools.hpp>
#include <espalier/backend/detail/chat/usage.hpp>
#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/backend/detail/http/server_error.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/prompt.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// Why a choice ended. Servers use several names for it.
inline Completion::Finish read_finish(simdjson::dom::element choice) {
  const auto reason = field<std::string_view>(choice, "finish_reason").value_or("");
  if (reason == "length" || reason == "max_tokens" || reason == "model_length") return Completion::Finish::length;
  const bool stop = reason == "stop" || reason == "tool_calls" || reason == "eos_token" || reason == "stop_sequence" ||
                    reason == "end_turn";
  return stop ? Completion::Finish::stop : Completion::Finish::other;
}

/// True if the value is null or missing.
inline bool absent(simdjson::simdjson_result<simdjson::dom::element> place) {
  return place.error() != simdjson::SUCCESS || place.is_null();
}

/// The list of a choice, in chat or plain form. Nothing if a token has no log-probability.
inline std::optional<LogprobSum> read_logprobs(simdjson::dom::element choice) {
  simdjson::dom::array tokens;
  const bool chat = !choice["logprobs"]["content"].get(tokens);
  if (!chat && choice["logprobs"]["token_logprobs"].get(tokens)) return std::nullopt;
  LogprobSum all;
  simdjson::dom::array names;
  const bool named = !chat && !choice["logprobs"]["tokens"].get(names) && names.size() == tokens.size();
  auto name = named ? names.begin() : tokens.begin();
  for (const auto token : tokens) {
    double logprob = 0;
    if (chat ? token["logprob"].get(logprob) : token.get(logprob)) return std::nullopt;
    std::string_view text;
    const bool known = chat ? !token["token"].get(text) : named && !(*name).get(text);
    all.add(logprob, known ? std::optional(text) : std::nullopt);
    ++name;
  }
  all.finish();
  return all;
}

/// A text with the separate thought of a reasoning model in front, as a `<think>` block.
inline std::string with_thought(std::string_view thought, std::string_view text) {
  std::string out;
  if (!thought.empty()) out.append("<think>\n").append(thought).append("\n</think>\n");
  return out += text;
}

/// A choice's text and why it ended. The text has no assistant's message that it continues. It has the calls of tools
/// in the marks of their tags (tools.hpp), and the stop string that the server removed (stop_text.hpp). An object that
/// was asked for around the text is removed too (grammar_field.hpp). If the choice says why it ended, its text may be
/// null: the model wrote nothing, for instance because it thought until its limit. A refusal is the text of a choice
/// that is refused. A part that is no text is named, and damages the completion. Throws BackendError (transport) if
/// both the text and why it ended are missing.
inline Completion read_choice(simdjson::dom::element choice, const PromptBody& body, const Dialect& dialect) {
  MessageText said;
  simdjson::dom::element message = choice;
  const bool chat = !choice["message"].get(message);
  const bool silent = absent(message[chat ? "content" : "text"]) && field<std::string_view>(choice, "finish_reason");
  if (!add_message(message, said) && said.thought.empty() && said.refusal.empty() && !silent)
    throw BackendError("a choice without text");
  std::string_view text = said.text;
  const std::string& begun = body.messages.back().content;
  if (chat && is_prefill(body) && dialect.prefill == Dialect::Prefill::repeated && text.starts_with(begun))
    text.remove_prefix(begun.size());
  const std::string inner = is_wrapped(body, dialect) ? unwrapped(text) : "";
  if (is_wrapped(body, dialect)) text = inner;
  Completion completion(with_thought(said.thought, text) + said.refusal);
  completion.finish = said.refusal.empty() ? read_finish(choice) : Completion::Finish::refused;
  if (!said.foreign.empty()) {
    completion.text += "damaged reply: it has a part of the sort '" + said.foreign + "'";
    completion.damaged = true;
  }
  const bool calls = chat && append_calls(message, body, completion);
  auto reported = field<std::string_view>(choice, "stop_reason");
  if (!reported) reported = field<std::string_view>(choice, "matched_stop");
  const bool end_token = field<std::int64_t>(choice, "stop_reason") || field<std::int64_t>(choice, "matched_stop");
  if (completion.finish == Completion::Finish::stop && !end_token && !calls)
    completion.text += missing_stop(text, body, reported);
  return completion;
}

/// The number of a choice's tokens, from its token ids or log-probabilities. 0 = not given.
inline std::uint32_t listed_tokens(simdjson::dom::element choice) {
  simdjson::dom::array list;
  if (!choice["token_ids"].get(list) || !choice["logprobs"]["content"].get(list) ||
      !choice["logprobs"]["token_logprobs"].get(list))
    return static_cast<std::uint32_t>(list.size());
  return 0;
}

/// Distributes the tokens of a message over its choices. Usage gives only the sum. If `listed` adds up to that sum,
/// each choice gets its own number, so nothing depends on who shared the message. Otherwise they get equal parts, the
/// first ones one more. `listed` holds listed_tokens of each choice, by index.
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

/// The completions of a reply, one place per sample, by choice index. A place stays empty if the server sent fewer.
/// Each completion counts the whole prompt's tokens, as if it was asked alone. Thinking tokens are known where the
/// reply has one choice. Log-probabilities are left out if they cover fewer tokens than usage counts, unless their
/// tokens spell the text up to its stop string. Throws BackendError for an error sent as a reply, and for missing,
/// surplus or repeated choices.
inline std::vector<std::optional<Completion>> read_completions(simdjson::dom::element root,
                                                               std::span<const Prompt> samples, const Dialect& dialect,
                                                               UsageReader& counts) {
  throw_if_error(root);
  simdjson::dom::array choices;
  if (root["choices"].get(choices) || choices.size() == 0) throw BackendError("a reply without choices");
  const auto told = root["usage"];
  Usage usage = counts.read(told["prompt_tokens"], told["completion_tokens"]);
  if (choices.size() == 1) {  // SGLang counts them beside the other counts
    const std::uint64_t listed_apart = read_count(told["completion_tokens_details"]["reasoning_tokens"]);
    usage.thinking = std::min(usage.completion, std::max(listed_apart, read_count(told["reasoning_tokens"])));
  }
  std::vector<std::optional<Completion>> completions(samples.size());
  std::vector<std::uint32_t> listed(samples.size());
  std::vector<bool> whole(samples.size());
  std::uint64_t position = 0, scored = 0;
  for (const auto choice : choices) {
    std::uint64_t index = position++;
    const auto error = choice["index"].get(index);  // without an index, choices are in order
    if ((error && error != simdjson::NO_SUCH_FIELD) || index >= samples.size())
      throw BackendError("a choice that was not asked for");
    if (completions[index]) throw BackendError("two choices under one index");
    Completion completion = read_choice(choice, samples[index].body(), dialect);
    completion.prompt_tokens = static_cast<std::uint32_t>(usage.prompt);
    completion.thinking_tokens = static_cast<std::uint32_t>(usage.thinking);
    const Sampling& sampling = samples[index].sampling();
    const bool scores = sampling.logprobs && !is_wrapped(samples[index].body(), dialect);  // of the text alone
    if (auto list = scores ? read_logprobs(choice) : std::nullopt) {
      scored += list->tokens;
      cut_at_stop(*list, completion.text, sampling.stop);
      whole[index] = list->whole;
      set_logprobs(completion, std::move(*list), sampling);
    }
    completions[index] = std::move(completion);
    listed[index] = listed_tokens(choice);
  }
  for (std::size_t i = 0; i < completions.size(); ++i)
    if (completions[i] && scored < usage.completion && !whole[i])
      completions[i]->logprob.reset(), completions[i]->tokens.clear();
  count_tokens(completions, listed, static_cast<std::uint32_t>(usage.completion));
  return completions;
}

}  // namespace espalier::backend::detail
