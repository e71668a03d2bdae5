#pragma once

#include <espalier/core/error.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace espalier::backend::detail {

/// A curl multi handle. It moves the bytes of many transfers on one thread.
class HttpLoop {
 public:
  using Clock = std::chrono::steady_clock;

  HttpLoop() {
    static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);  // once per process
    multi_ = curl_multi_init();
    if (global != CURLE_OK || !multi_) throw Error("cannot set up the HTTP client: libcurl does not start");
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 4096L);
  }
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;
  ~HttpLoop() { curl_multi_cleanup(multi_); }

  void add(CURL* transfer) { curl_multi_add_handle(multi_, transfer); }
  /// Closes the transfer's connection unless the transfer is complete.
  void remove(CURL* transfer) { curl_multi_remove_handle(multi_, transfer); }

  /// Waits for sockets or timers until `until`, or less long, and serves them.
  void turn(Clock::time_point until) {
    constexpr std::chrono::milliseconds none(0), most(3'600'000);
    const auto wait = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()), none, most);
    int running = 0;
    curl_multi_poll(multi_, nullptr, 0, int(wait.count()), nullptr);
    curl_multi_perform(multi_, &running);
  }

  /// A transfer that has ended, with its result. The caller must still remove it.
  std::optional<std::pair<CURL*, CURLcode>> ended() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left))
      if (message->msg == CURLMSG_DONE) return std::pair(message->easy_handle, message->data.result);
    return std::nullopt;
  }

 private:
  CURLM* multi_ = nullptr;
};

}  // namespace espalier::backend::detail
