// The checks: every access of a kernel comes here through the hooks (hooks.cpp) that the compiler places before it.
// This file and what it calls are compiled without those hooks.
#ifdef EMU_CHECKS
#include <link.h>
#include <pthread.h>

#include <cstring>
#include <deque>
#include <vector>

#include "copies.h"
#include "fibers.h"
#include "findings.h"
#include "grid.h"
#include "order.h"
#include "storage.h"
#include "tensors.h"

namespace emu {
namespace {

constexpr int kIllegalAddress = 700, kMisaligned = 716;

std::vector<void*> quarantine;  // freed memory, kept so that a use of it is seen
std::vector<Region*> shared_of_block;

// Two conflicts are harmless, and only what follows tells: a second write of bytes that writes what stands there
// already, and a plain read of a word that is the first guess of a compare-and-swap on it. The hook comes before the
// access, so the judgement waits for the next event.
struct Doubt {
  bool open = false;
  bool wrote;
  const void* address;
  size_t bytes;
  unsigned char before[16];
  uint3 block, thread;
  uint32_t place;
  Other other;
  std::string what;
};
Doubt doubt;

void settle_doubt(const void* next, Access how) {
  if (!doubt.open) return;
  doubt.open = false;
  if (doubt.wrote && memcmp(doubt.address, doubt.before, doubt.bytes) == 0) return;
  if (!doubt.wrote && next == doubt.address && how == Access::atomic) return;
  const uint3 block = blockIdx, thread = threadIdx;
  blockIdx = doubt.block;
  threadIdx = doubt.thread;
  report("race", doubt.what, doubt.place, doubt.other);
  blockIdx = block;
  threadIdx = thread;
}

void settle_last_doubt() { settle_doubt(nullptr, Access::read); }

bool on_launching_stack(uintptr_t address) {
  static thread_local uintptr_t low = 0, high = 0;
  if (high == 0) {
    pthread_attr_t attributes;
    void* start = nullptr;
    size_t bytes = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &start, &bytes);
    pthread_attr_destroy(&attributes);
    low = reinterpret_cast<uintptr_t>(start);
    high = low + bytes;
  }
  return address >= low && address < high;
}

// Whether an address lies in this shared object: constants, device globals, tables.
bool in_object(uintptr_t address) {
  static std::vector<std::pair<uintptr_t, uintptr_t>> segments;
  if (segments.empty()) {
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void*) {
          std::vector<std::pair<uintptr_t, uintptr_t>> found;
          bool mine = false;
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
            const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;
            found.push_back({start, end});
            const auto here = reinterpret_cast<uintptr_t>(dynamic_storage);
            mine |= here >= start && here < end;
          }
          if (mine) segments = found;
          return mine ? 1 : 0;
        },
        nullptr);
  }
  for (const auto& [start, end] : segments) {
    if (address >= start && address < end) return true;
  }
  return false;
}

bool in_dynamic_storage(uintptr_t address) {
  const auto start = reinterpret_cast<uintptr_t>(dynamic_storage);
  return address >= start && address < start + sizeof dynamic_storage;
}

const char* verb(Access how) { return how == Access::atomic ? "atomic" : writes(how) ? "write" : "read"; }
const char* past(const Touch& touch, bool wrote) { return touch.atomic ? "atomic" : wrote ? "write" : "read"; }

std::string sized(Access how, size_t bytes) { return std::string(verb(how)) + " of " + std::to_string(bytes) + " bytes"; }

[[noreturn]] void out_of_bounds(uintptr_t address, size_t bytes, Access how, uint32_t place, const Region* near) {
  std::string what = sized(how, bytes);
  if (near == nullptr) {
    what += " at an address that belongs to no allocation";
  } else {
    const bool after = address >= near->start;
    const size_t distance = after ? address - near->start : near->start - address;
    what += after ? ", " + std::to_string(distance) + " bytes from the start of " : ", " + std::to_string(distance) + " bytes before ";
    what += near->name + " (" + std::to_string(near->bytes) + " bytes)";
  }
  report(near != nullptr && near->space == Space::shared ? "shared-out-of-bounds" : "global-out-of-bounds", what, place);
  abandon(kIllegalAddress, "an illegal memory access");
}

