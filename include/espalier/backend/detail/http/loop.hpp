#pragma once

#include <espalier/core/error.hpp>

#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace espalier::backend::detail {

/// A curl multi handle with epoll. It moves the bytes of many transfers on one thread. The work per wake-up is
/// proportional to the number of ready sockets.
class HttpLoop {
 public:
  using Clock = std::chrono::steady_clock;

  HttpLoop() {
    static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);  // once per process
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    multi_ = curl_multi_init();
    if (global != CURLE_OK || epoll_ < 0 || !multi_)
      throw Error("cannot set up the HTTP client: no epoll or no libcurl");
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 4096L);
  }
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;
  ~HttpLoop() {
    curl_multi_cleanup(multi_);
    close(epoll_);
  }

  void add(CURL* transfer) { curl_multi_add_handle(multi_, transfer); }
  /// Closes the transfer's connection unless the transfer is complete.
  void remove(CURL* transfer) { curl_multi_remove_handle(multi_, transfer); }

  /// Waits for sockets or timers until `until` and serves them. False if a signal cut the wait short.
  bool turn(Clock::time_point until) {
    std::array<epoll_event, 256> events;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::min(until, timer_) - Clock::now());
    const int count = epoll_wait(epoll_, events.data(), int(events.size()),
                                 int(std::clamp<std::int64_t>(wait.count(), 0, 3'600'000)));
    const bool interrupted = count < 0 && errno == EINTR;
    int running = 0;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[std::size_t(i)];
      const int mask = (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? CURL_CSELECT_IN : 0) |
                       (event.events & (EPOLLOUT | EPOLLERR) ? CURL_CSELECT_OUT : 0);
      curl_multi_socket_action(multi_, event.data.fd, mask, &running);
    }
    if (Clock::now() >= timer_) {
      timer_ = Clock::time_point::max();
      curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    return !interrupted;
  }

  /// A transfer that has ended, with its result. The caller must still remove it.
  std::optional<std::pair<CURL*, CURLcode>> ended() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left))
      if (message->msg == CURLMSG_DONE) return std::pair(message->easy_handle, message->data.result);
    return std::nullopt;
  }

 private:
  static int on_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
    const int epoll = static_cast<HttpLoop*>(self)->epoll_;
    epoll_event event{};
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    event.data.fd = socket;
    if (what == CURL_POLL_REMOVE) epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nullptr);
    else if (epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) < 0) epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
    return 0;
  }
  static int on_timer(CURLM*, long milliseconds, void* self) {
    static_cast<HttpLoop*>(self)->timer_ =
        milliseconds < 0 ? Clock::time_point::max() : Clock::now() + std::chrono::milliseconds(milliseconds);
    return 0;
  }
  int epoll_ = -1;
  CURLM* multi_ = nullptr;
  Clock::time_point timer_ = Clock::time_point::max();
};

}  // namespace espalier::backend::detail
