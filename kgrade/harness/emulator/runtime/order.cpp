#include "order.h"

#include <bitset>
#include <unordered_map>
#include <unordered_set>

#include "grid.h"

namespace emu {
namespace {

uint32_t epoch = 1;         // counts barriers of all blocks, so that every block's epochs are its own
uint32_t launch_epoch = 1;  // what lies before it belongs to an earlier launch

struct BlockOrder {
  uint32_t barrier = 0;  // the epoch that its last barrier began
  std::unordered_set<uint32_t> after;  // blocks whose work it may rely on
};
std::unordered_map<uint32_t, BlockOrder> blocks;

struct HandOver {
  std::unordered_set<uint32_t> blocks;
  uint32_t block = ~0u;  // the last block of which `threads` are known
  std::bitset<kMaxThreads> threads;
};
std::unordered_map<uintptr_t, HandOver> hand_overs;

uint32_t clocks[kMaxThreads][kWarp];        // what each thread knows of the clocks of its warp's lanes
std::bitset<kMaxThreads> relies[kMaxThreads];  // threads of the block whose work a thread may rely on

uint32_t block_number() { return static_cast<uint32_t>(grid.block->number); }

}  // namespace

void order_launch_begins() {
  launch_epoch = ++epoch;
  blocks.clear();
  hand_overs.clear();
}

void order_block_begins() {
  blocks[block_number()].barrier = ++epoch;
  for (unsigned rank = 0; rank < machine.threads; ++rank) {
    for (unsigned l = 0; l < kWarp; ++l) clocks[rank][l] = l == rank % kWarp ? 1 : 0;
    relies[rank].reset();
  }
}

void order_block_barrier() {
  blocks[block_number()].barrier = ++epoch;
  for (unsigned rank = 0; rank < machine.threads; ++rank) relies[rank].reset();
}

// As if another launch began: everything before lies behind everything after.
void order_grid_barrier() { launch_epoch = ++epoch; }

void order_warp_meeting(unsigned warp, unsigned lanes) {
  uint32_t joined[kWarp] = {};
  for (unsigned left = lanes; left != 0; left &= left - 1) {
    const uint32_t* known = clocks[warp * kWarp + __builtin_ctz(left)];
    for (unsigned l = 0; l < kWarp; ++l) joined[l] = joined[l] < known[l] ? known[l] : joined[l];
  }
  for (unsigned left = lanes; left != 0; left &= left - 1) {
    const unsigned lane = __builtin_ctz(left);
    uint32_t* known = clocks[warp * kWarp + lane];
    for (unsigned l = 0; l < kWarp; ++l) known[l] = joined[l];
    ++known[lane];
  }
}

void order_atomic(uintptr_t address, bool fenced) {
  const auto found = hand_overs.find(address);
  BlockOrder& mine = blocks[block_number()];
  if (found != hand_overs.end()) {
    for (const uint32_t other : found->second.blocks) mine.after.insert(other);
    if (found->second.block == block_number()) relies[machine.rank] |= found->second.threads;
  }
  if (!fenced) return;
  HandOver& over = hand_overs[address];
  over.blocks.insert(block_number());
  for (const uint32_t other : mine.after) over.blocks.insert(other);
  if (over.block != block_number()) {
    over.block = block_number();
    over.threads.reset();
  }
  over.threads.set(machine.rank);
  over.threads |= relies[machine.rank];
}

Touch touch_now(uint32_t place, unsigned bytes_of_word, bool atomic) {
  return {block_number() * kMaxThreads + machine.rank, epoch, clocks[machine.rank][lane()], place,
          static_cast<uint8_t>(bytes_of_word), atomic};
}

bool ordered_before(const Touch& before) {
  if (before.epoch < launch_epoch) return true;
  const uint32_t block = before.thread / kMaxThreads, rank = before.thread % kMaxThreads;
  const BlockOrder& mine = blocks[block_number()];
  if (block != block_number()) return mine.after.count(block) != 0;
  if (rank == machine.rank || before.epoch < mine.barrier || relies[machine.rank].test(rank)) return true;
  return rank / kWarp == machine.rank / kWarp && clocks[machine.rank][rank % kWarp] >= before.clock;
}

}  // namespace emu
