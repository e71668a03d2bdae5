#pragma once

#include <espalier/core/scheduler.hpp>
#include <espalier/method/method.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/detail/prompt_trial.hpp>
#include <espalier/run/settings.hpp>
#ifdef ESPALIER_HAS_CURL
#include <espalier/backend/detail/chat/openai_request.hpp>
#include <espalier/run/detail/server_at.hpp>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// A model that writes each prompt as a request to the server at an address, and sends none. Its replies are empty, or
/// the reason why this server cannot be asked.
class WrittenOnly {
 public:
  /// The settings must outlive it. With a `turn` a server of an unknown kind is asked what it is, where the portable
  /// core of the requests is not enough.
  WrittenOnly(const Settings& settings, std::string url, std::function<void()> turn)
      : settings_(settings), url_(std::move(url)), turn_(std::move(turn)) {}

  /// Whether the model at an address is a server that gets such requests.
  static bool asks([[maybe_unused]] const std::string& url) {
#ifdef ESPALIER_HAS_CURL
    return is_url(url) && !is_scorer(url);
#else
    return false;
#endif
  }

  std::vector<Outcome<Completion>> operator()(std::span<const Prompt> prompts) {
    std::vector<Outcome<Completion>> replies;
    for (std::size_t i = 0; i < prompts.size(); ++i) replies.push_back(written(prompts.subspan(i, 1)));
    return replies;
  }

 private:
#ifdef ESPALIER_HAS_CURL
  Outcome<Completion> written(std::span<const Prompt> prompt) {
    if (!asks(url_)) return Completion("");
    if (!server_) server_ = known_server(url_, settings_, settings_.output.folder);
    auto refused = refusal_of(prompt, server_.value_or(backend::Server::other));
    if (refused && !server_) {
      if (turn_) server_ = server_at(url_, settings_, settings_.output.folder, turn_);
      refused = server_ ? refusal_of(prompt, *server_) : nullptr;
    }
    if (refused) return refused;
    return Completion("");
  }
  [[nodiscard]] std::exception_ptr refusal_of(std::span<const Prompt> prompt, backend::Server server) const {
    backend::detail::OpenAiRequest request("-", settings_.model.api == "chat", settings_.model.extra_body,
                                           settings_.servers.stream, settings_.model.thinking);
    try {
      (void)request.write(prompt, backend::detail::dialect_of(server));
    } catch (const BackendError&) {
      return std::current_exception();
    }
    return nullptr;
  }
  std::optional<backend::Server> server_;
#else
  static Outcome<Completion> written(std::span<const Prompt>) { return Completion(""); }
#endif

  const Settings& settings_;
  std::string url_;
  std::function<void()> turn_;
};

/// Throws std::invalid_argument if a prompt that the task can ask cannot be sent to its server, such as one with a
/// grammar to a server without a field for it. All questions would stay open. `turn` is called while a server is asked
/// what it is. Without it none is asked.
inline void check_servers(const Settings& settings, const method::Method& method,
                          std::function<void()> turn = nullptr) {
  const auto asks = [](const Settings::ModelFor& other) { return WrittenOnly::asks(other.model); };
  const bool any = WrittenOnly::asks(settings.model.url) || std::ranges::any_of(settings.model.others, asks);
  if (!any || settings.task == Settings::Task::annotate || settings.journal.replay) return;
  Scheduler scheduler;
  const auto port = [&](const std::string& url) { return scheduler.model(WrittenOnly(settings, url, turn)); };
  const auto no_passages = [](std::span<const Query> queries) { return std::vector<Passages>(queries.size()); };
  method::Ports ports(port(settings.model.url), scheduler.retriever(no_passages));
  for (const Settings::ModelFor& other : settings.model.others)
    ports.models.insert_or_assign(other.purpose, port(other.model));
  const rag::PromptSet prompts = method.prompts();
  const rag::Sampler sampler = method.sampler(ports, prompts).drawing_once();
  for (const Protocol::Purpose& purpose : prompts.protocol()->purposes) {
    if (!method.asks(purpose.name, settings.task == Settings::Task::answer)) continue;
    Ledger ledger;
    std::vector<Task<std::vector<rag::Sampler::Sample>>> draws;
    draws.push_back(
        sampler.draw(purpose.name, sample_slots(purpose, *prompts.protocol()), 1, Context(Seed(1), 0, &ledger)));
    const auto replies = scheduler.run_all(std::move(draws));
    if (replies.front().ok()) continue;
    try {
      std::rethrow_exception(replies.front().error());
    } catch (const BackendError& error) {
      throw std::invalid_argument(
          fmt::format("{} cannot ask its prompt '{}': {}", settings.method, purpose.name, error.what()));
    }
  }
}

}  // namespace espalier::run::detail
