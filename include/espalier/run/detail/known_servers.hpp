#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/chat/server_dialect.hpp>
#include <espalier/backend/http/endpoint.hpp>
#include <espalier/backend/http/fleet.hpp>
#include <espalier/core/error.hpp>
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
          .watch = settings.servers.watch};
}

/// DIR/servers.json: the kinds of the run's model servers, by address, so that a resumed run need not ask again. A
/// matter of execution, never compared.
class KnownServers {
 public:
  /// With an empty path nothing is kept.
  explicit KnownServers(std::filesystem::path file) : file_(std::move(file)) {}
  /// Those of a run. `espalier serve` has no folder.
  explicit KnownServers(const Settings& settings)
      : file_(settings.output.folder.empty() ? "" : settings.output.folder + "/servers.json") {}

  /// The kind of the server at this address. Nothing if it is not known, or is kept under a name of another version.
  /// Throws InputError for a file that cannot be read.
  [[nodiscard]] std::optional<backend::Server> at(const std::string& address) const {
    const std::string kept = names()[address];
    for (const backend::detail::Dialect& dialect : backend::detail::dialects)
      if (kept == output::detail::quoted(dialect.name)) return dialect.server;
    return std::nullopt;
  }
  /// Keeps a server's kind. A server that was not identified, perhaps without a key, is asked again next time.
  void keep(const std::string& address, backend::Server server) const {
    if (server == backend::Server::other || file_.empty()) return;
    auto known = names();
    known.insert_or_assign(address, output::detail::quoted(backend::detail::dialect_of(server).name));
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    for (const auto& [name, text] : known) json.key(name).raw(text);
    json.end_object();
    write_file(file_, out + '\n');
  }

 private:
  [[nodiscard]] std::map<std::string, std::string> names() const {
    return std::filesystem::exists(file_) ? output::detail::read_flat_json(file_.string())
                                          : std::map<std::string, std::string>();
  }

  std::filesystem::path file_;
};

/// The kind of a model's server as the settings say.
inline std::optional<backend::Server> named_server(const std::string& url, const Settings& settings) {
  return backend::detail::server_named(url == settings.model.url ? settings.servers.kind : "auto");
}

/// The kind of a model's server as far as it is known without a connection: as the settings say, or as the folder of
/// the run remembers.
inline std::optional<backend::Server> known_server(const std::string& url, const Settings& settings) {
  if (const auto named = named_server(url, settings)) return named;
  return KnownServers(settings).at(backend::detail::Url(url).shown());
}

/// The kind of a model's server, which is asked where it is not known. Nothing if it cannot be reached. `turn` is
/// called at least every 50 ms and may throw.
inline std::optional<backend::Server> server_at(const std::string& url, const Settings& settings,
                                                const std::function<void()>& turn) {
  if (const auto known = known_server(url, settings)) return known;
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
  KnownServers(settings).keep(backend::detail::Url(url).shown(), found);
  return found;
}

}  // namespace espalier::run::detail
