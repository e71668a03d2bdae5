#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <utility>

/// Frames are not reused under the address sanitizer, so that it sees each one freed.
#if defined(__SANITIZE_ADDRESS__)
#define ESPALIER_KEEPS_FRAMES false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ESPALIER_KEEPS_FRAMES false
#endif
#endif
#ifndef ESPALIER_KEEPS_FRAMES
#define ESPALIER_KEEPS_FRAMES true
#endif

namespace espalier::detail {

/// Memory for coroutine frames, aligned to 64 bytes (g++ 12 misaligns over-aligned locals otherwise). Freed small
/// blocks are reused in the same thread, because an aligned allocation costs more than a coroutine.
class FrameMemory {
 public:
  ~FrameMemory() {
    closed = true;
    for (Block* block : free_)
      while (block) ::operator delete(std::exchange(block, block->next), alignment);
  }
  static void* allocate(std::size_t size) {
    const std::size_t kind = (size + 63) / 64;
    if (!kept(kind)) return ::operator new(size, alignment);
    Block*& head = of_this_thread().free_[kind];
    if (!head) return ::operator new(kind * 64, alignment);
    return std::exchange(head, head->next);
  }
  static void release(void* frame, std::size_t size) {
    const std::size_t kind = (size + 63) / 64;
    if (!kept(kind)) return ::operator delete(frame, alignment);
    Block*& head = of_this_thread().free_[kind];
    head = ::new (frame) Block{head};
  }

 private:
  struct Block {
    Block* next;
  };
  static constexpr std::align_val_t alignment{64};
  static constexpr std::size_t kinds = 33;         // up to 2 kB
  static inline thread_local bool closed = false;  // the thread ends, but statics may still hold coroutines
  static bool kept(std::size_t kind) { return ESPALIER_KEEPS_FRAMES && kind < kinds && !closed; }
  static FrameMemory& of_this_thread() {
    static thread_local FrameMemory memory;
    return memory;
  }
  std::array<Block*, kinds> free_{};
};

}  // namespace espalier::detail

#undef ESPALIER_KEEPS_FRAMES
