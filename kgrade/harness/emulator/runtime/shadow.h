// What the checks know about memory: which regions exist, which bytes were written, who touched each word last.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "observer.h"

namespace emu {

// Who touched a word: thread (block * 1024 + rank), when (the block's barrier epoch and the lane's own clock), where.
struct Touch {
  uint32_t thread;
  uint32_t epoch;
  uint32_t clock;
  uint32_t place;
  uint8_t bytes;  // of the word, as a mask; 0: nobody yet
  bool atomic;
};

struct Word {
  Touch write;
  Touch first_read;  // since the last write: two readers are remembered, so that a reader who then writes
  Touch last_read;   // does not hide another
};

enum class Space : unsigned char { global, shared };

struct Region {
  uintptr_t start;
  size_t bytes;
  Space space;
  std::string name;
  bool freed = false;
  size_t guard = 0;  // bytes on both sides that belong to nobody
  size_t element = 0;  // of a tensor that holds the filling until it is written: the bytes of its elements
  unsigned char filled = 0;  // what is in each byte, where elements are bytes
  std::unique_ptr<unsigned char, void (*)(void*)> written{nullptr, std::free};  // one byte for each byte
  std::unique_ptr<Word, void (*)(void*)> words{nullptr, std::free};             // one for each four bytes

  uintptr_t end() const { return start + bytes; }
  bool holds(uintptr_t address, size_t size) const { return address >= start && address + size <= end(); }
};

// Adds a region, or replaces those that lie where it lies. Zeroed pages cost nothing until they are touched.
Region& add_region(const void* address, size_t bytes, Space space, const char* name, bool written);
void remove_region(const void* address);
Region* find_region(uintptr_t address);
// The region that ends last before `address`, or begins first after it, whichever is nearer.
Region* nearest_region(uintptr_t address);
void forget_written(Region& region);
void mark_written(Region& region, uintptr_t address, size_t bytes);
bool all_written(const Region& region, uintptr_t address, size_t bytes);
// Fills a tensor that nobody has written with elements that no computation gives (NaN; huge integers), so that a write
// which is not seen, of NumPy or of host code, is known by what it leaves behind.
void fill_unwritten(Region& region, size_t element);
// Whether any element of the access is neither marked as written nor other than it was filled.
bool any_unwritten(const Region& region, uintptr_t address, size_t bytes);
void clear_regions();

}  // namespace emu
