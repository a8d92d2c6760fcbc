// cuda::barrier and cuda::memcpy_async of libcu++, in their synchronous meaning: a thread that waits lets others run.
#pragma once
#include <new>

#include "copies.h"
#include "machine.h"

namespace emu {
void all_arrived();  // tells the checks that what lies before is ordered before what follows
}

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

template <size_t Alignment>
struct aligned_size_t {
  size_t value;
  explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
  constexpr operator size_t() const { return value; }
};

struct EmptyCompletion {
  void operator()() const {}
};

// It lies in shared memory, which nothing constructs: `init` sets it up, as CUDA asks for.
template <thread_scope Scope, class Completion = EmptyCompletion>
class barrier {
 public:
  using arrival_token = unsigned long;
  barrier() = default;
  EMU_UNSEEN explicit barrier(ptrdiff_t expected, Completion completion = Completion())
      : expected_(unsigned(expected)), pending_(unsigned(expected)), phase_(0), completion_(completion) {}

  EMU_UNSEEN [[nodiscard]] arrival_token arrive(ptrdiff_t update = 1) {
    emu::commit_copies();
    emu::wait_copies(0);  // a copy belongs to the phase in which its thread arrives next
    const arrival_token token = phase_;
    pending_ -= unsigned(update);
    if (pending_ == 0) complete();
    return token;
  }
  EMU_UNSEEN void wait(arrival_token token) const {
    while (phase_ == token) emu::yield();
  }
  EMU_UNSEEN void wait_parity(bool parity) const {
    while ((phase_ & 1) == static_cast<unsigned long>(parity)) emu::yield();
  }
  EMU_UNSEEN bool try_wait(arrival_token token) const {
    if (phase_ == token) emu::yield();
    return phase_ != token;
  }
  void arrive_and_wait() { wait(arrive()); }
  EMU_UNSEEN void arrive_and_drop() {
    --expected_;
    (void)arrive();
  }
  static constexpr ptrdiff_t max() { return (1 << 20) - 1; }

 private:
  EMU_UNSEEN void complete() {
    completion_();
    pending_ = expected_;
    ++phase_;
    emu::all_arrived();
  }
  unsigned expected_, pending_;
  volatile unsigned long phase_;
  Completion completion_;
};

template <thread_scope Scope, class Completion>
EMU_UNSEEN inline void init(barrier<Scope, Completion>* object, ptrdiff_t expected, Completion completion = Completion()) {
  new (object) barrier<Scope, Completion>(expected, completion);
}

// One thread copies everything.
template <class Size, class Waited>
EMU_INLINE void memcpy_async(void* to, const void* from, Size bytes, Waited&) {
  emu::copy_async(to, from, unsigned(size_t(bytes)), 0);
}

// The threads of a group copy together: each takes every size()-th piece of 16, 4 or 1 bytes.
template <class Group, class Size, class Waited>
EMU_INLINE void memcpy_async(const Group& group, void* to, const void* from, Size size, Waited&) {
  const size_t bytes(size);
  const size_t bits = bytes | size_t(to) | size_t(from), piece = bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 1;
  for (size_t at = group.thread_rank() * piece; at < bytes; at += group.size() * piece) {
    emu::copy_async(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, unsigned(piece), 0);
  }
}

}  // namespace cuda
