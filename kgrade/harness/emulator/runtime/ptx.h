// The instructions that inline PTX names, as functions; ptx.py writes the calls. Layouts and meanings: PTX ISA.
#pragma once
#include "barriers.h"
#include "copies.h"
#include "fp8.h"
#include "half.h"
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
namespace ptx {

template <class T> inline void* shared(T address) { return __cvta_shared_to_generic(size_t(uint32_t(address))); }
template <class T> inline void* global(T address) { return (void*)(uintptr_t)(address); }

// A register holds bits: what is a float to one instruction may be an integer to the next.
template <class To, class From>
EMU_INLINE void move(To& to, From value) {
  using Held = std::remove_cv_t<To>;
  if constexpr (sizeof(Held) == sizeof(From) && std::is_floating_point<Held>::value != std::is_floating_point<From>::value) {
    to = as<Held>(value);
  } else {
    to = (Held)value;
  }
}
template <class Held, class From>
inline Held held(From value) {
  Held bits;
  move(bits, value);
  return bits;
}

inline unsigned special_lanemask(int which) {
  const unsigned bit = 1u << lane();
  return which == 0 ? bit : which < 0 ? bit - 1 : ~(bit | (bit - 1));
}

inline unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned out = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if (table >> i & 1) out |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return out;
}
inline unsigned bfe_u32(unsigned a, unsigned position, unsigned length) {
  return length == 0 || position > 31 ? 0 : (a >> position) & (length > 31 ? ~0u : (1u << length) - 1);
}
inline int bfe_s32(int a, unsigned position, unsigned length) {
  if (length == 0) return 0;
  const unsigned last = position + length - 1 > 31 ? 31 : position + length - 1, sign = unsigned(a) >> last & 1;
  const unsigned bits = bfe_u32(unsigned(a), position, length);
  const unsigned have = position > 31 ? 0 : last - position + 1;
  return int(sign && have < 32 ? bits | ~0u << have : bits);
}
inline unsigned bfi(unsigned a, unsigned b, unsigned position, unsigned length) {
  const unsigned mask = position > 31 || length == 0 ? 0 : (length > 31 ? ~0u : (1u << length) - 1) << position;
  return (b & ~mask) | (a << (position & 31) & mask);
}
inline unsigned pack_half(float high, float low) { return unsigned(__half(high).bits) << 16 | __half(low).bits; }
inline unsigned pack_bf16(float high, float low) { return unsigned(__nv_bfloat16(high).bits) << 16 | __nv_bfloat16(low).bits; }
inline unsigned round_tf32(float v) {
  const unsigned bits = as<unsigned>(v);
  return (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
}

// ldmatrix: lane l brings the address of row l % 8 of matrix l / 8, and takes away two neighbours of each matrix.
template <int kCount, bool kTransposed>
EMU_INLINE void ldmatrix(unsigned* out, const void* row, Site site) {
  const void* rows[kWarp];
  gather(~0u, &row, sizeof row, rows, site);
  const unsigned g = lane() / 4, t = lane() % 4 * 2;
  for (int m = 0; m < kCount; ++m) {
    const auto* a = static_cast<const uint16_t*>(rows[8 * m + (kTransposed ? t : g)]);
    const auto* b = static_cast<const uint16_t*>(rows[8 * m + (kTransposed ? t + 1 : g)]);
    out[m] = unsigned(a[kTransposed ? g : t]) | unsigned(b[kTransposed ? g : t + 1]) << 16;
  }
}

// Operand kinds of mma.sync: how many elements a register holds, and what the multiplier sees of each.
struct F16 { static constexpr int held = 2; using Sum = float; static float of(unsigned r, int e) { return half_bits_to_float(uint16_t(r >> 16 * e)); } };
struct BF16 { static constexpr int held = 2; using Sum = float; static float of(unsigned r, int e) { return bfloat16_bits_to_float(uint16_t(r >> 16 * e)); } };
struct TF32 { static constexpr int held = 1; using Sum = float; static float of(unsigned r, int) { return as<float>(r & ~0x1fffu); } };
struct S8 { static constexpr int held = 4; using Sum = int; static int of(unsigned r, int e) { return int8_t(r >> 8 * e); } };
struct U8 { static constexpr int held = 4; using Sum = int; static int of(unsigned r, int e) { return uint8_t(r >> 8 * e); } };
struct FP8E4M3 { static constexpr int held = 4; using Sum = float; static float of(unsigned r, int e) { return E4M3::widen(uint8_t(r >> 8 * e)); } };
struct FP8E5M2 { static constexpr int held = 4; using Sum = float; static float of(unsigned r, int e) { return E5M2::widen(uint8_t(r >> 8 * e)); } };

template <class Kind, int kRegisters>
struct Brought {
  unsigned a[2 * kRegisters], b[kRegisters];
  typename Kind::Sum c[4];
};

// m16n8: lane 4 g + t holds rows g and g + 8 of A, column g of B, and columns 2 t, 2 t + 1 of C.
template <class Kind, int kRegisters>
void multiply(unsigned) {
  using Sum = typename Kind::Sum;
  constexpr int held = Kind::held, k = kRegisters * 4 * held;
  Sum a[16][k], b[k][8], c[16][8];
  for (int l = 0; l < 32; ++l) {
    Brought<Kind, kRegisters> brought;
    memcpy(&brought, lane_slot(l).value, sizeof brought);
    const int g = l / 4, t = l % 4;
    for (int e = 0; e < held; ++e) {
      for (int r = 0; r < 2 * kRegisters; ++r) a[g + 8 * (r & 1)][t * held + (r >> 1) * 4 * held + e] = Kind::of(brought.a[r], e);
      for (int r = 0; r < kRegisters; ++r) b[t * held + r * 4 * held + e][g] = Kind::of(brought.b[r], e);
    }
    for (int i = 0; i < 4; ++i) c[g + 8 * (i >> 1)][2 * t + (i & 1)] = brought.c[i];
  }
  for (int r = 0; r < 16; ++r)
    for (int i = 0; i < k; ++i)
      for (int n = 0; n < 8; ++n) c[r][n] += a[r][i] * b[i][n];
  for (int l = 0; l < 32; ++l) {
    Sum out[4];
    for (int i = 0; i < 4; ++i) out[i] = c[l / 4 + 8 * (i >> 1)][2 * (l % 4) + (i & 1)];
    memcpy(lane_slot(l).result, out, sizeof out);
  }
}

template <class Kind, int kRegisters, class D, class A, class B, class C>
inline void mma(D* d, const A* a, const B* b, const C* c, Site site) {
  Brought<Kind, kRegisters> mine;
  static_assert(sizeof mine <= sizeof(Slot::value), "a lane's registers fit its slot");
  memcpy(mine.a, a, sizeof mine.a);
  memcpy(mine.b, b, sizeof mine.b);
  memcpy(mine.c, c, sizeof mine.c);
  Slot& slot = lane_slot();
  memcpy(slot.value, &mine, sizeof mine);
  meet(~0u, Meeting::exchange, site, multiply<Kind, kRegisters>);
  memcpy(d, slot.result, 4 * sizeof(D));
}
// Accumulators in half: two to a register, rounded once for each instruction.
template <class Kind, int kRegisters>
inline void mma_half(unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c, Site site) {
  float sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = half_bits_to_float(uint16_t(c[i / 2] >> 16 * (i % 2)));
  mma<Kind, kRegisters>(sum, a, b, sum, site);
  for (int i = 0; i < 2; ++i) d[i] = pack_half(sum[2 * i + 1], sum[2 * i]);
}

}  // namespace ptx
}  // namespace emu
