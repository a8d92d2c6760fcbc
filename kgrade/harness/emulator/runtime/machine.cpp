// The scheduler: which CUDA thread runs next, and when those that wait may go on.
#include "machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fibers.h"
#include "grid.h"
#include "observer.h"

namespace emu {

Grid grid;

namespace {

// Every thread may come back from `yield` this often while nothing else happens before the block counts as stuck.
constexpr unsigned long kPatience = 2000;

void* main_stack;  // the launching thread's, to which a block returns

unsigned take_fiber() {
  if (!grid.free_fibers.empty()) {
    const unsigned fiber = grid.free_fibers.back();
    grid.free_fibers.pop_back();
    return fiber;
  }
  return grid.fibers_made++;
}

[[noreturn]] void leave_to_main() {
  void* ignored;
  emu_switch(&ignored, main_stack);
  __builtin_unreachable();
}

void make_current(Thread* thread) {
  machine.rank = static_cast<unsigned>(thread - machine.thread);
  machine.spins = 0;
  threadIdx = grid.index_of[machine.rank];
}

void switch_to_next(void** save);

// Where every fiber begins: it runs threads until none is left that has not begun.
void fiber_main() {
  grid.run_threads(grid.body);
  grid.free_fibers.push_back(grid.running_fiber);
  void* ignored;
  switch_to_next(&ignored);
  __builtin_unreachable();
}

Thread* take_ready() {
  Block& b = block();
  if (machine.shuffled) {
    const size_t pick = b.ready_head + grid.random() % (b.ready.size() - b.ready_head);
    std::swap(b.ready[b.ready_head], b.ready[pick]);
  }
  Thread* thread = b.ready[b.ready_head++];
  if (b.ready_head == b.ready.size()) {
    b.ready.clear();
    b.ready_head = 0;
  }
  return thread;
}

// Nobody can run. Let lanes that converge go on together, or else say why the block stands still.
bool resolve_standstill() {
  if (release_converged()) return true;
  if (release_complete_meetings()) return true;
  return false;
}

void switch_to_next(void** save) {
  for (;;) {
    const bool fresh = machine.started < machine.threads;
    Block& b = block();
    const bool ready = b.ready_head < b.ready.size();
    if (fresh && (!ready || !machine.shuffled || grid.random() % 2 == 0)) {
      const unsigned fiber = take_fiber();
      grid.running_fiber = fiber;
      void* to = fresh_fiber(fiber, fiber_main);
      emu_switch(save, to);
      return;
    }
    if (ready) {
      Thread* next = take_ready();
      next->wait = Wait::running;
      --machine.parked;
      make_current(next);
      grid.running_fiber = next->fiber;
      if (save == &next->stack) return;  // it is the one that asked
      emu_switch(save, next->stack);
      return;
    }
    if (machine.finished == machine.threads || !resolve_standstill()) {
      emu_switch(save, main_stack);
      return;
    }
  }
}

void shuffle(unsigned* values, unsigned count) {
  for (unsigned i = 0; i < count; ++i) values[i] = i;
  for (unsigned i = count; i > 1; --i) std::swap(values[i - 1], values[grid.random() % i]);
}

void begin_block(Block& b, unsigned long number) {
  b.number = number;
  b.index = {static_cast<unsigned>(number % gridDim.x), static_cast<unsigned>(number / gridDim.x % gridDim.y),
             static_cast<unsigned>(number / (static_cast<unsigned long>(gridDim.x) * gridDim.y))};
  b.begun = true;
  b.barrier = {};
  memset(b.waiting_lanes, 0, sizeof b.waiting_lanes);  // a kernel that was abandoned leaves lanes behind
  if (b.used_named) memset(b.named, 0, sizeof b.named);
  b.used_named = false;
  b.ready.clear();
  b.ready_head = 0;
  b.idle_yields = 0;
  b.started = b.finished = b.parked = 0;
  if (machine.shuffled) {
    shuffle(b.order, machine.threads);
    for (unsigned i = 0; i < machine.threads; ++i) b.thread[i].wait = Wait::ready;
  }
}

// Copies what the machine keeps of the running block, and the shared memory, into the block and back.
void suspend_block(Block& b) {
  b.started = machine.started;
  b.finished = machine.finished;
  b.parked = machine.parked;
  b.shared.resize(shared_bytes(machine.dynamic_bytes));
  save_shared(b.shared.data(), machine.dynamic_bytes);
}

void enter_block(Block& b) {
  grid.block = &b;
  blockIdx = b.index;
  machine.thread = b.thread;
  machine.order = b.order;
  machine.started = b.started;
  machine.finished = b.finished;
  machine.parked = b.parked;
  if (!b.shared.empty()) restore_shared(b.shared.data(), machine.dynamic_bytes);
}

// Runs the block until it has finished or stands still.
void run_block() {
  if (block().started == 0 && observer.block_begins) observer.block_begins();
  switch_to_next(&main_stack);
}

const char* standstill(const Block& b) {
  bool at_block = false, at_warp = false, at_named = false;
  for (unsigned i = 0; i < machine.threads; ++i) {
    at_block |= b.thread[i].wait == Wait::block;
    at_warp |= b.thread[i].wait == Wait::warp;
    at_named |= b.thread[i].wait == Wait::named;
  }
  if (at_warp) return "lanes of a warp wait for lanes of their mask that never come";
  if (at_named) return "threads wait at a named barrier for threads that never come";
  if (at_block) return "threads wait at a barrier for threads that never come";
  return "threads wait for memory that no other thread writes";
}

// Runs blocks one after another. A block that waits for others (a grid barrier, a flag in memory) is put aside and
// taken up again after them, so that blocks which need each other are all resident in the end.
void run_blocks(const unsigned* order, unsigned long count) {
  std::vector<Block*> aside;
  Block* fresh = grid.take_block();
  for (unsigned long n = 0; n < count; ++n) {
    begin_block(*fresh, order != nullptr ? order[n] : n);
    enter_block(*fresh);
    run_block();
    if (grid.error != 0) return;
    if (machine.finished == machine.threads) {
      if (observer.block_ends) observer.block_ends();
      continue;
    }
    suspend_block(*fresh);
    aside.push_back(fresh);
    fresh = grid.take_block();
  }
  unsigned rounds_without_progress = 0;
  while (!aside.empty()) {
    const unsigned long passed = grid.events;
    release_grid_barrier(aside);
    std::vector<Block*> still;
    bool progress = grid.events != passed;
    for (Block* b : aside) {
      enter_block(*b);
      const unsigned before = machine.finished;
      const unsigned long events = grid.events;
      if (b->ready_head < b->ready.size()) run_block();
      if (grid.error != 0) return;
      progress |= machine.finished != before || grid.events != events;
      if (machine.finished == machine.threads) {
        if (observer.block_ends) observer.block_ends();
        b->shared.clear();
        grid.return_block(b);
        continue;
      }
      suspend_block(*b);
      still.push_back(b);
    }
    rounds_without_progress = progress ? 0 : rounds_without_progress + 1;
    if (rounds_without_progress > 2) {
      enter_block(*still.front());
      if (observer.standstill) observer.standstill(standstill(*still.front()));
      grid.error = 719;  // cudaErrorLaunchFailure: on the device it would hang until the watchdog
      grid.why = standstill(*still.front());
      return;
    }
    aside = std::move(still);
  }
}

}  // namespace

void begin_thread(unsigned rank) {
  make_current(machine.thread + rank);
  current()->wait = Wait::running;
}

// The first thread of a block to wait writes down how it stands with the others, which none of them had to do.
void count_parked() {
  if (machine.parked++ != 0 || machine.shuffled) return;
  for (unsigned i = 0; i < machine.threads; ++i) {
    if (i != machine.rank) machine.thread[i].wait = i < machine.started ? Wait::finished : Wait::ready;
  }
}

void park(Wait why) {
  Thread* me = current();
  count_parked();
  me->wait = why;
  me->fiber = grid.running_fiber;
  switch_to_next(&me->stack);
}

void make_ready(Thread* thread) {
  thread->wait = Wait::ready;
  block().ready.push_back(thread);
}

void yield() {
  machine.spins = 0;
  Block& b = block();
  Thread* me = current();
  me->fiber = grid.running_fiber;
  count_parked();
  make_ready(me);
  if (++b.idle_yields > kPatience * machine.threads) {
    // Only spinning threads are left: they wait for another block. Stop the block here and take it up later.
    b.idle_yields = 0;
    emu_switch(&me->stack, main_stack);
    return;
  }
  switch_to_next(&me->stack);
}

void note_event() {
  ++grid.events;
  block().idle_yields = 0;
}

void abandon(int error, const char* why) {
  grid.error = error;
  grid.why = why;
  leave_to_main();
}

bool cooperative() { return grid.cooperative; }

int run_grid(void (*run_threads)(const void*), const void* body, bool is_cooperative) {
  if (machine.on_device) return 901;  // a kernel launched from a kernel: refused before, by the translation
  grid.run_threads = run_threads;
  grid.body = body;
  grid.cooperative = is_cooperative;
  grid.error = 0;
  grid.why = nullptr;
  grid.reset_fibers();
  machine.threads = blockDim.x * blockDim.y * blockDim.z;
  machine.shuffled = grid.seed != 0;
  machine.flat = blockDim.x == machine.threads;
  for (unsigned i = 0; i < machine.threads; ++i) {
    grid.index_of[i] = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
  }
  machine.on_device = true;
  const unsigned long blocks = static_cast<unsigned long>(gridDim.x) * gridDim.y * gridDim.z;
  if (machine.shuffled) {
    std::vector<unsigned> order(blocks);
    shuffle(order.data(), static_cast<unsigned>(blocks));
    run_blocks(order.data(), blocks);
  } else {
    run_blocks(nullptr, blocks);
  }
  machine.on_device = false;
  grid.return_all();
  return grid.error;
}

}  // namespace emu
