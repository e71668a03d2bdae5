#pragma once

#include <espalier/core/hash.hpp>

#include <algorithm>
#include <cstdint>
#include <map>

namespace espalier::detail {

/// Tells completions that guesses alone asked for from those that the search asked for too.
class GuessBook {
 public:
  /// The search asks for it.
  void want(const Hash& key) { wanted_[key] = true; }
  /// A guess got it from a server.
  void guess(const Hash& key) { wanted_.try_emplace(key, false); }
  /// The number of completions that guesses got and the search has not asked for.
  [[nodiscard]] std::uint64_t discarded() const {
    return static_cast<std::uint64_t>(
        std::count_if(wanted_.begin(), wanted_.end(), [](const auto& entry) { return !entry.second; }));
  }

 private:
  std::map<Hash, bool> wanted_;
};

/// Notes a request. That of a guess counts if its answer has come when the waiter's coroutine ends or is destroyed.
template <class Waiter>
class GuessNote {
 public:
  GuessNote(GuessBook& book, const Hash& key, bool guess, const Waiter& waiter)
      : book_(book), key_(key), guess_(guess), waiter_(waiter) {
    if (!guess) book.want(key);
  }
  GuessNote(const GuessNote&) = delete;
  GuessNote& operator=(const GuessNote&) = delete;
  ~GuessNote() {
    if (const auto* answer = waiter_.got(); guess_ && answer && !answer->cached) book_.guess(key_);
  }

 private:
  GuessBook& book_;
  Hash key_;
  bool guess_;
  const Waiter& waiter_;
};

}  // namespace espalier::detail
