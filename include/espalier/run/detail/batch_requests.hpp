#pragma once

#include <espalier/backend/detail/chat/openai_request.hpp>
#include <espalier/backend/journal.hpp>
#include <espalier/core/prompt.hpp>
#include <espalier/core/service.hpp>

#include <exception>
#include <fstream>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// One line of a batch file for OpenAI's batch API or vLLM's run-batch. Its id is the request's journal key.
inline std::string batch_line(Hash key, bool chat, std::string_view body) {
  std::string line;
  JsonWriter json(line);
  json.begin_object().field("custom_id", key.hex()).field("method", "POST");
  json.field("url", chat ? "/v1/chat/completions" : "/v1/completions").key("body").raw(body).end_object();
  line += '\n';
  return line;
}

/// A model that answers later: a batch function that writes every request to a file once, and answers none. Behind a
/// journal it sees only requests without a stored answer.
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
      if (written_.insert(key).second) file_ << batch_line(key, request_.chat(prompt.front().body()), body);
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

}  // namespace espalier::run::detail
