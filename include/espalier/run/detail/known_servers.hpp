#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/chat/server_dialect.hpp>
#include <espalier/backend/http/endpoint.hpp>
#include <espalier/backend/http/fleet.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/output/flat_json.hpp>
#include <espalier/run/settings.hpp>
#include <espalier/run/work_folder.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

inline backend::HttpOptions http_options(const Settings& settings) {
  return {.max_in_flight = settings.execution.in_flight,
          .timeout_s = settings.servers.timeout,
          .deadline_s = settings.servers.deadline,
          .max_attempts = settings.servers.attempts,
          .wait_s = settings.servers.wait,
          .watch = settings.servers.watch};
}

/// DIR/servers.json: the kinds of the run's model servers, by address, so that a resumed run need not ask again. A
/// matter of execution, never compared. `espalier serve` has no folder and keeps nothing: "".
inline std::string servers_file(const Settings& settings) {
  return settings.output.folder.empty() ? "" : settings.output.folder + "/servers.json";
}

/// The kinds in such a file as JSON. Throws InputError for a file that cannot be read.
inline std::map<std::string, std::string> kept_servers(const std::string& file) {
  return std::filesystem::exists(file) ? output::detail::read_flat_json(file) : std::map<std::string, std::string>();
}

/// Keeps a server's kind. A server that was not identified, perhaps without a key, is asked again next time.
inline void keep_server(const std::string& file, const std::string& address, backend::Server server) {
  if (server == backend::Server::other || file.empty()) return;
  auto known = kept_servers(file);
  known.insert_or_assign(address, output::detail::quoted(backend::detail::dialect_of(server).name));
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  for (const auto& [name, text] : known) json.key(name).raw(text);
  json.end_object();
  write_file(file, out + '\n');
}

/// The kind of a model's server as the settings say.
inline std::optional<backend::Server> named_server(const std::string& url, const Settings& settings) {
  return backend::detail::server_named(url == settings.model.url ? settings.servers.kind : "auto");
}

/// The kind of a model's server as far as it is known without a connection: as the settings say, or as the folder of
/// the run remembers. A name of another version says nothing.
inline std::optional<backend::Server> known_server(const std::string& url, const Settings& settings) {
  if (const auto named = named_server(url, settings)) return named;
  const std::string kept = kept_servers(servers_file(settings))[backend::detail::Url(url).shown()];
  for (const backend::detail::Dialect& dialect : backend::detail::dialects)
    if (kept == output::detail::quoted(dialect.name)) return dialect.server;
  return std::nullopt;
}

/// The kind of a model's server, asked if need be. Nothing if it cannot tell. `turn`: every 50 ms, may throw.
inline std::optional<backend::Server> server_at(const std::string& url, const Settings& settings,
                                                const std::function<void()>& turn) {
  if (const auto known = known_server(url, settings)) return known;
  const backend::HttpOptions options = http_options(settings);
  const auto client = std::make_shared<backend::HttpClient>();
  auto fleet = std::make_shared<backend::detail::HttpFleet>(std::vector<backend::detail::Replica>{{url}}, options);
  const std::string key = backend::detail::read_api_key("OPENAI_API_KEY", settings.servers.api_key_file);
  std::optional<backend::Server> found;
  const auto tell = [&](backend::Server told) { found = told; };
  backend::detail::ServerDialect asked(std::nullopt, std::move(fleet), key, options, tell, client);
  try {
    while (!asked.known()) {
      client->run_once(std::chrono::milliseconds(50));
      turn();
    }
  } catch (const BackendError&) {  // the run itself will say so
  }
  if (found) keep_server(servers_file(settings), backend::detail::Url(url).shown(), *found);
  return found;
}

}  // namespace espalier::run::detail
