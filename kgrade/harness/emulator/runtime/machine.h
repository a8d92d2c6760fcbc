// The machine that runs a grid on one CPU thread: what kernels, intrinsics and launches may ask of it.
//
// A CUDA thread is a call of the kernel. Threads of a block are called one after another on one fiber as long as none
// of them has to wait; only a thread that waits keeps its fiber, and the next thread begins on another. A kernel
// without barriers therefore costs a loop, not a switch for each thread.
#pragma once
#include <cstddef>
#include <cstdint>

#include "language.h"

namespace emu {

constexpr unsigned kWarp = 32;
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxDynamicShared = 227 * 1024;
constexpr unsigned kGuard = 256;  // bytes around shared storage in which every access is a fault

enum class Wait : unsigned char { running, ready, block, named, warp, converge, grid, finished };

// Why lanes of a warp meet; all lanes of one meeting must have come for the same reason.
enum class Meeting : unsigned char { none, sync, shuffle, vote, match, converge, exchange };

// A place in the source, as the call that stands there sees it. Two copies of one barrier that the compiler made by
// unrolling or inlining are still the same place.
struct Site {
  const char* file = nullptr;
  unsigned line = 0;
  static constexpr Site here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  constexpr bool operator==(const Site& other) const { return line == other.line && file == other.file; }
};

struct Slot {
  alignas(16) unsigned char value[64];   // what the lane brings
  alignas(16) unsigned char result[64];  // what it takes away
  unsigned mask;
  unsigned source;  // the lane that a shuffle reads
  Meeting meeting;
  Site site;
};

struct Thread {
  void* stack;      // where its fiber stopped
  unsigned fiber;   // the fiber it occupies while it waits
  Wait wait;
  unsigned named;   // the named barrier it waits at
  Site site;
  bool fenced;      // it has executed a memory fence since its last barrier
};

struct Machine {
  unsigned rank;        // of the current thread in its block
  unsigned started;     // threads of this block that have begun
  unsigned threads;     // threads of a block
  unsigned finished;
  unsigned parked;      // threads that wait, for whatever reason
  unsigned spins;       // atomics since the thread was last switched to
  bool shuffled;        // threads begin in random order
  bool flat;            // blocks of one dimension: a rank is an x
  bool checks;          // this object was compiled with checks
  bool on_device;       // a kernel is running
  unsigned* order;      // rank of the n-th thread to begin
  Thread* thread;       // by rank
  unsigned dynamic_bytes;
};

inline Machine machine;
alignas(1024) inline unsigned char dynamic_storage[kGuard + kMaxDynamicShared + kGuard];

// --- what the compiled part of the runtime does (machine.cpp, collectives.cpp) ---
void begin_thread(unsigned rank);
void finish_slow();
void yield();                                     // lets other threads go on; comes back later
void wait_block(Site site);
int wait_block_count(Site site, int predicate, int operation);  // 0: count, 1: and, 2: or
void wait_named(Site site, unsigned barrier, unsigned threads, bool arrive_only);
void wait_grid(Site site);
Slot& lane_slot();
Slot& lane_slot(unsigned lane);
// Waits until all living lanes of `mask` have come; the last one to come runs `complete` on behalf of all.
void meet(unsigned mask, Meeting meeting, Site site, void (*complete)(unsigned lanes));
unsigned converged_lanes(Site site);       // lanes of the warp that have come to the same place
[[noreturn]] void abandon(int error, const char* why);  // ends the kernel as a fault does on the device
bool cooperative();

inline unsigned lane() { return machine.rank % kWarp; }

// Called by atomics: a thread that spins on one must let the others run.
inline void count_spin() {
  if (++machine.spins > 4000) yield();
}

// The machine's own memory is not the kernel's: the checks must not be asked about it.
#define EMU_UNSEEN __attribute__((no_sanitize("thread")))

inline Thread* current() { return machine.thread + machine.rank; }

// Begins and ends are all that a thread without barriers costs, so nothing is written that can be told later: while
// nobody waits, every thread that has begun, but the current one, has ended (see `count_parked`).
EMU_UNSEEN inline bool begin_next_thread() {
  if (machine.started == machine.threads) return false;
  const unsigned nth = machine.started++;
  if (__builtin_expect(machine.shuffled, 0)) {
    begin_thread(machine.order[nth]);
    return true;
  }
  machine.rank = nth;
  if (machine.flat && nth != 0) {
    threadIdx.x = nth;
  } else {
    const unsigned y = nth / blockDim.x;
    threadIdx = {nth % blockDim.x, y % blockDim.y, y / blockDim.y};
  }
  return true;
}

EMU_UNSEEN inline void end_thread() {
  ++machine.finished;
  if (__builtin_expect(machine.parked != 0 || machine.shuffled, 0)) {
    current()->wait = Wait::finished;
    if (machine.parked != 0) finish_slow();
  }
}

}  // namespace emu
