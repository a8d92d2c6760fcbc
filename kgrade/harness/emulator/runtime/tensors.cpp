#ifdef EMU_CHECKS
#include "tensors.h"

#include <cstdlib>
#include <deque>
#include <map>
#include <vector>

#include "shadow.h"

namespace emu {
namespace {

using Listener = void (*)(const void* address, unsigned long bytes, int what);

constexpr size_t kMostKept = size_t(1) << 30;

struct Freed {
  void* start;
  const void* address;
  size_t bytes;
};

// Tensors outlive the destructors of statics, so these are never destroyed.
std::map<const void*, size_t>& living_tensors = *new std::map<const void*, size_t>;
std::deque<Freed>& freed_tensors = *new std::deque<Freed>;
std::vector<Listener>& listeners = *new std::vector<Listener>;
size_t bytes_kept = 0;
bool watched = false;

void know(const void* address, size_t bytes) {
  // What PyTorch's own code writes is not seen, so that a tensor counts as written until the worker says otherwise.
  add_region(address, bytes, Space::global, "a tensor", true).guard = kTensorGuard;
}

}  // namespace

bool tensors_watched() { return watched; }

void know_tensors_again() {
  for (const auto& [address, bytes] : living_tensors) know(address, bytes);
}

void tell_tensor(const void* address, size_t bytes, Tensor what) {
  for (const Listener listener : listeners) listener(address, bytes, static_cast<int>(what));
}

void keep_freed_tensor(void* start, const void* address, size_t bytes) {
  freed_tensors.push_back({start, address, bytes});
  bytes_kept += bytes;
  while (bytes_kept > kMostKept) {
    const Freed oldest = freed_tensors.front();
    freed_tensors.pop_front();
    bytes_kept -= oldest.bytes;
    tell_tensor(oldest.address, oldest.bytes, Tensor::forgotten);
    free(oldest.start);
  }
}

void release_freed_tensors() {
  for (const Freed& each : freed_tensors) {
    tell_tensor(each.address, each.bytes, Tensor::forgotten);
    free(each.start);
  }
  freed_tensors.clear();
  bytes_kept = 0;
}

}  // namespace emu

using namespace emu;

#define EMU_CALLED_BY_NAME extern "C" __attribute__((visibility("default")))

// How the extension whose allocator is in use tells every other one.
EMU_CALLED_BY_NAME void kgrade_emulator_tensor(const void* address, unsigned long bytes, int what) {
  watched = true;
  if (what == static_cast<int>(Tensor::allocated)) {
    living_tensors[address] = bytes;
    know(address, bytes);
    return;
  }
  living_tensors.erase(address);
  if (what == static_cast<int>(Tensor::forgotten)) return remove_region(address);
  if (Region* region = find_region(reinterpret_cast<uintptr_t>(address))) region->freed = true;
}

// Says that what lies at `address` has just been allocated, by `empty` or its like, as elements of `element` bytes.
EMU_CALLED_BY_NAME void kgrade_emulator_unwritten(const void* address, unsigned long bytes, unsigned long element) {
  const auto start = reinterpret_cast<uintptr_t>(address);
  Region* region = find_region(start);
  if (region != nullptr && region->start == start && region->bytes == bytes && bytes > 0) fill_unwritten(*region, element);
}

// Says that code which is not watched has written: PyTorch's own.
EMU_CALLED_BY_NAME void kgrade_emulator_written(const void* address, unsigned long bytes) {
  const auto start = reinterpret_cast<uintptr_t>(address);
  Region* region = find_region(start);
  if (region != nullptr && region->holds(start, bytes)) mark_written(*region, start, bytes);
}

// Tells `listener` of all tensors that live, and of those to come.
EMU_CALLED_BY_NAME void kgrade_emulator_tell_tensors(Listener listener) {
  listeners.push_back(listener);
  for (const auto& [address, bytes] : living_tensors) listener(address, bytes, static_cast<int>(Tensor::allocated));
}
#endif
