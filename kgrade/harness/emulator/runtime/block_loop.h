// A block as loops over its threads, for kernels in which no thread has to wait inside a loop (see splitting.py).
#pragma once
#include <cstring>
#include <type_traits>

#include "machine.h"

namespace emu {

// While it lives, the thread that the scheduler believes to run stands for the whole block.
struct BlockLoop {
  BlockLoop() { machine.started = machine.threads; }
  ~BlockLoop() { machine.finished = machine.threads - 1; }

  // One stretch between two barriers, for every thread; `Global`: what it calls asks the built-in variable.
  template <bool Global, class Body>
  EMU_INLINE void stretch(const Body& body) const {
    if (__builtin_expect(machine.shuffled, 0)) {
      const Body copy = body;  // were the address of `body` known elsewhere, every store would make it read anew
      return shuffled<Global>(copy);
    }
    unsigned rank = 0;
    for (unsigned z = 0; z < blockDim.z; ++z) {
      for (unsigned y = 0; y < blockDim.y; ++y) {
        const unsigned long width = blockDim.x;
        if (width > kMaxThreads) __builtin_unreachable();  // so that no index is thought to wrap around
        for (unsigned long x = 0; x < width; ++x) {
          if (Global) threadIdx = {unsigned(x), y, z};
          body(uint3{unsigned(x), y, z}, unsigned(rank + x));
        }
        rank += width;
      }
    }
  }

  // The whole kernel for every thread: each has parameters of its own, which it may change.
  template <bool Global, class Body>
  EMU_INLINE void threads(const Body& body) const {
    stretch<Global>([body](const uint3 index, unsigned) __attribute__((always_inline)) {
      Body own = body;
      own(index);
    });
  }

 private:
  template <bool Global, class Body>
  __attribute__((noinline)) static void shuffled(const Body& body) {
    for (unsigned n = 0; n < machine.threads; ++n) {
      const unsigned rank = machine.order[n], y = rank / blockDim.x;
      const uint3 index{rank % blockDim.x, y % blockDim.y, y / blockDim.y};
      if (Global) threadIdx = index;
      body(index, rank);
    }
  }
};

template <class T>
EMU_INLINE void keep(T& to, const T& from) { memcpy(&to, &from, sizeof(T)); }

}  // namespace emu

#define EMU_IN_LOOP __attribute__((always_inline))
#define EMU_BLOCK                                                                                  \
  const uint3 blockIdx = ::blockIdx;                                                               \
  const dim3 blockDim = ::blockDim, gridDim = ::gridDim;                                           \
  const emu::BlockLoop emu_block
// On the stack: a register file holds 256 KB, and what all threads of a block keep comes from there.
#define EMU_ROOM(name)                                                                             \
  auto* const emu_all_##name = static_cast<std::remove_const_t<emu_of_##name>*>(                   \
      __builtin_alloca_with_align(emu::machine.threads * sizeof(emu_of_##name), 512))
#define EMU_MINE(name) auto& name = emu_all_##name[emu_rank]
