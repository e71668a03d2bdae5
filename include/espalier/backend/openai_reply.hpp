#pragma once

#include <espalier/backend/json_reader.hpp>
#include <espalier/backend/server_error.hpp>
#include <espalier/backend/stop_text.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/prompt.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
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

/// Sum over a choice's token log-probabilities, in the chat or the plain shape; nothing if a token has none.
inline std::optional<double> read_logprob(simdjson::dom::element choice) {
  simdjson::dom::array tokens;
  const bool chat = !choice["logprobs"]["content"].get(tokens);
  if (!chat && choice["logprobs"]["token_logprobs"].get(tokens)) return std::nullopt;
  double sum = 0;
  for (const auto token : tokens) {
    double logprob = 0;
    if (chat ? token["logprob"].get(logprob) : token.get(logprob)) return std::nullopt;
    sum += logprob;
  }
  return sum;
}

/// The text of a choice, a stop string that the server took away put back (stop_text.hpp). What a reasoning model
/// thought aside stands in front as a <think> block. Throws BackendError (transport) if there is no text.
inline std::string read_text(simdjson::dom::element choice, const PromptBody& body, Finish finish) {
  std::string_view text, thought;
  simdjson::dom::element message = choice;
  const bool chat = !choice["message"].get(message);
  if (chat && message["reasoning_content"].get(thought) && message["reasoning"].get(thought)) thought = {};
  if (message[chat ? "content" : "text"].get(text) && thought.empty()) throw BackendError("a choice without text");
  std::string out;
  if (!thought.empty()) out.append("<think>\n").append(thought).append("\n</think>\n");
  out += text;
  auto reported = field<std::string_view>(choice, "stop_reason");
  if (!reported) reported = field<std::string_view>(choice, "matched_stop");
  const bool end_token = field<std::int64_t>(choice, "stop_reason") || field<std::int64_t>(choice, "matched_stop");
  if (finish == Finish::stop && !end_token) out += missing_stop(text, body, reported);
  return out;
}

/// The completions of a reply, one place for each of `samples` by choice index; a place stays empty if the server sent
/// fewer. Each completion counts the prompt's tokens in full, as if it had been asked for alone; the completion tokens
/// of a message, known as a sum only, are split evenly, the remainder on the first ones. Throws BackendError for an
/// error sent as a reply, and for no, surplus or repeated choices.
inline std::vector<std::optional<Completion>> read_completions(simdjson::dom::element root,
                                                               std::span<const Prompt> samples) {
  throw_if_error(root);
  simdjson::dom::array choices;
  if (root["choices"].get(choices) || choices.size() == 0) throw BackendError("a reply without choices");
  const auto tokens = [&](std::string_view name) {
    std::uint64_t count = 0;
    if (root["usage"][name].get(count)) count = 0;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
  };
  const std::uint32_t prompt_tokens = tokens("prompt_tokens"), completion_tokens = tokens("completion_tokens");
  const auto count = static_cast<std::uint32_t>(choices.size());
  std::vector<std::optional<Completion>> completions(samples.size());
  std::uint64_t position = 0;
  for (const auto choice : choices) {
    std::uint64_t index = position++;
    const auto error = choice["index"].get(index);  // without one, choices count in order
    if ((error && error != simdjson::NO_SUCH_FIELD) || index >= samples.size())
      throw BackendError("a choice that was not asked for");
    if (completions[index]) throw BackendError("two choices under one index");
    Completion completion;
    completion.finish = read_finish(choice);
    completion.text = read_text(choice, samples[index].body(), completion.finish);
    completion.prompt_tokens = prompt_tokens;
    if (samples[index].sampling().logprobs) completion.logprob = read_logprob(choice);
    completions[index] = std::move(completion);
  }
  std::uint32_t nth = 0;
  for (auto& completion : completions)
    if (completion) {
      completion->completion_tokens = completion_tokens / count + (nth < completion_tokens % count ? 1 : 0);
      ++nth;
    }
  return completions;
}

}  // namespace espalier::backend
