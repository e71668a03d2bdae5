#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/output/detail/flat_json.hpp>
#include <espalier/run/detail/jsonl.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace espalier::run::detail {

/// DIR/servers.json: the kinds of the run's model servers, by address, so that a resumed run need not ask again. A
/// matter of execution, never compared.
class KnownServers {
 public:
  /// With an empty path nothing is kept.
  explicit KnownServers(std::filesystem::path file) : file_(std::move(file)) {}

  /// The kind of the server at this address, if it is known. Throws InputError for a file that cannot be read.
  [[nodiscard]] std::optional<backend::Server> at(const std::string& address) const {
    const auto known = names();
    const auto found = known.find(address);
    if (found == known.end()) return std::nullopt;
    for (const backend::detail::Dialect& dialect : backend::detail::dialects)
      if (found->second == quoted(dialect.name)) return dialect.server;
    throw InputError(file_.string(), 0, address, fmt::format("no sort of server is called {}", found->second));
  }
  /// Keeps a server's kind. A server that was not identified, perhaps without a key, is asked again next time.
  void keep(const std::string& address, backend::Server server) const {
    if (server == backend::Server::other || file_.empty()) return;
    auto known = names();
    known.insert_or_assign(address, quoted(backend::detail::dialect_of(server).name));
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    for (const auto& [name, text] : known) json.key(name).raw(text);
    json.end_object();
    AtomicFile target(file_.string());
    target.write(out + '\n');
    target.commit();
  }

 private:
  [[nodiscard]] std::map<std::string, std::string> names() const {
    return std::filesystem::exists(file_) ? output::detail::read_flat_json(file_.string())
                                          : std::map<std::string, std::string>();
  }
  static std::string quoted(std::string_view text) {
    std::string json;
    JsonWriter(json).value(text);
    return json;
  }

  std::filesystem::path file_;
};

}  // namespace espalier::run::detail
