#pragma once

#include <espalier/backend/detail/chat/server_dialect.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/detail/known_servers.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// The kind of a model's server as far as it is known without a connection: as the settings say, or as the folder of
/// the run remembers.
inline std::optional<backend::Server> known_server(const std::string& url, const Settings& settings,
                                                   const std::filesystem::path& folder) {
  if (const auto named = backend::detail::server_named(url == settings.model.url ? settings.servers.kind : "auto"))
    return named;
  return KnownServers(folder / "servers.json").at(backend::detail::Url(url).shown());
}

/// The kind of a model's server, which is asked where it is not known. Nothing if it cannot be reached. `turn` is
/// called at least every 50 ms and may throw.
inline std::optional<backend::Server> server_at(const std::string& url, const Settings& settings,
                                                const std::filesystem::path& folder,
                                                const std::function<void()>& turn) {
  if (const auto known = known_server(url, settings, folder)) return known;
  const backend::HttpOptions options = http_options(settings);
  const auto client = std::make_shared<backend::HttpClient>();
  auto fleet = std::make_shared<backend::detail::HttpFleet>(std::vector<backend::detail::Replica>{{url}}, options);
  const std::string key = backend::detail::read_api_key("OPENAI_API_KEY", settings.servers.api_key_file);
  backend::detail::ServerDialect asked(std::nullopt, std::move(fleet), key, options, nullptr, client);
  try {
    while (!asked.known()) {
      client->run_once(std::chrono::milliseconds(50));
      turn();
    }
  } catch (const BackendError&) {
    return std::nullopt;  // the run itself will say so
  }
  const backend::Server found = asked.dialect().server;
  KnownServers(folder / "servers.json").keep(backend::detail::Url(url).shown(), found);
  return found;
}

}  // namespace espalier::run::detail
