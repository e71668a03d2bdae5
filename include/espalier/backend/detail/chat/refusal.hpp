#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/core/error.hpp>
#include <espalier/llm/prompt.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// True if the answer continues the last message, which is the assistant's.
inline bool is_prefill(const PromptBody& body) { return body.messages.back().role == "assistant"; }

/// The error for a request that a kind of server does not support.
inline BackendError refusal(const Dialect& dialect, std::string_view field, std::string_view why) {
  std::string what = "a server of the sort '" + std::string(dialect.name) + "' cannot be asked for " +
                     std::string(field) + ": " + std::string(why);
  if (dialect.server == Server::other)
    what += "; name its sort by the option 'server', or send the field by 'extra_body'";
  return BackendError(what, BackendError::Kind::permanent);
}

/// Throws BackendError (permanent) if the prompt needs something that the server lacks. The message names the kind of
/// server and the field. `chat`: the prompt goes to the chat route.
inline void refuse_unfit(const PromptBody& body, bool chat, const Dialect& dialect) {
  const Sampling& sampling = body.sampling;
  const auto refuse = [&](bool unfit, std::string_view field, std::string_view why) {
    if (unfit) throw refusal(dialect, field, why);
  };
  const bool whole = sampling.temperature == 0 || sampling.temperature == 1;
  refuse(sampling.logprobs && dialect.logprobs == Dialect::Logprobs::unknown, "logprobs",
         "what they mean there is not known");
  refuse(sampling.logprobs && dialect.logprobs == Dialect::Logprobs::scaled && !whole, "logprobs",
         "they are those after temperature there; only temperature 0 and 1 leave the model's own");
  refuse(sampling.top_k != 0 && !dialect.top_k_off, "top_k", "it is not known there");
  refuse(sampling.min_p != 0 && !dialect.top_k_off, "min_p", "it is not known there");
  refuse(dialect.max_stops > 0 && sampling.stop.size() > dialect.max_stops, "stop",
         "it takes at most " + std::to_string(dialect.max_stops) + " stop strings");
  refuse(chat && is_prefill(body) && dialect.prefill == Dialect::Prefill::absent,
         "a continued message of the assistant", "it would begin another one, or may do so");
  refuse(sampling.tools && !(dialect.tools && chat), "calls of tools",
         chat ? "what its templates make of them is not known" : "plain texts have none");
  refuse(!sampling.grammar.empty() && dialect.grammar.empty(), "a grammar", "no field for it is known there");
  refuse(!sampling.grammar.empty() && dialect.server == Server::openai && !chat, "a grammar",
         "it takes one in chats alone");
  refuse(!body.ids.empty() && !dialect.ids, "a prompt of token ids", "it takes text alone");
}

/// The completion of a prompt that a server refused because it is too long for the model's context. Its text says so:
/// by llama.cpp's numbers, else by the server's words behind its address. `in_process`: the model runs in this process.
inline Completion too_long(std::string_view refusal, bool in_process) {
  const auto number = [&](std::string_view before) {
    std::uint32_t found = 0;
    const std::size_t at = refusal.find(before);
    if (at != std::string_view::npos)
      std::from_chars(refusal.data() + at + before.size(), refusal.data() + refusal.size(), found);
    return found;
  };
  const std::uint32_t tokens = number("request ("), context = number("context size (");
  std::string told = "has " + std::to_string(tokens) + " tokens and the model's context " + std::to_string(context);
  if (tokens == 0 || context == 0)
    told = "is too long for the model's context (" + std::string(refusal.substr(refusal.find(": ") + 2)) + ")";
  Completion completion("the prompt " + told + ": give " +
                        (in_process ? "gguf:FILE?context=N" : "its server a longer context") + ", or shorter prompts");
  completion.finish = Completion::Finish::too_long;
  completion.prompt_tokens = tokens;
  return completion;
}

}  // namespace espalier::backend::detail
