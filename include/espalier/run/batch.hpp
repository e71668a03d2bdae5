#pragma once

#include <espalier/backend/chat/openai_request.hpp>
#include <espalier/backend/chat/reply.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/backend/journal.hpp>
#include <espalier/core/service.hpp>
#include <espalier/llm/prompt.hpp>
#include <espalier/output/json_line.hpp>

#include <charconv>
#include <cstdint>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// A model that answers later: a batch function that writes every request to a file once, for OpenAI's batch API or
/// vLLM's run-batch, and answers none. Behind a journal it sees only requests without a stored answer.
class BatchRequests {
 public:
  /// Lines are appended to `file`. `fingerprint` is that of the model as an online service.
  BatchRequests(backend::detail::OpenAiRequest request, const backend::detail::Dialect& dialect, Hash fingerprint,
                const std::string& file)
      : request_(std::move(request)),
        dialect_(dialect),
        fingerprint_(fingerprint),
        name_(file),
        file_(file, std::ios::binary | std::ios::app) {
    if (!file_) throw InputError(name_, 0, "", "cannot be written");
  }

  std::vector<Outcome<Completion>> operator()(std::span<const Prompt> prompts) {
    std::vector<Outcome<Completion>> outcomes;
    for (std::size_t i = 0; i < prompts.size(); ++i) outcomes.emplace_back(write(prompts.subspan(i, 1)));
    if (!file_.flush()) throw InputError(name_, 0, "", "cannot be written");
    return outcomes;
  }

 private:
  /// The reason why there is no answer: it comes later, or this server does not support the request.
  std::exception_ptr write(std::span<const Prompt> prompt) {
    const Hash key = backend::detail::journal_key<Completion>(fingerprint_, prompt.front());
    try {
      const std::string body = request_.write(prompt, dialect_);
      if (written_.insert(key).second) {
        const bool chat = request_.chat(prompt.front().body());
        std::string line;
        JsonWriter json(line);
        json.begin_object().field("custom_id", key.hex()).field("method", "POST");
        json.field("url", chat ? "/v1/chat/completions" : "/v1/completions").key("body").raw(body).end_object();
        file_ << line << '\n';
      }
      return std::make_exception_ptr(
          BackendError("waits for the answers to a batch of requests", BackendError::Kind::permanent));
    } catch (const BackendError&) {
      return std::current_exception();
    }
  }

  backend::detail::OpenAiRequest request_;
  backend::detail::Dialect dialect_;
  Hash fingerprint_;
  std::string name_;
  std::ofstream file_;
  std::unordered_set<Hash> written_;
};

struct BatchCounts {
  std::vector<std::string> stored;                          ///< keys whose answers are now in the journal
  std::vector<std::pair<std::string, std::string>> failed;  ///< keys without a usable answer, and why
  std::size_t unknown = 0;                                  ///< lines that match no request of this run
  std::string doubt;                                        ///< about ignored token counts, "" = none
};

/// Reads a key from 32 hexadecimal digits.
inline std::optional<Hash> read_key(std::string_view text) {
  Hash key;
  if (text.size() != 32) return std::nullopt;
  const auto part = [&](std::size_t at, std::uint64_t& word) {
    const char* const end = text.data() + at + 16;
    return std::from_chars(text.data() + at, end, word, 16).ptr == end;
  };
  if (!part(0, key.high) || !part(16, key.low) || key.hex() != text) return std::nullopt;
  return key;
}

/// A request that was sent: the part of its prompt that reading the answer needs, and the journal's note of it.
struct SentRequest {
  Prompt prompt;
  backend::detail::RecordNote note;

