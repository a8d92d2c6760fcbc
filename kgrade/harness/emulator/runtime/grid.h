// What the scheduler keeps of the running grid. Kernels see machine.h only.
#pragma once
#include <memory>
#include <vector>

#include "machine.h"

namespace emu {

struct NamedBarrier {
  unsigned arrived;
  unsigned expected;
};

struct BlockBarrier {
  unsigned waiting;
  unsigned sum;     // of the predicates brought so far
  unsigned result;  // sum of the barrier that completed last
};

struct Block {
  unsigned long number;
  uint3 index;
  bool begun = false;
  Thread thread[kMaxThreads];
  Slot slot[kMaxThreads];
  unsigned order[kMaxThreads];
  unsigned waiting_lanes[kMaxThreads / kWarp];  // lanes of each warp that stand at a meeting
  BlockBarrier barrier;
  NamedBarrier named[16];
  bool used_named = false;
  std::vector<Thread*> ready;
  size_t ready_head = 0;
  unsigned long idle_yields = 0;
  unsigned started, finished, parked;
  std::vector<unsigned char> shared;  // a copy of shared memory while other blocks run
};

struct Grid {
  Block* block;
  void (*run_threads)(const void*);
  const void* body;
  const char* kernel = "";
  uint3 index_of[kMaxThreads];  // threadIdx by rank
  bool cooperative;
  int error;
  const char* why;
  unsigned running_fiber;
  unsigned fibers_made = 0;
  std::vector<unsigned> free_fibers;
  unsigned long events = 0;  // barriers passed and threads ended, for telling progress from spinning
  unsigned long long seed = 0;
  unsigned long long state = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<Block*> idle_blocks;

  // xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016.
  unsigned random() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return static_cast<unsigned>((state * 0x2545F4914F6CDD1DULL) >> 33);
  }
  Block* take_block() {
    if (idle_blocks.empty()) {
      blocks.push_back(std::make_unique<Block>());
      return blocks.back().get();
    }
    Block* taken = idle_blocks.back();
    idle_blocks.pop_back();
    return taken;
  }
  void return_block(Block* b) { idle_blocks.push_back(b); }
  void return_all() {
    idle_blocks.clear();
    for (auto& b : blocks) {
      b->shared.clear();
      idle_blocks.push_back(b.get());
    }
  }
  // Whether an address lies in what the scheduler keeps of its blocks, such as the slots of a shuffle.
  bool owns(const void* address) const {
    for (const auto& b : blocks) {
      if (address >= b.get() && address < b.get() + 1) return true;
    }
    return false;
  }
  void reset_fibers() {
    free_fibers.clear();
    fibers_made = 0;
  }
};

extern Grid grid;
inline Block& block() { return *grid.block; }

void park(Wait why);
void make_ready(Thread* thread);
void note_event();
bool release_converged();
bool release_complete_meetings();
void release_grid_barrier(const std::vector<Block*>& blocks);

// Shared storage of the module (storage.cpp): its total size with `dynamic` bytes, and copies of it.
size_t shared_bytes(unsigned dynamic);
void save_shared(unsigned char* to, unsigned dynamic);
void restore_shared(const unsigned char* from, unsigned dynamic);

int run_grid(void (*run_threads)(const void*), const void* body, bool cooperative);

}  // namespace emu
