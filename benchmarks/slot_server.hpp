#pragma once

#include <espalier/core/hash.hpp>

#include "virtual_server.hpp"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::benchmarks {

/// An HTTP server on the loopback with so many slots, one thread: a request waits for a slot, holds it for its service
/// time (log-normal, decided by its body) and gets its reply.
class SlotServer {
 public:
  using Clock = std::chrono::steady_clock;
  /// The reply's body to a request's body; called on the server's thread.
  using Script = std::function<std::string(std::string_view)>;

  SlotServer(std::size_t slots, double mean_s, Script script)
      : slots_(slots), mean_s_(mean_s), script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* where = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, where, length) != 0 || listen(listener_, 512) != 0 ||
        getsockname(listener_, where, &length) != 0)
      throw std::runtime_error("no free port on the loopback");
    port_ = ntohs(address.sin_port);
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    stop_ = eventfd(0, EFD_CLOEXEC);
    watch(listener_);
    watch(stop_);
    thread_ = std::thread([this] { serve(); });
  }
  SlotServer(const SlotServer&) = delete;
  SlotServer& operator=(const SlotServer&) = delete;
  ~SlotServer() {
    const std::uint64_t one = 1;
    (void)!write(stop_, &one, sizeof one);
    thread_.join();
    for (const auto& [socket, input] : inputs_) close(socket);
    for (const int file : {listener_, epoll_, stop_}) close(file);
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }

  /// Seconds of service asked for, and seconds for which slots were held. To be read while nothing is asked.
  struct Times {
    double work = 0, held = 0;
    std::uint64_t requests = 0;
  };
  [[nodiscard]] Times times() const { return times_; }

 private:
  using Running = std::tuple<Clock::time_point, std::uint64_t, int, Clock::time_point>;  ///< end, number, socket, begin

  void watch(int file) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = file;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, file, &event);
  }
  void serve() {
    for (std::array<epoll_event, 128> events;;) {
      timespec wait{3600, 0};
      if (!running_.empty()) {
        const auto left = std::max(std::get<0>(running_.top()) - Clock::now(), Clock::duration(0));
        wait.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
        wait.tv_nsec = std::chrono::nanoseconds(left % std::chrono::seconds(1)).count();
      }
      const int count = epoll_pwait2(epoll_, events.data(), int(events.size()), &wait, nullptr);
      for (int i = 0; i < count; ++i) {
        const int file = events[std::size_t(i)].data.fd;
        if (file == stop_) return;
        if (file == listener_) open();
        else read(file);
      }
      for (auto now = Clock::now(); !running_.empty() && std::get<0>(running_.top()) <= now; now = Clock::now())
        finish(now);
    }
  }
  void open() {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    watch(socket);
    inputs_[socket];
  }
  void read(int socket) {
    std::string& input = inputs_[socket];
    std::array<char, 65536> buffer;
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      close(socket);
      inputs_.erase(socket);
      return;
    }
    input.append(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t end = input.find("\r\n\r\n"), field = input.find("Content-Length: ");
    if (end == std::string::npos || field == std::string::npos) return;
    const std::size_t size = std::stoul(input.substr(field + 16, 20));
    if (input.size() < end + 4 + size) return;
    waiting_.emplace_back(socket, input.substr(end + 4));
    input.clear();
    start();
  }
  void start() {
    for (; !waiting_.empty() && running_.size() < slots_; waiting_.pop_front()) {
      auto& [socket, body] = waiting_.front();
      const double seconds = mean_s_ * service_time(Hasher().add(body).finish().low);
      times_.work += seconds;
      ++times_.requests;
      const auto now = Clock::now();
      running_.emplace(now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)),
                       times_.requests, socket, now);
      const std::string reply = script_(body);
      replies_[socket] = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(reply.size()) + "\r\n\r\n" + reply;
    }
  }
  void finish(Clock::time_point now) {
    const auto [end, number, socket, begin] = running_.top();
    running_.pop();
    times_.held += std::chrono::duration<double>(now - begin).count();
    if (inputs_.contains(socket)) (void)!send(socket, replies_[socket].data(), replies_[socket].size(), MSG_NOSIGNAL);
    start();
  }

  std::size_t slots_;
  double mean_s_;
  Script script_;
  int listener_ = -1, epoll_ = -1, stop_ = -1;
  std::uint16_t port_ = 0;
  std::map<int, std::string> inputs_, replies_;
  std::deque<std::pair<int, std::string>> waiting_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  Times times_;
  std::thread thread_;
};

}  // namespace espalier::benchmarks