// Returns null when the memory is of a kind that is not tracked: the object's own variables, stacks.
Region* tracked(uintptr_t address, size_t bytes, Access how, uint32_t place) {
  Region* region = find_region(address);
  if (region != nullptr) {
    if (region->freed) {
      report("use-after-free", sized(how, bytes) + " in memory that was freed", place);
      abandon(kIllegalAddress, "a use after free");
    }
    if (!region->holds(address, bytes)) out_of_bounds(address, bytes, how, place, region);
    return region;
  }
  const void* pointer = reinterpret_cast<void*>(address);
  if (on_fiber_stack(pointer) || on_launching_stack(address) || grid.owns(pointer)) return nullptr;
  if (in_dynamic_storage(address)) {
    Region* dynamic = find_region(reinterpret_cast<uintptr_t>(dynamic_storage + kGuard));
    out_of_bounds(address, bytes, how, place, dynamic);
  }
  Region* near = nearest_region(address);
  const size_t guard = near == nullptr ? 0 : near->space == Space::shared ? kGuard : near->guard;
  if (near != nullptr && address + bytes + guard > near->start && address < near->end() + guard) {
    out_of_bounds(address, bytes, how, place, near);
  }
  if (in_object(address) || tensors_watched()) return nullptr;  // PyTorch, and what it calls, have memory of their own
  out_of_bounds(address, bytes, how, place, near);
}

void look_for_race(Region& region, uintptr_t address, size_t bytes, Access how, uint32_t place) {
  const bool writing = writes(how), atomic = synchronises(how);
  for (uintptr_t at = address & ~uintptr_t(3); at < address + bytes; at += 4) {
    Word& word = region.words.get()[(at - (region.start & ~uintptr_t(3))) / 4];
    unsigned mask = 0;
    for (unsigned b = 0; b < 4; ++b) mask |= unsigned(at + b >= address && at + b < address + bytes) << b;
    const auto conflicts = [&](const Touch& touch) {
      // Another block had this storage for its own shared memory before.
      if (region.space == Space::shared && touch.thread / kMaxThreads != grid.block->number) return false;
      return (touch.bytes & mask) != 0 && !(atomic && touch.atomic) && !ordered_before(touch);
    };
    const auto tell = [&](const Touch& touch, bool wrote) {
      const std::string what = std::string(verb(how)) + " of " + region.name + " at byte " + std::to_string(address - region.start) +
                               ", with no barrier after the " + past(touch, wrote) + " by another thread";
      const Other other{touch.thread, touch.place, past(touch, wrote)};
      const bool same_value = writing && wrote && !atomic && !touch.atomic;
      if ((same_value || (!writing && touch.atomic)) && bytes <= sizeof doubt.before) {
        doubt = {true, writing, reinterpret_cast<void*>(address), bytes, {}, blockIdx, threadIdx, place, other, what};
        memcpy(doubt.before, doubt.address, bytes);
      } else {
        report("race", what, place, other);
      }
    };
    if (conflicts(word.write)) tell(word.write, true);
    if (writing && conflicts(word.first_read)) tell(word.first_read, false);
    if (writing && conflicts(word.last_read)) tell(word.last_read, false);
    Touch now = touch_now(place, mask, atomic);
    if (writing) {
      if (word.write.thread == now.thread && word.write.epoch == now.epoch && word.write.atomic == atomic) now.bytes |= word.write.bytes;
      word.write = now;
      if (ordered_before(word.first_read)) word.first_read = {};
      if (ordered_before(word.last_read)) word.last_read = {};
    } else if (word.first_read.bytes == 0 || ordered_before(word.first_read)) {
      word.first_read = now;
    } else {
      word.last_read = now;
    }
  }
}

