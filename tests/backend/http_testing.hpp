#pragma once

#include <espalier/backend/http/endpoint.hpp>
#include <espalier/core/service.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/llm/prompt.hpp>

#include "fault_server.hpp"

#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::test {

/// What tests of services over HTTP name: `using namespace test::names`.
namespace names {
using namespace espalier;
using namespace espalier::backend;
using namespace espalier::backend::detail;
using test::Answer;
using test::FaultServer;
using test::Received;
using Fault = Answer::Fault;
using Role = EncodeRequest::Role;
}  // namespace names

/// Options for a server that fails on purpose: waits of a millisecond between attempts.
inline backend::HttpOptions quick(backend::HttpOptions options = {}) {
  options.timeout_s = 120;
  options.deadline_s = 300;
  options.backoff_s = 0.001;
  options.backoff_limit_s = 0.002;
  return options;
}

/// Options of a service for the model "m" at that address, without a key.
template <class Options>
Options served_at(const std::string& url, Options options = {}) {
  options.url = url;
  options.model = "m";
  options.api_key_env = "";
  options.http = quick(std::move(options.http));
  return options;
}

/// What a chat or a raw prompt says.
inline std::shared_ptr<const PromptBody> body(std::vector<PromptBody::Message> messages, Sampling sampling = {}) {
  PromptBody body;
  body.messages = std::move(messages);
  body.sampling = std::move(sampling);
  return std::make_shared<const PromptBody>(std::move(body));
}

inline Prompt of_question(std::uint64_t question, const std::string& text, double heat = 0, std::uint64_t seed = 1) {
  PromptBody body;
  body.messages = {{"user", text}};
  body.sampling.temperature = heat;
  body.affinity = question;
  return {std::make_shared<const PromptBody>(std::move(body)), seed, 0};
}

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Asks for everything at once and returns the outcomes in order.
template <class In, class Out>
std::vector<Outcome<Out>> ask(Service<In, Out>& service, const std::vector<In>& requests) {
  for (std::size_t i = 0; i < requests.size(); ++i) service.submit(i, requests[i]);
  std::map<Ticket, Outcome<Out>> arrived;
  while (arrived.size() < requests.size())
    for (auto& reply : service.poll(std::chrono::seconds(1))) arrived.emplace(reply.ticket, reply.outcome);
  std::vector<Outcome<Out>> outcomes;
  for (auto& [ticket, outcome] : arrived) outcomes.push_back(outcome);
  return outcomes;
}

/// What a server got to read first, but for llama.cpp's /props, "" if nothing was sent, and what came of its replies.
template <class Out>
struct Exchange {
  Received request;
  std::vector<Outcome<Out>> outcomes;
  [[nodiscard]] const Outcome<Out>& outcome() const { return outcomes.front(); }
};
template <class Out>
Exchange(Received, std::vector<Outcome<Out>>) -> Exchange<Out>;

/// Asks a service with such options, at `path` of a server that always sends `reply`, at most twice.
template <class Asked, class Options, class In>
auto exchange(const Options& options, const std::string& path, const std::vector<In>& requests,
              const std::string& reply, int status = 200) {
  FaultServer server(Answer{.body = reply, .status = status});
  Options chosen = served_at(server.url(path), options);
  chosen.http.max_attempts = 2;
  Asked service(std::move(chosen));
  auto outcomes = ask(service, requests);
  for (const Received& request : server.received())
    if (request.path != "/props") return Exchange{request, std::move(outcomes)};
  return Exchange{Received(), std::move(outcomes)};
}

/// The BackendError of an outcome: its kind and its message. A value has the message "".
struct Failure {
  BackendError::Kind kind = BackendError::Kind::transport;
  std::string message = {};
};
template <class Out>
Failure failure_of(const Outcome<Out>& outcome) {
  if (outcome.ok()) return {};
  try {
    std::rethrow_exception(outcome.error());
  } catch (const BackendError& error) {
    return {error.kind(), error.what()};
  }
}

}  // namespace espalier::test
