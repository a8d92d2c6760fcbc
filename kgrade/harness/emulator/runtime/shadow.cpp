#include "shadow.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace emu {
namespace {

std::map<uintptr_t, Region> regions;
Region* recent = nullptr;  // accesses come in runs

// The bytes of an element in memory: a quiet NaN as float64, float32, float16 and bfloat16, a huge positive integer. Of
// one byte no value is free; the filling is what PyTorch has left there.
unsigned char filling(const Region& region, size_t offset) {
  constexpr unsigned char wide[4] = {0xd7, 0xa3, 0xfd, 0x7f};
  return region.element == 2 ? wide[2 + offset % 2] : wide[offset % 4];
}

bool still_filled(const Region& region, size_t from, size_t to) {
  const auto* memory = reinterpret_cast<const unsigned char*>(region.start);
  for (size_t at = from; at < to; ++at) {
    if (memory[at] != (region.element == 1 ? region.filled : filling(region, at))) return false;
  }
  return true;
}

template <class T>
std::unique_ptr<T, void (*)(void*)> zeroed(size_t count) {
  return {static_cast<T*>(calloc(count, sizeof(T))), std::free};
}

}  // namespace

Region& add_region(const void* address, size_t bytes, Space space, const char* name, bool written) {
  const auto start = reinterpret_cast<uintptr_t>(address);
  recent = nullptr;
  for (auto at = regions.upper_bound(start); at != regions.begin();) {
    --at;
    if (at->second.end() <= start) break;
    at = regions.erase(at);
  }
  while (true) {
    const auto at = regions.lower_bound(start);
    if (at == regions.end() || at->first >= start + bytes) break;
    regions.erase(at);
  }
  Region region;
  region.start = start;
  region.bytes = bytes;
  region.space = space;
  region.name = name;
  region.written = zeroed<unsigned char>(bytes + 1);
  region.words = zeroed<Word>(bytes / 4 + 2);
  if (written) memset(region.written.get(), 1, bytes);
  return regions.emplace(start, std::move(region)).first->second;
}

void remove_region(const void* address) {
  regions.erase(reinterpret_cast<uintptr_t>(address));
  recent = nullptr;
}

Region* find_region(uintptr_t address) {
  if (recent != nullptr && address >= recent->start && address < recent->end()) return recent;
  auto at = regions.upper_bound(address);
  if (at == regions.begin()) return nullptr;
  --at;
  if (address >= at->second.end()) return nullptr;
  return recent = &at->second;
}

Region* nearest_region(uintptr_t address) {
  auto after = regions.upper_bound(address);
  Region* best = after == regions.end() ? nullptr : &after->second;
  if (after != regions.begin()) {
    Region* before = &std::prev(after)->second;
    if (best == nullptr || address - before->end() <= best->start - address) best = before;
  }
  return best;
}

void forget_written(Region& region) { memset(region.written.get(), 0, region.bytes); }

void mark_written(Region& region, uintptr_t address, size_t bytes) {
  memset(region.written.get() + (address - region.start), 1, bytes);
}

bool all_written(const Region& region, uintptr_t address, size_t bytes) {
  return memchr(region.written.get() + (address - region.start), 0, bytes) == nullptr;
}

void fill_unwritten(Region& region, size_t element) {
  auto* memory = reinterpret_cast<unsigned char*>(region.start);
  region.element = element;
  region.filled = memory[0];
  for (size_t at = 0; element > 1 && at < region.bytes; ++at) memory[at] = filling(region, at);
  forget_written(region);
}

bool any_unwritten(const Region& region, uintptr_t address, size_t bytes) {
  if (all_written(region, address, bytes)) return false;
  if (region.element == 0) return true;
  const size_t first = address - region.start, end = first + bytes;
  if (region.element == 1) return still_filled(region, first, end);  // a part of a value may look like the filling
  for (size_t at = first / region.element * region.element; at < end; at += region.element) {
    const size_t next = std::min(at + region.element, region.bytes);
    const size_t from = std::max(at, first), to = std::min(next, end);
    if (!all_written(region, region.start + from, to - from) && still_filled(region, at, next)) return true;
  }
  return false;
}

void clear_regions() {
  regions.clear();
  recent = nullptr;
}

}  // namespace emu
