// Matrices that the lanes of a warp hold between them: ldmatrix, stmatrix, movmatrix and mma.sync (PTX ISA).
#pragma once
#include "ptx_arithmetic.h"
#include "warp.h"

namespace emu {
namespace ptx {

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

// stmatrix: the same the other way round.
template <int kCount, bool kTransposed>
EMU_INLINE void stmatrix(void* row, const unsigned* in, Site site) {
  void* rows[kWarp];
  gather(~0u, &row, sizeof row, rows, site);
  const unsigned g = lane() / 4, t = lane() % 4 * 2;
  for (int m = 0; m < kCount; ++m) {
    auto* a = static_cast<uint16_t*>(rows[8 * m + (kTransposed ? t : g)]);
    auto* b = static_cast<uint16_t*>(rows[8 * m + (kTransposed ? t + 1 : g)]);
    a[kTransposed ? g : t] = uint16_t(in[m]);
    b[kTransposed ? g : t + 1] = uint16_t(in[m] >> 16);
  }
}

// movmatrix: lane 4 r + t holds columns 2 t and 2 t + 1 of row r.
inline unsigned transpose(unsigned value, Site site) {
  unsigned all[kWarp];
  gather(~0u, &value, sizeof value, all, site);
  const unsigned g = lane() / 4, t = lane() % 4 * 2, shift = 16 * (g % 2);
  return (all[4 * t + g / 2] >> shift & 0xffff) | (all[4 * t + 4 + g / 2] >> shift) << 16;
}

// Operand kinds of mma.sync: how many elements a register holds, and what the multiplier sees of each.
struct F16 { static constexpr int held = 2; using Sum = float; static float of(unsigned r, int e) { return half_bits_to_float(uint16_t(r >> 16 * e)); } };
struct BF16 { static constexpr int held = 2; using Sum = float; static float of(unsigned r, int e) { return bfloat16_bits_to_float(uint16_t(r >> 16 * e)); } };
struct TF32 { static constexpr int held = 1; using Sum = float; static float of(unsigned r, int) { return as<float>(r & ~0x1fffu); } };
struct S8 { static constexpr int held = 4; using Sum = int; static int of(unsigned r, int e) { return int8_t(r >> 8 * e); } };
struct U8 { static constexpr int held = 4; using Sum = int; static int of(unsigned r, int e) { return uint8_t(r >> 8 * e); } };
struct FP8E4M3 { static constexpr int held = 4; using Sum = float; static float of(unsigned r, int e) { return E4M3::widen(uint8_t(r >> 8 * e)); } };
struct FP8E5M2 { static constexpr int held = 4; using Sum = float; static float of(unsigned r, int e) { return E5M2::widen(uint8_t(r >> 8 * e)); } };

template <class A, class B, int kRegisters>
struct Brought {
  unsigned a[2 * kRegisters], b[kRegisters];
  typename A::Sum c[4];
};

// m16n8: lane 4 g + t holds rows g and g + 8 of A, column g of B, and columns 2 t, 2 t + 1 of C.
template <class A, class B, int kRegisters>
void multiply(unsigned) {
  using Sum = typename A::Sum;
  constexpr int held = A::held, k = kRegisters * 4 * held;
  Sum left[16][k], right[k][8], c[16][8];
  for (int l = 0; l < 32; ++l) {
    Brought<A, B, kRegisters> brought;
    memcpy(&brought, lane_slot(l).value, sizeof brought);
    const int g = l / 4, t = l % 4;
    for (int e = 0; e < held; ++e) {
      for (int r = 0; r < 2 * kRegisters; ++r) left[g + 8 * (r & 1)][t * held + (r >> 1) * 4 * held + e] = A::of(brought.a[r], e);
      for (int r = 0; r < kRegisters; ++r) right[t * held + r * 4 * held + e][g] = B::of(brought.b[r], e);
    }
    for (int i = 0; i < 4; ++i) c[g + 8 * (i >> 1)][2 * t + (i & 1)] = brought.c[i];
  }
  for (int r = 0; r < 16; ++r)
    for (int i = 0; i < k; ++i)
      for (int n = 0; n < 8; ++n) c[r][n] += left[r][i] * right[i][n];
  for (int l = 0; l < 32; ++l) {
    Sum out[4];
    for (int i = 0; i < 4; ++i) out[i] = c[l / 4 + 8 * (i >> 1)][2 * (l % 4) + (i & 1)];
    memcpy(lane_slot(l).result, out, sizeof out);
  }
}

template <class A, class B, int kRegisters, class Sum>
inline void mma(Sum* d, const unsigned* a, const unsigned* b, const Sum* c, Site site) {
  Brought<A, B, kRegisters> mine;
  static_assert(sizeof mine <= sizeof(Slot::value), "a lane's registers fit its slot");
  memcpy(mine.a, a, sizeof mine.a);
  memcpy(mine.b, b, sizeof mine.b);
  memcpy(mine.c, c, sizeof mine.c);
  Slot& slot = lane_slot();
  memcpy(slot.value, &mine, sizeof mine);
  meet(~0u, Meeting::exchange, site, multiply<A, B, kRegisters>);
  memcpy(d, slot.result, 4 * sizeof(Sum));
}
// Accumulators in half: two to a register, rounded once for each instruction.
template <class A, class B, int kRegisters>
inline void mma_half(unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c, Site site) {
  float sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = half_bits_to_float(uint16_t(c[i / 2] >> 16 * (i % 2)));
  mma<A, B, kRegisters>(sum, a, b, sum, site);
  for (int i = 0; i < 2; ++i) d[i] = pack_half(sum[2 * i + 1], sum[2 * i]);
}

}  // namespace ptx
}  // namespace emu
