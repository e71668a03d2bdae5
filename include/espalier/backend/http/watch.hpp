#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace espalier::backend {

/// Watches the servers of a run for a waiting user: reports at once, and only once, that a server has not replied for a
/// while. Knows which ones have sent no good reply yet. Only one thread at a time may call it.
class HttpWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Say = std::function<void(const std::string&)>;

  /// A server is reported after a twentieth of a request's deadline: 30 s of ten minutes. `say` gets what is new.
  explicit HttpWatch(double deadline_s, Say say = nullptr) : patience_s_(deadline_s / 20), say_(std::move(say)) {}
  void report_to(Say say) { say_ = std::move(say); }

  /// A message goes to a server.
  void sent(const std::string& server, Time now) {
    State& state = servers_[server];
    if (!state.replied && !state.since) state.since = now;
  }
  /// A message sent at `then` could not reach the server or has failed with `what`. `replied`: something came back.
  /// `good`: the server only asks for fewer requests.
  void failed(const std::string& server, const std::string& what, Time then, bool replied = false, bool good = false) {
    State& state = servers_[server];
    if (!state.since) state.since = then;
    state.what = what;
    state.replied |= replied;
    state.good |= good;
  }
  /// The server has replied. `good`: it did what it was asked, not only said that it is there or refused.
  void replied(const std::string& server, bool good = true) {
    servers_[server] = State{.replied = true, .good = good || servers_[server].good};
  }
  /// What is left of the seconds for a server that has sent no good reply, or with `silent` none at all. They count
  /// from the first message, and after a reply from the next one that fails. Infinity for other servers.
  [[nodiscard]] double patience(const std::string& server, double seconds, bool silent, Time now) const {
    const auto found = servers_.find(server);
    if (found == servers_.end()) return seconds;
    const State& state = found->second;
    if (state.good || (silent && state.replied)) return std::numeric_limits<double>::infinity();
    return seconds - std::chrono::duration<double>(now - state.since.value_or(now)).count();
  }
  /// Another server of a fleet is asked, and gets the same patience.
  void moved(const std::string& server) { servers_[server].since.reset(); }
  /// What to try where no reply was good.
  static std::string advice() {
    const std::string said =
        ". No reply of this server was good. Is it up, and are host, port, http or https, and path "
        "(a model's ends in /v1) right? `espalier doctor` asks each part once. --wait S (`wait`) "
        "waits for a server that starts";
    for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
      if (std::getenv(name) != nullptr) return said + ". Is the proxy right (http_proxy, no_proxy)?";
    return said;
  }
  /// A server without a good reply is given up, and the run with it: nothing is asked any more. The first one counts.
  void give_up(const BackendError& why) {
    if (!given_up_) given_up_ = why;
  }
  [[nodiscard]] const std::optional<BackendError>& given_up() const { return given_up_; }
  /// Forgets that, and servers without a good reply.
  void begin_anew() {
    given_up_.reset();
    std::erase_if(servers_, [](const auto& one) { return !one.second.good; });
  }
  /// Reports servers that have been silent too long.
  void look(Time now) {
    for (auto& [server, state] : servers_) {
      if (!state.since || !state.trouble.empty() ||
          std::chrono::duration<double>(now - *state.since).count() < patience_s_)
        continue;
      state.trouble = "no good reply for ";
      JsonWriter(state.trouble).value(patience_s_);
      state.trouble += " s: ";
      state.trouble += state.what.empty() ? server : state.what;
      if (say_) say_(std::string(state.trouble));
    }
  }
  /// Records something that readers of the results must know about a server. Only its first remark counts.
  void remark(const std::string& server, const std::string& what) {
    if (!remarks_.emplace(server, server + ": " + what).second) return;
    if (say_) say_(remarks_.at(server));
  }

  /// The current trouble, "" = none.
  [[nodiscard]] std::string trouble() const {
    for (const auto& [server, state] : servers_)
      if (!state.trouble.empty()) return state.trouble;
    return "";
  }
  [[nodiscard]] const std::map<std::string, std::string>& remarks() const { return remarks_; }

 private:
  struct State {
    bool replied = false, good = false;
    std::optional<Time> since = std::nullopt;  ///< start of the wait for its first reply, or of its failures
    std::string what = {};                     ///< the last failure
    std::string trouble = {};                  ///< the report as given
  };
  double patience_s_;
  Say say_;
  std::map<std::string, State> servers_;
  std::map<std::string, std::string> remarks_;  ///< one per server
  std::optional<BackendError> given_up_;
};

}  // namespace espalier::backend
