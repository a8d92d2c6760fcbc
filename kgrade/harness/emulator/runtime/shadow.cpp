#include "shadow.h"

#include <cstring>
#include <map>

namespace emu {
namespace {

std::map<uintptr_t, Region> regions;
Region* recent = nullptr;  // accesses come in runs

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

void clear_regions() {
  regions.clear();
  recent = nullptr;
}

}  // namespace emu