  static SentRequest of(const output::detail::JsonLine& body) {
    Sampling sampling;
    sampling.stop = body.texts("stop");
    sampling.logprobs = sampling.token_logprobs = sampling.keep_tokens = body.has("logprobs");  // asked for alike
    SentRequest sent{Prompt("", sampling), {}};
    sent.note.source = body.text("model");
    sent.note.attempts = 1;
    backend::detail::JsonFields asked;
    for (const auto [name, value] : body.as_object())
      if (name != "model" && name != "seed") asked.set_json(name, simdjson::minify(value));
    sent.note.request = std::make_shared<const backend::detail::RequestText>(asked.open_object() + '}');
    return sent;
  }
};

/// The answer in a line of batch responses: the reply's, or that the prompt is too long for the model's context.
/// `stops`: as for ChatReply::completions. Throws BackendError for a failure.
inline Completion batch_answer(const output::detail::JsonLine& line, const Prompt& prompt, const std::string& stops,
                               std::string& doubt) {
  const auto& dialect = backend::detail::dialect_of(backend::Server::openai);  // the form of the responses
  try {
    const auto error = backend::detail::field<simdjson::dom::element>(line.element(), "error");
    const bool told = error && error->is_object();
    if (!line.has("response")) {
      backend::detail::throw_if_error(told ? *error : line.element(), told);
      throw BackendError("no response");
    }
    const auto response = line.object("response");
    const long status = response.has("status_code") ? static_cast<long>(response.count("status_code")) : 200;
    if (status / 100 != 2)  // vLLM says why beside the response
      throw backend::detail::status_error(
          status, told ? error : backend::detail::field<simdjson::dom::element>(response.element(), "body"));
    backend::detail::throw_if_error(line.element());
    auto reply = backend::detail::ChatReply::whole(response.object("body").element(), dialect);
    auto answers = reply.completions(std::span(&prompt, 1), doubt, stops);
    if (!answers.front()) throw BackendError("a reply without its first choice");
    return std::move(*answers.front());
  } catch (const BackendError& error) {
    if (error.kind() != BackendError::Kind::too_long) throw;
    return backend::detail::too_long(std::string(": ") + error.what(), false);
  }
}

/// Adds the answers of a file of batch responses, in OpenAI's form, to the journal. A line has custom_id, response
/// {status_code, body} and error. An answer that is already stored is kept. `stops`: as for batch_answer. Throws
/// InputError that names file, line and field, and StoreError.
inline BatchCounts ingest_batch(const std::vector<std::string>& request_files, const std::string& response_file,
                                backend::Store& journal, const std::string& stops = "") {
  constexpr std::size_t rows_a_transaction = 256;
  std::unordered_map<Hash, SentRequest> requests;
  for (const std::string& file : request_files)
    output::detail::for_each_line(file, [&](const output::detail::JsonLine& line) {
      const auto key = read_key(line.text("custom_id"));
      if (!key) line.fail("custom_id", "is not the key of a request");
      requests.insert_or_assign(*key, SentRequest::of(line.object("body")));
      return true;
    });
  BatchCounts counts;
  std::vector<backend::Record> records;
  const auto store = [&] {
    journal.put(records);
    for (const auto& record : records) counts.stored.push_back(record.key.hex());
    records.clear();
  };
  output::detail::for_each_line(response_file, [&](const output::detail::JsonLine& line) {
    const auto key = read_key(line.text("custom_id"));
    const auto request = key ? requests.find(*key) : requests.end();
    if (request == requests.end()) {
      ++counts.unknown;
      return true;
    }
    try {
      const Completion answer = batch_answer(line, request->second.prompt, stops, counts.doubt);
      backend::detail::RecordNote note = request->second.note;
      note.prompt_tokens = answer.prompt_tokens;
      note.completion_tokens = answer.completion_tokens;
      records.emplace_back(*key, backend::Record::Kind::generation, backend::detail::encode(answer), std::move(note));
      if (records.size() == rows_a_transaction) store();
    } catch (const BackendError& error) {
      counts.failed.emplace_back(key->hex(), error.what());
    }
    return true;
  });
  store();
  return counts;
}

}  // namespace espalier::run::detail
