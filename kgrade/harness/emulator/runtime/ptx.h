// The instructions that inline PTX names, as functions; the package `ptx` writes the calls. Meanings: PTX ISA.
#pragma once
#include "barriers.h"
#include "copies.h"
#include "storage.h"
#include "warp.h"

// Shared addresses fit 32 bits on the device. Here they are counted from a fixed distance before the shared storage,
// within reach of all static variables of the object.
inline size_t __cvta_generic_to_shared(const void* p) {
  return size_t(static_cast<const unsigned char*>(p) - emu::dynamic_storage) + 0x40000000;
}
inline void* __cvta_shared_to_generic(size_t address) { return emu::dynamic_storage + (ptrdiff_t(address) - 0x40000000); }
inline size_t __cvta_generic_to_global(const void* p) { return size_t(p); }

namespace emu {
int multiprocessors();  // of the target

namespace ptx {

template <class T> inline void* shared(T address) { return __cvta_shared_to_generic(size_t(uint32_t(address))); }
template <class T> inline void* global(T address) { return (void*)(uintptr_t)(address); }

inline unsigned special_lanemask(int which) {
  const unsigned bit = 1u << lane();
  return which == 0 ? bit : which < 0 ? bit - 1 : ~(bit | (bit - 1));
}

// What of a copy is not read but filled with zeros: all of it where a predicate says so, else what is beyond a size.
inline unsigned left_out(unsigned size, bool ignored) { return ignored ? size : 0; }
template <class Size> inline unsigned left_out(unsigned size, Size read) { return size - unsigned(read); }

// What one instruction moves: aligned to its whole size.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Vector { T of[kCount]; };

// Volatile and ordered vectors are moved part by part; the instruction's address must be a multiple of all of them.
#ifdef EMU_CHECKS
void require_whole(const volatile void* address, size_t bytes, bool writing, Site site);
#else
inline void require_whole(const volatile void*, size_t, bool, Site) {}
#endif

// shfl.sync: `limits` holds the clamp in bits 0 to 4 and the mask of segments in bits 8 to 12.
enum class Shuffle { up, down, bfly, idx };
template <Shuffle kMode>
inline unsigned shuffle(unsigned value, unsigned by, unsigned limits, unsigned mask, bool& inside, Site site) {
  const int me = int(lane()), segments = int(limits >> 8 & 31), clamp = int(limits & 31), b = int(by & 31);
  const int first = me & segments, last = first | (clamp & ~segments);
  const int from = kMode == Shuffle::up ? me - b : kMode == Shuffle::down ? me + b : kMode == Shuffle::bfly ? me ^ b
                   : first | (b & ~segments);
  inside = kMode == Shuffle::up ? from >= last : from <= last;
  return shuffle_from(mask, value, unsigned(inside ? from : me), site);
}

// elect.sync: one of the lanes; here the lowest.
inline unsigned elect(unsigned mask, Site site) {
  ballot(mask, true, site);
  return unsigned(__builtin_ctz(mask));
}

}  // namespace ptx
}  // namespace emu
