// Barriers, and the meetings of lanes in a warp.
#include <cstring>

#include "grid.h"
#include "observer.h"
#include "warp.h"

namespace emu {
namespace {

unsigned warp_of(unsigned rank) { return rank / kWarp; }

// Lanes of the warp that exist and have not ended.
unsigned living(unsigned warp) {
  const unsigned first = warp * kWarp;
  const unsigned count = machine.threads - first < kWarp ? machine.threads - first : kWarp;
  unsigned lanes = count == kWarp ? ~0u : (1u << count) - 1;
  if (machine.finished != 0) {
    for (unsigned l = 0; l < count; ++l) {
      if (machine.thread[first + l].wait == Wait::finished) lanes &= ~(1u << l);
    }
  }
  return lanes;
}

void (*completion[kMaxThreads])(unsigned lanes);

// Whether every living lane of the group that `leader` belongs to stands at the same meeting.
bool complete_group(unsigned warp, unsigned leader, unsigned& lanes) {
  Block& b = block();
  const Slot* slots = b.slot + warp * kWarp;
  const unsigned waiting = b.waiting_lanes[warp];
  const unsigned mask = slots[leader].mask;
  lanes = mask;
  if ((waiting & lanes) != lanes) {
    lanes &= living(warp);
    if ((waiting & lanes) != lanes) return false;
  }
  for (unsigned left = lanes; left != 0; left &= left - 1) {
    const Slot& other = slots[__builtin_ctz(left)];
    if (other.mask != mask || other.meeting != slots[leader].meeting) return false;
  }
  return true;
}

void release_group(unsigned warp, unsigned lanes, unsigned except) {
  Block& b = block();
  b.waiting_lanes[warp] &= ~lanes;
  for (unsigned left = lanes & ~except; left != 0; left &= left - 1) {
    make_ready(machine.thread + warp * kWarp + __builtin_ctz(left));
  }
  if (observer.warp_meeting) observer.warp_meeting(warp, lanes);
  note_event();
}

bool barrier_complete() { return block().barrier.waiting == machine.threads - machine.finished; }

void release_barrier(const Thread* except) {
  Block& b = block();
  b.barrier.result = b.barrier.sum;
  b.barrier.sum = 0;
  b.barrier.waiting = 0;
  for (unsigned i = 0; i < machine.threads; ++i) {
    Thread& t = machine.thread[i];
    if (t.wait == Wait::block && &t != except) make_ready(&t);
  }
  if (observer.block_barrier) observer.block_barrier();
  note_event();
}

// A barrier is divergent when a thread has ended before it, or lanes of one warp wait at different ones.
void look_for_divergence(Site site) {
  if (observer.divergence == nullptr) return;
  const Thread* other = nullptr;
  for (unsigned i = 0; i < machine.threads; ++i) {
    const Thread& t = machine.thread[i];
    if (t.wait == Wait::finished) {
      observer.divergence("a thread of the block has ended before this barrier", site);
      return;
    }
    if (t.wait == Wait::block && !(t.site == site) && other == nullptr) other = &t;
  }
  if (other != nullptr) observer.divergence("threads of the block wait at different barriers", site);
}

}  // namespace

Slot& lane_slot() { return block().slot[machine.rank]; }

Slot& lane_slot(unsigned lane) { return block().slot[machine.rank / kWarp * kWarp + lane]; }

void finish_slow() {
  note_event();
  const unsigned warp = warp_of(machine.rank);
  if (block().waiting_lanes[warp] != 0) release_complete_meetings();
  if (block().barrier.waiting != 0 && barrier_complete()) {
    if (observer.divergence) {
      for (unsigned i = 0; i < machine.threads; ++i) {
        if (machine.thread[i].wait == Wait::block) {
          observer.divergence("a thread of the block has ended before this barrier", machine.thread[i].site);
          break;
        }
      }
    }
    release_barrier(nullptr);
  }
}

void wait_block(Site site) { wait_block_count(site, 0, 0); }

int wait_block_count(Site site, int predicate, int operation) {
  Block& b = block();
  current()->site = site;
  current()->fenced = false;
  b.barrier.sum += operation == 1 ? predicate == 0 : predicate != 0;  // `and` holds when nobody brings a zero
  if (++b.barrier.waiting == machine.threads - machine.finished) {
    look_for_divergence(site);
    release_barrier(current());
  } else {
    park(Wait::block);
  }
  const unsigned sum = b.barrier.result;
  return operation == 0 ? static_cast<int>(sum) : operation == 1 ? sum == 0 : sum != 0;
}

void wait_named(Site site, unsigned barrier, unsigned threads, bool arrive_only) {
  Block& b = block();
  b.used_named = true;
  NamedBarrier& named = b.named[barrier % 16];
  current()->site = site;
  named.expected = threads != 0 ? threads : machine.threads - machine.finished;
  if (++named.arrived >= named.expected) {
    named.arrived = 0;
    for (unsigned i = 0; i < machine.threads; ++i) {
      Thread& t = machine.thread[i];
      if (t.wait == Wait::named && t.named == barrier) make_ready(&t);
    }
    if (observer.block_barrier) observer.block_barrier();
    note_event();
    return;
  }
  if (arrive_only) return;
  current()->named = barrier;
  park(Wait::named);
}

void meet(unsigned mask, Meeting meeting, Site site, void (*complete)(unsigned lanes)) {
  Block& b = block();
  const unsigned warp = warp_of(machine.rank);
  const unsigned mine = lane();
  Slot& slot = b.slot[machine.rank];
  if ((mask >> mine & 1) == 0) {
    if (observer.divergence) observer.divergence("the mask lacks the lane that calls", site);
    mask |= 1u << mine;
  }
  slot.mask = mask;
  slot.meeting = meeting;
  slot.site = site;
  current()->site = site;
  completion[machine.rank] = complete;
  b.waiting_lanes[warp] |= 1u << mine;
  unsigned lanes;
  if (complete_group(warp, mine, lanes)) {
    if (complete != nullptr) complete(lanes);
    release_group(warp, lanes, 1u << mine);
    return;
  }
  park(Wait::warp);
}

bool release_complete_meetings() {
  bool any = false;
  const unsigned warps = (machine.threads + kWarp - 1) / kWarp;
  const unsigned rank = machine.rank;
  for (unsigned warp = 0; warp < warps; ++warp) {
    for (unsigned tried = 0, left; (left = block().waiting_lanes[warp] & ~tried) != 0;) {
      const unsigned leader = __builtin_ctz(left);
      const Slot& slot = block().slot[warp * kWarp + leader];
      unsigned lanes;
      if (slot.meeting == Meeting::converge || !complete_group(warp, leader, lanes)) {
        tried |= 1u << leader;
        continue;
      }
      machine.rank = warp * kWarp + leader;  // completions find the warp through the rank
      if (completion[machine.rank] != nullptr) completion[machine.rank](lanes);
      release_group(warp, lanes, 0);
      any = true;
    }
  }
  machine.rank = rank;
  return any;
}

// Lanes that ask who is active wait until nothing else in the block can run: then those that stand at the same place
// have converged, as far as they can.
unsigned converged_lanes(Site site) {
  Block& b = block();
  Slot& slot = b.slot[machine.rank];
  slot.meeting = Meeting::converge;
  slot.site = site;
  slot.mask = 0;
  current()->site = site;
  b.waiting_lanes[warp_of(machine.rank)] |= 1u << lane();
  park(Wait::converge);
  return slot.mask;
}

bool release_converged() {
  Block& b = block();
  bool any = false;
  const unsigned warps = (machine.threads + kWarp - 1) / kWarp;
  for (unsigned warp = 0; warp < warps; ++warp) {
    Slot* slots = b.slot + warp * kWarp;
    unsigned group = 0;
    Site site;
    for (unsigned left = b.waiting_lanes[warp]; left != 0; left &= left - 1) {
      const unsigned l = __builtin_ctz(left);
      if (slots[l].meeting != Meeting::converge || (group != 0 && !(slots[l].site == site))) continue;
      site = slots[l].site;
      group |= 1u << l;
    }
    if (group == 0) continue;
    for (unsigned left = group; left != 0; left &= left - 1) slots[__builtin_ctz(left)].mask = group;
    release_group(warp, group, 0);
    any = true;
  }
  return any;
}

void complete_shuffle(unsigned lanes) {
  Slot* slots = block().slot + warp_of(machine.rank) * kWarp;
  for (unsigned left = lanes; left != 0; left &= left - 1) {
    Slot& slot = slots[__builtin_ctz(left)];
    const unsigned source = slot.source % kWarp;
    if ((lanes >> source & 1) == 0 && observer.divergence) {
      observer.divergence("a shuffle reads from a lane that takes no part in it", slot.site);
    }
    memcpy(slot.result, slots[source].value, sizeof slot.result);
  }
}

void complete_ballot(unsigned lanes) {
  Slot* slots = block().slot + warp_of(machine.rank) * kWarp;
  unsigned votes = 0;
  for (unsigned left = lanes; left != 0; left &= left - 1) {
    const unsigned l = __builtin_ctz(left);
    votes |= static_cast<unsigned>(slots[l].value[0]) << l;
  }
  for (unsigned left = lanes; left != 0; left &= left - 1) memcpy(slots[__builtin_ctz(left)].result, &votes, sizeof votes);
}

namespace {
void complete_gather(unsigned lanes) {
  // Every lane's value moves to where its owner cannot overwrite it before the others have read it.
  Slot* slots = block().slot + warp_of(machine.rank) * kWarp;
  for (unsigned left = lanes; left != 0; left &= left - 1) {
    Slot& slot = slots[__builtin_ctz(left)];
    memcpy(slot.result, slot.value, sizeof slot.result);
    slot.source = lanes;
  }
}
}  // namespace

unsigned gather(unsigned mask, const void* value, size_t bytes, void* out, Site site) {
  Slot& slot = lane_slot();
  memcpy(slot.value, value, bytes);
  meet(mask, Meeting::exchange, site, complete_gather);
  const unsigned lanes = slot.source;
  for (unsigned left = lanes; left != 0; left &= left - 1) {
    const unsigned l = __builtin_ctz(left);
    memcpy(static_cast<unsigned char*>(out) + l * bytes, lane_slot(l).result, bytes);
  }
  // A second meeting, so that no lane brings its next value while another still reads this one.
  meet(mask, Meeting::sync, site, nullptr);
  return lanes;
}

void all_arrived() {
  if (observer.block_barrier) observer.block_barrier();
  note_event();
}

void wait_grid(Site site) {
  current()->site = site;
  if (!grid.cooperative) abandon(720, "grid.sync() in a launch that is not cooperative");
  park(Wait::grid);
}

void release_grid_barrier(const std::vector<Block*>& blocks) {
  for (const Block* b : blocks) {
    for (unsigned i = 0; i < machine.threads; ++i) {
      if (b->thread[i].wait != Wait::grid && b->thread[i].wait != Wait::finished) return;
    }
  }
  for (Block* b : blocks) {
    for (unsigned i = 0; i < machine.threads; ++i) {
      if (b->thread[i].wait != Wait::grid) continue;
      b->thread[i].wait = Wait::ready;
      b->ready.push_back(&b->thread[i]);
    }
  }
  if (observer.grid_barrier) observer.grid_barrier();
  ++grid.events;
}

}  // namespace emu
