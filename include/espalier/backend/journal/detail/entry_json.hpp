#pragma once

#include <espalier/backend/journal/detail/codec.hpp>
#include <espalier/backend/journal/reader.hpp>
#include <espalier/core/json_writer.hpp>

#include <string>

namespace espalier::backend::detail {

inline const char* kind_name(Record::Kind kind) {
  switch (kind) {
    case Record::Kind::generation:
      return "generation";
    case Record::Kind::retrieval:
      return "retrieval";
    case Record::Kind::embedding:
      return "embedding";
    case Record::Kind::score:
      return "score";
  }
  return "unknown";
}

inline void append_json(JsonWriter& json, const Completion& completion) {
  json.begin_object()
      .field("text", completion.text)
      .field("finish", Completion::finishes[static_cast<std::size_t>(completion.finish)]);
  if (completion.damaged) json.field("damaged", true);
  if (completion.logprob) json.field("logprob", *completion.logprob);
  if (!completion.tokens.empty()) {
    json.key("tokens").begin_array();
    for (const Completion::TokenLogprob& token : completion.tokens)
      json.begin_array().value(token.text).value(token.logprob).end_array();
    json.end_array();
  }
  json.end_object();
}
inline void append_json(JsonWriter& json, const Passages& passages) {
  json.begin_array();
  for (const Passage& passage : passages)
    json.begin_object()
        .field("id", passage.id())
        .field("title", passage.title())
        .field("text", passage.text())
        .field("score", passage.score())
        .end_object();
  json.end_array();
}
inline void append_json(JsonWriter& json, const Embedding& embedding) {
  json.begin_array();
  for (const float number : embedding) json.value(number);
  json.end_array();
}

inline void append_json(JsonWriter& json, const Score& score) {
  json.begin_object()
      .field("logprob", score.logprob)
      .field("tokens", score.tokens)
      .field("prompt_tokens", score.prompt_tokens)
      .end_object();
}

/// A record as one JSON object: request, answer and cost. Throws Error for bytes that are not an answer.
inline std::string entry_json(const JournalReader::Entry& entry) {
  std::string out;
  JsonWriter json(out);
  const RecordNote& note = entry.record.note;
  json.begin_object()
      .field("key", entry.record.key.hex())
      .field("kind", kind_name(entry.record.kind))
      .field("source", note.source);
  json.field("purpose", note.purpose).field("created", entry.created);
  json.key("request").raw(note.request ? note.request->json : "null");
  if (entry.record.kind == Record::Kind::generation) {
    json.field("seed", note.seed).field("sample", note.sample).field("prompt_tokens", note.prompt_tokens);
    json.field("completion_tokens", note.completion_tokens).field("attempts", note.attempts);
  }
  json.field("microseconds", note.microseconds).key("response");
  switch (entry.record.kind) {
    case Record::Kind::generation:
      append_json(json, decode<Completion>(entry.record.value));
      break;
    case Record::Kind::retrieval:
      append_json(json, decode<Passages>(entry.record.value));
      break;
    case Record::Kind::embedding:
      append_json(json, decode<Embedding>(entry.record.value));
      break;
    case Record::Kind::score:
      append_json(json, decode<Score>(entry.record.value));
      break;
    default:
      throw Error("the record is of an unknown kind");
  }
  json.end_object();
  return out;
}

}  // namespace espalier::backend::detail
