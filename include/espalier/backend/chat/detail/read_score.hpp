#pragma once

#include <espalier/backend/chat/detail/usage.hpp>
#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/backend/http/detail/server_error.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/score.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::backend::detail {

/// How many of the last tokens spell `text`. Throws BackendError (permanent) if none do exactly. Then the text begins
/// inside a token, or one of its characters spans several tokens.
inline std::size_t tokens_spelling(std::string_view text, const std::vector<std::string_view>& tokens) {
  std::size_t count = 0;
  while (!text.empty() && count < tokens.size() && !tokens[tokens.size() - 1 - count].empty() &&
         text.ends_with(tokens[tokens.size() - 1 - count]))
    text.remove_suffix(tokens[tokens.size() - 1 - count++].size());
  if (!text.empty())
    throw BackendError(
        "the continuation is not made of whole tokens of the prompt; give prompt and continuation as token ids",
        BackendError::Kind::permanent);
  return count;
}

/// The score in a reply to `echo`. Its list must hold one log-probability for each prompt token that the server counts,
/// and `generated` more. A list of another length belongs to other tokens and is refused for good.
inline Score read_score(simdjson::dom::element root, const ScoreRequest& request, std::size_t generated) {
  const auto wrong = [](const std::string& what) { return BackendError(what, BackendError::Kind::permanent); };
  throw_if_error(root);
  simdjson::dom::element logprobs;
  simdjson::dom::array numbers, texts;
  if (root["choices"].at(0)["logprobs"].get(logprobs) || logprobs["token_logprobs"].get(numbers) ||
      logprobs["tokens"].get(texts))
    throw wrong("the reply has no log-probabilities of the prompt");
  std::vector<simdjson::dom::element> all(numbers.begin(), numbers.end());
  std::vector<std::string_view> tokens;
  for (const auto text : texts) tokens.push_back(text.is_string() ? std::string_view(text) : std::string_view());
  const std::size_t counted = read_count(root["usage"]["prompt_tokens"]);
  const std::size_t given = request.prompt_ids().size() + request.continuation_ids().size();
  const std::string found =
      std::to_string(all.size()) + " log-probabilities for a prompt of " + std::to_string(counted) + " tokens";
  if (counted == 0 || all.size() != counted + generated || tokens.size() != all.size())
    throw wrong("the reply has " + found);
  if (request.of_ids() && counted != given)
    throw wrong("the reply has " + found + ", where " + std::to_string(given) + " were sent");
  all.resize(counted);
  tokens.resize(counted);
  const std::size_t count =
      request.of_ids() ? request.continuation_ids().size() : tokens_spelling(request.continuation(), tokens);
  double sum = 0;
  for (std::size_t i = counted - count; i < counted; ++i) {
    double logprob = 0;
    if (all[i].get(logprob) || logprob > 0)
      throw wrong("a token of the continuation has no log-probability: the first of a prompt never has");
    sum += logprob;
  }
  return Score(sum, static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(counted));
}

}  // namespace espalier::backend::detail
