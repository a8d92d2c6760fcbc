// Atomics. One CPU thread runs everything, so each is a plain read, change and write that nothing can interrupt.
#pragma once
#include <cstring>
#include <type_traits>

#include "half.h"
#include "language.h"
#include "machine.h"

namespace emu {

#ifdef EMU_CHECKS
void touch_atomic(const void* address, size_t bytes, Site site);
#else
inline void touch_atomic(const void*, size_t, Site) {}
#endif

// The change itself is left out of the checks' sight: they have been told that it is atomic.
template <class T, class Change>
EMU_UNSEEN inline T change(T* address, Site site, Change next) {
  touch_atomic(address, sizeof(T), site);
  count_spin();
  const T old = *address;
  *address = next(old);
  return old;
}

}  // namespace emu

#define EMU_ATOMIC_SCOPED(name, type, expression) \
  inline type name(type* address, type v, emu::Site site = emu::Site::here()) { \
    return emu::change(address, site, [v](type old) EMU_UNSEEN -> type { return expression; }); \
  }
#define EMU_ATOMIC(name, type, expression) \
  EMU_ATOMIC_SCOPED(atomic##name, type, expression) \
  EMU_ATOMIC_SCOPED(atomic##name##_block, type, expression) \
  EMU_ATOMIC_SCOPED(atomic##name##_system, type, expression)

#define EMU_ATOMIC_INTEGERS(name, expression) \
  EMU_ATOMIC(name, int, expression) \
  EMU_ATOMIC(name, unsigned, expression) \
  EMU_ATOMIC(name, unsigned long long, expression)

// Signed sums wrap: they are made in the unsigned type.
EMU_ATOMIC(Add, int, int(unsigned(old) + unsigned(v)))
EMU_ATOMIC(Add, unsigned, old + v)
EMU_ATOMIC(Add, unsigned long long, old + v)
EMU_ATOMIC(Add, float, old + v)
EMU_ATOMIC(Add, double, old + v)
EMU_ATOMIC(Add, __half, old + v)
EMU_ATOMIC(Add, __half2, __hadd2(old, v))
EMU_ATOMIC(Add, __nv_bfloat16, old + v)
EMU_ATOMIC(Add, __nv_bfloat162, __hadd2(old, v))
EMU_ATOMIC(Add, float2, (float2{old.x + v.x, old.y + v.y}))
EMU_ATOMIC(Add, float4, (float4{old.x + v.x, old.y + v.y, old.z + v.z, old.w + v.w}))
EMU_ATOMIC(Sub, int, int(unsigned(old) - unsigned(v)))
EMU_ATOMIC(Sub, unsigned, old - v)
EMU_ATOMIC_INTEGERS(Min, old < v ? old : v)
EMU_ATOMIC(Min, long long, old < v ? old : v)
EMU_ATOMIC_INTEGERS(Max, old > v ? old : v)
EMU_ATOMIC(Max, long long, old > v ? old : v)
EMU_ATOMIC_INTEGERS(And, old & v)
EMU_ATOMIC_INTEGERS(Or, old | v)
EMU_ATOMIC_INTEGERS(Xor, old ^ v)
EMU_ATOMIC_INTEGERS(Exch, ((void)old, v))
EMU_ATOMIC(Exch, float, ((void)old, v))
EMU_ATOMIC(Inc, unsigned, old >= v ? 0 : old + 1)
EMU_ATOMIC(Dec, unsigned, old == 0 || old > v ? v : old - 1)
#undef EMU_ATOMIC_INTEGERS
#undef EMU_ATOMIC
#undef EMU_ATOMIC_SCOPED

#define EMU_CAS_SCOPED(name, type) \
  inline type name(type* address, type compare, type v, emu::Site site = emu::Site::here()) { \
    return emu::change(address, site, [=](type old) EMU_UNSEEN -> type { return old == compare ? v : old; }); \
  }
#define EMU_CAS(type) \
  EMU_CAS_SCOPED(atomicCAS, type) \
  EMU_CAS_SCOPED(atomicCAS_block, type) \
  EMU_CAS_SCOPED(atomicCAS_system, type)
EMU_CAS(int)
EMU_CAS(unsigned)
EMU_CAS(unsigned long long)
EMU_CAS(unsigned short)
#undef EMU_CAS
#undef EMU_CAS_SCOPED

// Of any 16 bytes (sm_90 and later), compared bit by bit.
#define EMU_WIDE(suffix)                                                                                            \
  template <class T, std::enable_if_t<sizeof(T) == 16 && alignof(T) == 16, int> = 0>                                \
  EMU_UNSEEN inline T atomicCAS##suffix(T* address, T compare, T v, emu::Site site = emu::Site::here()) {           \
    return emu::change(address, site, [&](T old) EMU_UNSEEN { return memcmp(&old, &compare, 16) == 0 ? v : old; }); \
  }                                                                                                                 \
  template <class T, std::enable_if_t<sizeof(T) == 16 && alignof(T) == 16, int> = 0>                                \
  EMU_UNSEEN inline T atomicExch##suffix(T* address, T v, emu::Site site = emu::Site::here()) {                     \
    return emu::change(address, site, [&](T) EMU_UNSEEN { return v; });                                             \
  }
EMU_WIDE()
EMU_WIDE(_block)
EMU_WIDE(_system)
#undef EMU_WIDE