void require_alignment(const void* pointer, size_t bytes, Access how, uint32_t place) {
  if (bytes < 2 || reinterpret_cast<uintptr_t>(pointer) % bytes == 0) return;
  report("misaligned", sized(how, bytes) + " at an address that is no multiple of it", place);
  abandon(kMisaligned, "a misaligned address");
}

}  // namespace

void check(const void* pointer, size_t bytes, Access how, uint32_t place, bool natural) {
  if (!machine.on_device) return;
  settle_doubt(pointer, how);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  Region* region = tracked(address, bytes, how, place);
  if (synchronises(how)) {
    order_atomic(address, current()->fenced && writes(how));
  } else if (writes(how) && region != nullptr && region->space == Space::global) {
    current()->fenced = false;  // what is written now has not been handed over
  }
  if (natural) require_alignment(pointer, bytes, how, place);
  if (region == nullptr) return;
  if (reads(how) && any_unwritten(*region, address, bytes)) {
    report(region->space == Space::shared ? "shared-uninitialised" : "global-uninitialised",
           sized(how, bytes) + " of " + region->name + " at byte " + std::to_string(address - region->start) + ", never written", place);
    mark_written(*region, address, bytes);
  }
  if (writes(how)) mark_written(*region, address, bytes);
  if (region->space == Space::global || !cooperative()) look_for_race(*region, address, bytes, how, place);
}

namespace {

// --- events from the scheduler and the host API ---

void launch_begins() {
  order_launch_begins();
  shared_of_block.clear();
  add_region(dynamic_storage + kGuard, machine.dynamic_bytes, Space::shared, "dynamic shared memory", false);
}

void block_begins() {
  order_block_begins();
  shared_of_block.clear();
  if (Region* dynamic = find_region(reinterpret_cast<uintptr_t>(dynamic_storage + kGuard))) {
    // Blocks of a cooperative launch take turns in one storage: what is written is known for the first of them only.
    if (!cooperative()) forget_written(*dynamic);
  }
}

void shared_declared(const void* storage, size_t bytes, const char* name) {
  for (const Region* known : shared_of_block) {
    if (known->start == reinterpret_cast<uintptr_t>(storage)) return;
  }
  Region* region = find_region(reinterpret_cast<uintptr_t>(storage));
  if (region == nullptr || region->bytes != bytes) region = &add_region(storage, bytes, Space::shared, name, false);
  if (!cooperative()) forget_written(*region);
  shared_of_block.push_back(region);
}

void allocated(const void* address, size_t bytes, const char* name, bool initialised) {
  add_region(address, bytes, Space::global, name, initialised);
}

void freed(const void* address) {
  if (Region* region = find_region(reinterpret_cast<uintptr_t>(address))) region->freed = true;
  quarantine.push_back(const_cast<void*>(address));
}

// Host memory is unknown to the checks and left alone; memory that they know must hold the whole access.
bool host_access(const void* address, size_t bytes, bool write, const char* what) {
  if (bytes == 0) return true;
  const auto start = reinterpret_cast<uintptr_t>(address);
  Region* region = find_region(start);
  if (region == nullptr) return true;
  if (region->freed || !region->holds(start, bytes)) {
    report(region->freed ? "use-after-free" : "global-out-of-bounds",
           std::string(what) + " of " + std::to_string(bytes) + " bytes in " + region->name + " (" + std::to_string(region->bytes) + " bytes)",
           0);
    return false;
  }
  if (write) mark_written(*region, start, bytes);
  return true;
}

void divergence(const char* what, Site site) {
  report(strstr(what, "shuffle") != nullptr || strstr(what, "mask") != nullptr ? "inactive-lane" : "divergent-barrier", what, place_of(site));
}

void block_barrier() {
  settle_last_doubt();
  order_block_barrier();
}

void standstill(const char* why) {
  for (unsigned i = 0; i < machine.threads; ++i) {
    const Wait wait = machine.thread[i].wait;
    if (wait == Wait::finished || wait == Wait::ready) continue;
    threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    report("hang", why, place_of(machine.thread[i].site));
    return;
  }
  report("hang", why, 0);
}

// Set before the first launch, after the observer itself exists.
const bool watching = [] {
  observer.launch_begins = launch_begins;
  observer.launch_ends = settle_last_doubt;
  observer.block_begins = block_begins;
  observer.block_ends = settle_last_doubt;
  observer.block_barrier = block_barrier;
  observer.grid_barrier = order_grid_barrier;
  observer.warp_meeting = order_warp_meeting;
  observer.divergence = divergence;
  observer.standstill = standstill;
  observer.shared = shared_declared;
  observer.allocated = allocated;
  observer.freed = freed;
  observer.host_access = host_access;
  return true;
}();

}  // namespace

