#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/chat/refusal.hpp>
#include <espalier/backend/chat/stop_text.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/backend/http/server_error.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/prompt.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Why a choice ended, over the names in use.
inline Finish read_finish(simdjson::dom::element choice) {
  const auto reason = field<std::string_view>(choice, "finish_reason").value_or("");
  if (reason == "length") return Finish::length;
  const bool stop = reason == "stop" || reason == "eos_token" || reason == "stop_sequence" || reason == "end_turn";
  return stop ? Finish::stop : Finish::other;
}

/// What the tokens of a text add up to: natural logarithms of their probabilities.
struct LogprobSum {
  double sum = 0;
  std::uint64_t tokens = 0;
};

/// The sum of a choice, in the chat or the plain shape; nothing if a token has no log-probability.
inline std::optional<LogprobSum> read_logprobs(simdjson::dom::element choice) {
  simdjson::dom::array tokens;
  const bool chat = !choice["logprobs"]["content"].get(tokens);
  if (!chat && choice["logprobs"]["token_logprobs"].get(tokens)) return std::nullopt;
  LogprobSum all;
  for (const auto token : tokens) {
    double logprob = 0;
    if (chat ? token["logprob"].get(logprob) : token.get(logprob)) return std::nullopt;
    all.sum += logprob;
    ++all.tokens;
  }
  return all;
}

/// A text as it was said: what a reasoning model thought aside stands in front as a `<think>` block.
inline std::string with_thought(std::string_view thought, std::string_view text) {
  std::string out;
  if (!thought.empty()) out.append("<think>\n").append(thought).append("\n</think>\n");
  return out += text;
}

/// The text of a choice: without the assistant's message that it continues, and with the stop string that the server
/// took away (stop_text.hpp). Throws BackendError (transport) if there is no text.
inline std::string read_text(simdjson::dom::element choice, const PromptBody& body, Finish finish, const Dialect& dialect) {
  std::string_view text, thought;
  simdjson::dom::element message = choice;
  const bool chat = !choice["message"].get(message);
  if (chat && message["reasoning_content"].get(thought) && message["reasoning"].get(thought)) thought = {};
  if (message[chat ? "content" : "text"].get(text) && thought.empty()) throw BackendError("a choice without text");
  const std::string& begun = body.messages.back().content;
  if (chat && is_prefill(body) && dialect.prefill == Dialect::Prefill::repeated && text.starts_with(begun)) text.remove_prefix(begun.size());
  std::string out = with_thought(thought, text);
  auto reported = field<std::string_view>(choice, "stop_reason");
  if (!reported) reported = field<std::string_view>(choice, "matched_stop");
  const bool end_token = field<std::int64_t>(choice, "stop_reason") || field<std::int64_t>(choice, "matched_stop");
  if (finish == Finish::stop && !end_token) out += missing_stop(text, body, reported);
  return out;
}

/// A count that a reply may give; 0 = it does not.
inline std::uint32_t read_count(simdjson::simdjson_result<simdjson::dom::element> place) {
  std::uint64_t count = 0;
  if (place.get(count)) count = 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
}

/// How many tokens a choice has by its token ids or log-probabilities; 0 = it does not say.
inline std::uint32_t listed_tokens(simdjson::dom::element choice) {
  simdjson::dom::array list;
  if (!choice["token_ids"].get(list) || !choice["logprobs"]["content"].get(list) || !choice["logprobs"]["token_logprobs"].get(list))
    return static_cast<std::uint32_t>(list.size());
  return 0;
}

/// Gives the choices of a message their tokens, of which usage tells the sum: each its own where the lists add up to that
/// sum, so that nothing depends on who shared the message; else equal parts, the remainder on the first ones. `listed`:
/// listed_tokens of each, in order of index.
inline void count_tokens(std::vector<std::optional<Completion>>& completions, const std::vector<std::uint32_t>& listed, std::uint32_t sum) {
  const auto count = static_cast<std::uint32_t>(std::count_if(completions.begin(), completions.end(), [](const auto& c) { return c.has_value(); }));
  const bool told = std::accumulate(listed.begin(), listed.end(), std::uint64_t(0)) == sum;
  std::uint32_t nth = 0;
  for (std::size_t i = 0; i < completions.size(); ++i)
    if (completions[i]) {
      completions[i]->completion_tokens = told ? listed[i] : sum / count + (nth < sum % count ? 1 : 0);
      ++nth;
    }
}

/// The completions of a reply, one place for each of `samples` by choice index; a place stays empty if the server sent
/// fewer. Each completion counts the prompt's tokens in full, as if it had been asked for alone. Log-probabilities of
/// fewer tokens than usage counts are those of a part of the texts, and left out. Throws BackendError for an error sent
/// as a reply, and for no, surplus or repeated choices.
inline std::vector<std::optional<Completion>> read_completions(simdjson::dom::element root, std::span<const Prompt> samples, const Dialect& dialect) {
  throw_if_error(root);
  simdjson::dom::array choices;
  if (root["choices"].get(choices) || choices.size() == 0) throw BackendError("a reply without choices");
  const std::uint32_t prompt_tokens = read_count(root["usage"]["prompt_tokens"]);
  const std::uint32_t completion_tokens = read_count(root["usage"]["completion_tokens"]);
  std::vector<std::optional<Completion>> completions(samples.size());
  std::vector<std::uint32_t> listed(samples.size());
  std::uint64_t position = 0, scored = 0;
  for (const auto choice : choices) {
    std::uint64_t index = position++;
    const auto error = choice["index"].get(index);  // without one, choices count in order
    if ((error && error != simdjson::NO_SUCH_FIELD) || index >= samples.size())
      throw BackendError("a choice that was not asked for");
    if (completions[index]) throw BackendError("two choices under one index");
    Completion completion;
    completion.finish = read_finish(choice);
    completion.text = read_text(choice, samples[index].body(), completion.finish, dialect);
    completion.prompt_tokens = prompt_tokens;
    if (const auto logprobs = samples[index].sampling().logprobs ? read_logprobs(choice) : std::nullopt) {
      completion.logprob = logprobs->sum;
      scored += logprobs->tokens;
    }
    completions[index] = std::move(completion);
    listed[index] = listed_tokens(choice);
  }
  for (auto& completion : completions)
    if (completion && scored < completion_tokens) completion->logprob.reset();
  count_tokens(completions, listed, completion_tokens);
  return completions;
}

}  // namespace espalier::backend
