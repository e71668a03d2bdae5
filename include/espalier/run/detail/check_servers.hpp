#pragma once

#include <espalier/llm/scheduler.hpp>
#include <espalier/method/method.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/prompt_trial.hpp>
#include <espalier/run/settings.hpp>
#ifdef ESPALIER_HAS_CURL
#include <espalier/backend/chat/openai_request.hpp>
#include <espalier/run/detail/known_servers.hpp>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

#ifdef ESPALIER_HAS_CURL

/// A model that writes each prompt as a request to the server at an address, and sends none. Its replies are empty. It
/// throws a BackendError where this server cannot be asked.
class WrittenOnly {
 public:
  /// The settings must outlive it. With a `turn` a server of an unknown kind is asked what it is, where the portable
  /// core of the requests is not enough.
  WrittenOnly(const Settings& settings, std::string url, std::function<void()> turn)
      : settings_(settings), url_(std::move(url)), turn_(std::move(turn)) {}

  std::vector<std::string> operator()(std::span<const Prompt> prompts) {
    for (std::size_t i = 0; i < prompts.size() && is_model_server(url_); ++i) write(prompts.subspan(i, 1));
    return std::vector<std::string>(prompts.size());
  }

 private:
  void write(std::span<const Prompt> prompt) {
    if (!server_) server_ = known_server(url_, settings_);
    try {
      return write(prompt, server_.value_or(backend::Server::other));
    } catch (const BackendError&) {
      if (server_) throw;
    }
    if (turn_) server_ = server_at(url_, settings_, turn_);
    if (server_) write(prompt, *server_);
  }
  void write(std::span<const Prompt> prompt, backend::Server server) const {
    backend::detail::OpenAiRequest request("-", settings_.model.api == "chat", settings_.model.extra_body,
                                           settings_.servers.stream, settings_.model.thinking);
    (void)request.write(prompt, backend::detail::dialect_of(server));
  }

  const Settings& settings_;
  std::string url_;
  std::function<void()> turn_;
  std::optional<backend::Server> server_;
};

/// Throws std::invalid_argument if a prompt that the task can ask cannot be sent to its server, such as one with a
/// grammar to a server without a field for it. All questions would stay open. `turn` is called while a server is asked
/// what it is. Without it none is asked.
inline void check_servers(const Settings& settings, const method::Method& method,
                          const std::function<void()>& turn = nullptr) {
  const auto asks = [](const Settings::ModelFor& one) { return is_model_server(one.model); };
  if (std::ranges::none_of(settings.models(), asks)) return;
  if (settings.task == Settings::Task::annotate || settings.journal.replay) return;
  Scheduler scheduler;
  const method::Ports ports = trial_ports(scheduler, settings, [&](const Settings::ModelFor& one) {
    return scheduler.model(WrittenOnly(settings, one.model, turn));
  });
  const rag::PromptSet prompts = method.prompts();
  const rag::Sampler sampler = method.sampler(ports, prompts).drawing_once();
  for (const Protocol::Purpose& purpose : prompts.protocol()->purposes) {
    if (!method.asks(purpose.name, settings.task == Settings::Task::answer)) continue;
    TriedPrompt tried{purpose};
    try_prompts({&tried}, scheduler, sampler, *prompts.protocol(), Seed(1));
    if (tried.failure)
      throw std::invalid_argument(
          fmt::format("{} cannot ask its prompt '{}': {}", settings.method, purpose.name, tried.failure->what()));
  }
}

#else

/// Without a client no server is asked.
inline void check_servers(const Settings&, const method::Method&, const std::function<void()>& = nullptr) {}

#endif

}  // namespace espalier::run::detail
