// Barriers and fences.
#pragma once
#include "machine.h"

inline void __syncthreads(emu::Site site = emu::Site::here()) { emu::wait_block(site); }
inline int __syncthreads_count(int p, emu::Site site = emu::Site::here()) { return emu::wait_block_count(site, p, 0); }
inline int __syncthreads_and(int p, emu::Site site = emu::Site::here()) { return emu::wait_block_count(site, p, 1); }
inline int __syncthreads_or(int p, emu::Site site = emu::Site::here()) { return emu::wait_block_count(site, p, 2); }
inline void __barrier_sync(unsigned id, emu::Site site = emu::Site::here()) { emu::wait_named(site, id, 0, false); }
inline void __barrier_sync_count(unsigned id, unsigned threads, emu::Site site = emu::Site::here()) {
  emu::wait_named(site, id, threads, false);
}

namespace emu {
void fence();
}

// Memory is always coherent here; a fence only tells the checks that what was written may be handed over.
inline void __threadfence() { emu::fence(); }
inline void __threadfence_block() { emu::fence(); }
inline void __threadfence_system() { emu::fence(); }
inline void __nanosleep(unsigned) { emu::yield(); }

// Clocks count calls: an emulation has no time of its own.
namespace emu {
inline long long ticks = 0;
}
inline long long clock64() { return ++emu::ticks; }

inline void __trap() { emu::abandon(719, "trap"); }
inline void __brkpt() { emu::abandon(719, "breakpoint"); }
