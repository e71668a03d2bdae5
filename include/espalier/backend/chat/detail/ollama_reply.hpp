#pragma once

#include <espalier/backend/chat/detail/grammar_field.hpp>
#include <espalier/backend/chat/detail/logprob_sum.hpp>
#include <espalier/backend/chat/detail/openai_reply.hpp>
#include <espalier/backend/chat/detail/stop_text.hpp>
#include <espalier/backend/chat/detail/tools.hpp>
#include <espalier/backend/chat/detail/usage.hpp>
#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/backend/http/detail/server_error.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/prompt.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// The completion in a reply of Ollama's /api/chat or /api/generate. If the reply says why it ended, its text may be
/// null: the model wrote nothing. Throws BackendError for an error sent as a reply, and for a reply that has no text or
/// is incomplete.
inline Completion read_ollama(simdjson::dom::element root, const Prompt& prompt, UsageReader& counts) {
  throw_if_error(root);
  std::string_view text, thought;
  simdjson::dom::element message = root;
  const bool chat = !root["message"].get(message);
  if (message["thinking"].get(thought)) thought = {};
  const auto reason = field<std::string_view>(root, "done_reason").value_or("");
  const auto written = message[chat ? "content" : "response"];
  const bool silent = absent(written) && !reason.empty();
  if (written.get(text) && thought.empty() && !silent) throw BackendError("a reply without a text");
  if (!field<bool>(root, "done").value_or(false)) throw BackendError("a reply that is not done");
  const Completion::Finish finish = reason == "length" ? Completion::Finish::length
                                    : reason == "stop" ? Completion::Finish::stop
                                                       : Completion::Finish::other;
  const bool wrapped = is_wrapped(prompt.body(), dialect_of(Server::ollama));
  const std::string inner = wrapped ? unwrapped(text) : "";
  if (wrapped) text = inner;
  Completion completion(with_thought(thought, text));
  completion.finish = finish;
  if (!append_calls(message, prompt.body(), completion) && completion.finish == Completion::Finish::stop)
    completion.text += missing_stop(text, prompt.body(), std::nullopt);
  const Usage usage = counts.read(root["prompt_eval_count"], root["eval_count"]);
  completion.prompt_tokens = static_cast<std::uint32_t>(usage.prompt);
  completion.completion_tokens = static_cast<std::uint32_t>(usage.completion);
  simdjson::dom::array tokens;
  if (wrapped || !prompt.sampling().logprobs || root["logprobs"].get(tokens)) return completion;
  LogprobSum list;
  for (const auto token : tokens) {
    double logprob = 0;
    if (token["logprob"].get(logprob)) return completion;
    list.add(logprob, field<std::string_view>(token, "token"));
  }
  list.finish();
  cut_at_stop(list, completion.text, prompt.sampling().stop);
  if (list.whole || list.tokens >= completion.completion_tokens)
    set_logprobs(completion, std::move(list), prompt.sampling());
  return completion;
}

}  // namespace espalier::backend::detail
