// Asynchronous copies: cp.async, the pipeline primitives, and cuda::memcpy_async in their simplest meaning.
//
// Without checks a copy happens when it is issued. With checks it happens as late as it may, when its group is waited
// for, so that code which reads too early finds what it would find on a device: nothing. A `whole` copy is one
// instruction, both of whose addresses must be multiples of its size.
#pragma once
#include <cstring>

#include "machine.h"

namespace emu {

#ifdef EMU_CHECKS
void copy_async(void* to, const void* from, unsigned bytes, unsigned zeros, bool whole = false);
void commit_copies();
void wait_copies(unsigned groups_in_flight);
#else
inline void copy_async(void* to, const void* from, unsigned bytes, unsigned zeros, bool = false) {
  const unsigned copied = bytes - zeros;
  memcpy(to, from, copied);
  memset(static_cast<char*>(to) + copied, 0, zeros);
}
inline void commit_copies() {}
inline void wait_copies(unsigned) {}
#endif

}  // namespace emu

// `zeros` bytes at the end of the destination are filled with zeros and not read from the source.
EMU_INLINE void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  emu::copy_async(to, from, unsigned(bytes), unsigned(zeros), true);
}
inline void __pipeline_commit() { emu::commit_copies(); }
EMU_INLINE void __pipeline_wait_prior(size_t groups) { emu::wait_copies(unsigned(groups)); }
