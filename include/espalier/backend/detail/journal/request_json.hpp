#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/core/passage.hpp>
#include <espalier/core/prompt.hpp>

#include <string>

namespace espalier::backend::detail {

/// A request as a journal shows it to people: messages and sampling fields, without the fields that differ between
/// samples.
inline std::string request_json(const Prompt& prompt) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("messages").begin_array();
  for (const PromptBody::Message& message : prompt.body().messages)
    json.begin_object().field("role", message.role).field("content", message.content).end_object();
  const Sampling& sampling = prompt.sampling();
  json.end_array()
      .field("temperature", sampling.temperature)
      .field("top_p", sampling.top_p)
      .field("top_k", sampling.top_k);
  json.field("min_p", sampling.min_p).field("max_tokens", sampling.max_tokens).key("stop").array(sampling.stop);
  json.field("logprobs", sampling.logprobs);
  if (sampling.token_logprobs) json.field("token_logprobs", true);
  if (sampling.tools) json.field("tools", true);
  if (!sampling.extra_body.empty()) json.field("extra_body", sampling.extra_body);
  if (!sampling.grammar.empty()) json.field("grammar", sampling.grammar);
  if (!prompt.body().ids.empty()) json.key("ids").array(prompt.body().ids);
  json.end_object();
  return out;
}

inline std::string request_json(const Query& query) {
  std::string out;
  JsonWriter(out).begin_object().field("query", query.text).field("k", query.k).end_object();
  return out;
}

inline std::string request_json(const EncodeRequest& request) {
  std::string out;
  const char* role = request.role == EncodeRequest::Role::query ? "query" : "passage";
  JsonWriter(out).begin_object().field("text", request.text).field("role", role).end_object();
  return out;
}

}  // namespace espalier::backend::detail
