#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace espalier::backend::detail {

/// How many messages one server may have under way. The width grows by one for every full window of good replies. If
/// the server is overloaded it is halved, once for all messages under way at that time. It never falls below 1.
class HttpWindow {
 public:
  HttpWindow(double width, double limit) : width_(std::clamp(width, 1.0, limit)), limit_(limit) {}
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(width_); }
  [[nodiscard]] std::size_t under_way() const { return under_way_; }
  [[nodiscard]] bool room() const { return under_way_ < width(); }

  /// A message begins. Returns its number, from 1.
  std::uint64_t begin() {
    ++under_way_;
    return ++begun_;
  }
  void end() { --under_way_; }
  /// A good reply came to a message that has just ended.
  void widen() {
    if (under_way_ + 1 >= width()) width_ = std::min(limit_, width_ + 1 / width_);
  }
  /// Message `number` says that the server is overloaded.
  void narrow(std::uint64_t number) {
    if (number <= narrowed_at_) return;
    width_ = std::max(1.0, width_ / 2);
    narrowed_at_ = begun_;
  }

 private:
  double width_, limit_;
  std::size_t under_way_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t narrowed_at_ = 0;  ///< messages up to this number were under way at the last narrowing
};

}  // namespace espalier::backend::detail