void touch_atomic(const void* address, size_t bytes, Site site) { check(address, bytes, Access::atomic, place_of(site), true); }

namespace ptx {
void touch_row(const void* row, size_t bytes, bool writing, Site site) {
  check(row, bytes, writing ? Access::write : Access::read, place_of(site), true);
}
void require_whole(const volatile void* address, size_t bytes, bool writing, Site site) {
  require_alignment(const_cast<const void*>(address), bytes, writing ? Access::write : Access::read, place_of(site));
}
}  // namespace ptx

void clear_checks() {
  (void)watching;
  for (void* memory : quarantine) free(memory);
  quarantine.clear();
  release_freed_tensors();
  shared_of_block.clear();
  clear_regions();
  clear_findings();
  know_tensors_again();
}

// --- asynchronous copies, as late as they may happen ---

namespace {
struct Copy {
  void* to;
  const void* from;
  unsigned bytes, zeros;
  bool commit;  // the end of a group
};
std::deque<Copy> copies[kMaxThreads];
uint64_t copies_block[kMaxThreads];

std::deque<Copy>& copies_of_thread() {
  if (copies_block[machine.rank] != grid.block->number + 1) {
    copies_block[machine.rank] = grid.block->number + 1;
    copies[machine.rank].clear();
  }
  return copies[machine.rank];
}
}  // namespace

void copy_async(void* to, const void* from, unsigned bytes, unsigned zeros, bool whole) {
  const uint32_t place = place_of(__builtin_return_address(0));
  if (whole) {
    require_alignment(from, bytes, Access::read, place);
    require_alignment(to, bytes, Access::write, place);
  }
  if (bytes > zeros) check(from, bytes - zeros, Access::read, place, false);
  tracked(reinterpret_cast<uintptr_t>(to), bytes, Access::write, place);
  copies_of_thread().push_back({to, from, bytes, zeros, false});
}

void commit_copies() { copies_of_thread().push_back({nullptr, nullptr, 0, 0, true}); }

void wait_copies(unsigned groups_in_flight) {
  auto& mine = copies_of_thread();
  unsigned groups = 0;
  for (const Copy& copy : mine) groups += copy.commit;
  const uint32_t place = place_of(__builtin_return_address(0));
  while (groups > groups_in_flight) {
    const Copy copy = mine.front();
    mine.pop_front();
    if (copy.commit) {
      --groups;
      continue;
    }
    check(copy.to, copy.bytes, Access::write, place, false);
    memcpy(copy.to, copy.from, copy.bytes - copy.zeros);
    memset(static_cast<char*>(copy.to) + copy.bytes - copy.zeros, 0, copy.zeros);
  }
}

}  // namespace emu

namespace nvcuda {
namespace wmma {
namespace detail {
void require_tile(const void* tile, size_t stride, emu::Site site) {
  const bool begins = reinterpret_cast<uintptr_t>(tile) % 16 == 0;
  if (begins && stride % 16 == 0) return;
  const std::string what = begins ? "a fragment's stride of " + std::to_string(stride) + " bytes is no multiple of 16"
                                  : "a fragment at an address that is no multiple of 16";
  emu::report("misaligned", what, emu::place_of(site));
  emu::abandon(emu::kMisaligned, "a misaligned address");
}
}  // namespace detail
}  // namespace wmma
}  // namespace nvcuda

#endif
