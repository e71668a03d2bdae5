#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace espalier::backend::detail {

/// The reply bodies that one client is receiving, and their total memory.
class HttpReceived {
 public:
  /// One reply body.
  struct Body {
    std::string bytes;
    std::size_t held = 0;     ///< memory that counts
    bool sacrificed = false;  ///< given up because all bodies together were too long
  };

  /// Appends to a body. If all bodies would hold more than `limit` bytes, the longest are given up. False if this one
  /// is.
  bool append(Body& body, const char* data, std::size_t size, std::size_t limit) {
    if (body.sacrificed) return false;
    if (body.held == 0) bodies_.push_back(&body);
    const std::size_t needed = body.bytes.size() + size;
    const std::size_t then =
        needed <= body.bytes.capacity() ? body.bytes.capacity() : std::max(needed, 2 * body.bytes.capacity());
    hold(body, then);
    while (held_ > limit) {
      Body& longest = **std::max_element(bodies_.begin(), bodies_.end(),
                                         [](const Body* a, const Body* b) { return a->held < b->held; });
      std::string().swap(longest.bytes);
      drop(longest);
      longest.sacrificed = true;
    }
    if (body.sacrificed) return false;
    body.bytes.reserve(then);
    body.bytes.append(data, size);
    return true;
  }
  /// Frees a body that was taken. A small buffer is kept for the next one.
  void forget(Body& body) {
    body.bytes.clear();
    if (body.bytes.capacity() > (std::size_t(1) << 16)) std::string().swap(body.bytes);
    drop(body);
    body.sacrificed = false;
  }

 private:
  void hold(Body& body, std::size_t bytes) {
    held_ += bytes - body.held;
    body.held = bytes;
  }
  void drop(Body& body) {
    hold(body, 0);
    std::erase(bodies_, &body);
  }
  std::vector<Body*> bodies_;
  std::size_t held_ = 0;
};

}  // namespace espalier::backend::detail
