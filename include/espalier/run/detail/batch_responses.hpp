#pragma once

#include <espalier/backend/detail/chat/reply.hpp>
#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/backend/journal.hpp>
#include <espalier/output/detail/json_line.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// The result of reading a file of batch responses.
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

/// A request that was sent: the part of its prompt that is needed to read the answer (stop strings, log-probabilities),
/// and the journal's note of it.
class SentRequest {
 public:
  explicit SentRequest(const output::detail::JsonLine& body) : prompt("", sampling(body)) {
    note.source = body.text("model");
    note.attempts = 1;
    backend::detail::JsonFields asked;
    for (const auto [name, value] : body.as_object())
      if (name != "model" && name != "seed") asked.set_json(name, simdjson::minify(value));
    note.request = std::make_shared<const backend::detail::RequestText>(asked.open_object() + '}');
  }
  Prompt prompt;
  backend::detail::RecordNote note;

 private:
  static Sampling sampling(const output::detail::JsonLine& body) {
    Sampling sampling;
    sampling.stop = body.texts("stop");
    sampling.logprobs = body.has("logprobs");
    return sampling;
  }
};

/// The requests of batch files by key. Throws InputError that names file, line and field.
inline std::unordered_map<Hash, SentRequest> read_batch_requests(const std::vector<std::string>& files) {
  std::unordered_map<Hash, SentRequest> requests;
  for (const std::string& file : files)
    output::detail::for_each_line(file, [&](const output::detail::JsonLine& line) {
      const auto key = read_key(line.text("custom_id"));
      if (!key) line.fail("custom_id", "is not the key of a request");
      requests.insert_or_assign(*key, SentRequest(line.object("body")));
      return true;
    });
  return requests;
}

/// Adds the answers of a file of batch responses, in OpenAI's form, to the journal. A line has custom_id, response
/// {status_code, body} and error. An answer that is already stored is kept. Throws InputError that names file, line and
/// field, and StoreError.
inline BatchCounts ingest_batch(const std::vector<std::string>& request_files, const std::string& response_file,
                                backend::Store& journal) {
  constexpr std::size_t rows_a_transaction = 256;
  const backend::detail::Dialect& dialect =
      backend::detail::dialect_of(backend::Server::openai);  // the form of the responses
  const auto requests = read_batch_requests(request_files);
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
      if (!line.has("response"))
        throw BackendError(line.has("error") ? line.object("error").text_or("message", "no response") : "no response");
      const auto response = line.object("response");
      if (response.has("status_code") && response.count("status_code") / 100 != 2)
        throw BackendError(fmt::format("HTTP {}", response.count("status_code")));
      auto reply = backend::detail::ChatReply::whole(response.object("body").element(), dialect);
      auto answers = reply.completions(std::span(&request->second.prompt, 1), counts.doubt);
      if (!answers.front()) throw BackendError("a reply without its first choice");
      backend::detail::RecordNote note = request->second.note;
      note.prompt_tokens = answers.front()->prompt_tokens;
      note.completion_tokens = answers.front()->completion_tokens;
      records.emplace_back(*key, backend::Record::Kind::generation, backend::detail::encode(*answers.front()),
                           std::move(note));
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
