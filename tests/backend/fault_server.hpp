#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace espalier::test {

/// What a client sent.
struct Received {
  std::string path;     ///< the request target as sent
  std::string headers;  ///< lower-case lines
  std::string body;
  int connection = 0;  ///< number of the connection, from 0
};

/// What the server does with a request.
struct Answer {
  enum class Fault {
    none,
    close,    ///< close the connection without a word
    reset,    ///< send half of the reply, then reset the connection
    stall,    ///< send nothing until the client goes away
    drip,     ///< send a byte every millisecond
    endless,  ///< send the body, and then blanks until the client goes away
  };
  std::string body = {};
  int status = 200;
  std::string headers = {};  ///< whole lines, each with its end of line
  Fault fault = Fault::none;
  std::chrono::microseconds delay{0};
};

/// An HTTP/1.1 server on the loopback that does what a script says, one thread a connection. Stops when destroyed.
class FaultServer {
 public:
  /// Gets the requests one at a time, with the number of the request, from 0.
  using Script = std::function<Answer(const Received&, std::size_t number)>;

  explicit FaultServer(Answer always)
      : FaultServer([always = std::move(always)](const Received&, std::size_t) { return always; }) {}
  explicit FaultServer(Script script) : script_(std::move(script)) {
    setenv("no_proxy", "127.0.0.1", 1);  // a proxy of the machine is not for these tests
    listener_ = open_socket(port_);
    if (listen(listener_, 512) != 0) throw std::runtime_error("cannot listen on the loopback");
    acceptor_ = std::thread([this] { accept_all(); });
  }
  FaultServer(const FaultServer&) = delete;
  FaultServer& operator=(const FaultServer&) = delete;
  ~FaultServer() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
    }
    for (auto& thread : threads_) thread.join();
    close(listener_);
  }
  [[nodiscard]] std::string url(const std::string& path = "") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  /// Requests so far, in order of arrival.
  [[nodiscard]] std::vector<Received> received() const {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  /// Waits until the client has closed `count` connections on which the server stalled; false after two minutes.
  [[nodiscard]] bool wait_for_aborts(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(2), [&] { return aborts_ >= count; });
  }
  /// A loopback address where nobody listens. Its socket stays bound until the process ends.
  static std::string refusing_url() {
    std::uint16_t port = 0;
    open_socket(port);
    return "http://127.0.0.1:" + std::to_string(port);
  }

 private:
  static int open_socket(std::uint16_t& port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(socket, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0)
      throw std::runtime_error("no free port on the loopback");
    port = ntohs(address.sin_port);
    return socket;
  }
  void accept_all() {
    for (int connection = 0;; ++connection) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const std::lock_guard lock(mutex_);
      sockets_.insert(socket);
      threads_.emplace_back([this, socket, connection] { serve(socket, connection); });
    }
  }
  void serve(int socket, int connection) {
    std::string input;
    Received request;
    request.connection = connection;
    while (read_request(socket, input, request) && answer(socket, request)) {
    }
    const std::lock_guard lock(mutex_);
    sockets_.erase(socket);
    close(socket);
  }
  static bool read_request(int socket, std::string& input, Received& request) {
    for (char buffer[16384];;) {
      const std::size_t end = input.find("\r\n\r\n");
      if (end != std::string::npos) {
        const std::size_t line = input.find("\r\n"), path = input.find(' ') + 1;
        request.path = input.substr(path, input.find(' ', path) - path);
        request.headers = input.substr(line + 2, end - line);
        for (char& c : request.headers) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        const std::size_t at = request.headers.find("content-length:");
        const std::size_t size = at == std::string::npos ? 0 : std::stoul(request.headers.substr(at + 15));
        if (input.size() >= end + 4 + size) {
          request.body = input.substr(end + 4, size);
          input.erase(0, end + 4 + size);
          return true;
        }
      }
      const ssize_t got = recv(socket, buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      input.append(buffer, static_cast<std::size_t>(got));
    }
  }
  /// True if the connection stays open.
  bool answer(int socket, const Received& request) {
    Answer answer;
    {
      const std::lock_guard lock(mutex_);
      received_.push_back(request);
      answer = script_(request, received_.size() - 1);
    }
    if (answer.delay.count() > 0) std::this_thread::sleep_for(answer.delay);
    std::string reply = "HTTP/1.1 " + std::to_string(answer.status) + " Scripted\r\n" + answer.headers +
                        "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" + answer.body;
    switch (answer.fault) {
      case Answer::Fault::none:
        return send_all(socket, reply);
      case Answer::Fault::close:
        return false;
      case Answer::Fault::stall: {
        char byte = 0;
        while (recv(socket, &byte, 1, 0) > 0) {
        }
        const std::lock_guard lock(mutex_);
        ++aborts_;
        changed_.notify_all();
        return false;
      }
      case Answer::Fault::reset: {
        send_all(socket, reply.substr(0, reply.size() - answer.body.size() / 2 - 1));
        const linger at_once{1, 0};
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        return false;
      }
      case Answer::Fault::endless: {
        const std::string blanks(1 << 16, ' ');
        if (!send_all(socket, "HTTP/1.1 200 Scripted\r\n\r\n" + answer.body)) return false;
        while (send_all(socket, blanks)) {
        }
        return false;
      }
      case Answer::Fault::drip:
        for (const char c : reply) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          if (!send_all(socket, std::string(1, c))) return false;
        }
        return true;
    }
    return false;
  }
  static bool send_all(int socket, const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<std::size_t>(count);
    }
    return true;
  }

  Script script_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::thread acceptor_;
  std::vector<std::thread> threads_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> sockets_;
  std::vector<Received> received_;
  int aborts_ = 0;
};

}  // namespace espalier::test
