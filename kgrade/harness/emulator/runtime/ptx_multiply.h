// mma.sync: a product of matrices that the lanes of a warp hold between them. Shapes and layouts: PTX ISA, warp-level
// matrix multiply-accumulate instructions.
#pragma once
#include <type_traits>

#include "ptx_arithmetic.h"
#include "warp.h"

namespace emu {
namespace ptx {

// Kinds of operands: how many elements a register holds, what the multiplier sees of each, and what it adds up in.
template <int kHeld, class S, class R = unsigned>
struct Operand {
  static constexpr int held = kHeld;
  using Sum = S;
  using Register = R;
};
struct F16 : Operand<2, float> {
  static float of(unsigned r, int e) { return half_bits_to_float(uint16_t(r >> 16 * e)); }
};
struct BF16 : Operand<2, float> {
  static float of(unsigned r, int e) { return bfloat16_bits_to_float(uint16_t(r >> 16 * e)); }
};
struct TF32 : Operand<1, float> { static float of(unsigned r, int) { return as<float>(r & ~0x1fffu); } };
struct F64 : Operand<1, double, double> { static double of(double r, int) { return r; } };
struct FP8E4M3 : Operand<4, float> {
  static float of(unsigned r, int e) { return E4M3::widen(uint8_t(r >> 8 * e)); }
};
struct FP8E5M2 : Operand<4, float> {
  static float of(unsigned r, int e) { return E5M2::widen(uint8_t(r >> 8 * e)); }
};
struct S8 : Operand<4, int> { static int of(unsigned r, int e) { return int8_t(r >> 8 * e); } };
struct U8 : Operand<4, int> { static int of(unsigned r, int e) { return uint8_t(r >> 8 * e); } };
struct S4 : Operand<8, int> { static int of(unsigned r, int e) { return int(r << (28 - 4 * e)) >> 28; } };
struct U4 : Operand<8, int> { static int of(unsigned r, int e) { return int(r >> 4 * e & 15); } };
struct B1 : Operand<32, int> { static int of(unsigned r, int e) { return int(r >> e & 1); } };

// What is added up of two elements: their product, or of single bits what .xor.popc and .and.popc count.
struct Times { template <class S> static S of(S a, S b) { return a * b; } };
struct Differing { static int of(int a, int b) { return a ^ b; } };

// What one lane holds of a product of kRows x 8 elements over a length of 4 kRegisters registers.
template <class A, class B, int kRows, int kRegisters>
struct Held {
  typename A::Register a[kRegisters * kRows / 8], b[kRegisters];
  typename A::Sum c[kRows / 4], d[kRows / 4];
};

// The lanes' own variables, through their slots; null where a lane takes no part.
template <class T>
EMU_UNSEEN void brought(T** all, unsigned lanes) {
  for (unsigned l = 0; l < kWarp; ++l) {
    all[l] = nullptr;
    if (lanes >> l & 1) memcpy(&all[l], lane_slot(l).value, sizeof all[l]);
  }
}
template <class T>
inline void exchange(T& mine, void (*complete)(unsigned), Site site) {
  T* const at = &mine;
  memcpy(lane_slot().value, &at, sizeof at);
  meet(~0u, Meeting::exchange, site, complete);
}

// Lane 4 g + t holds rows g and g + 8 of A, column g of B, and columns 2 t and 2 t + 1 of C; its registers of A and B
// hold neighbours along the length of the product, the next pair of them what is 4 registers further on. C is added to
// the sum of the products, so that an accumulator is rounded once for each instruction, and not once for each product.
template <class A, class B, int kRows, int kRegisters, class Product, class Total>
EMU_UNSEEN void multiply(unsigned lanes) {
  constexpr int held = A::held, k = kRegisters * 4 * held, rows = kRows / 8;
  Held<A, B, kRows, kRegisters>* all[kWarp];
  brought(all, lanes);
  typename A::Sum left[kRows][k] = {}, right[k][8] = {}, sum[kRows][8] = {};
  for (int l = 0; l < int(kWarp); ++l) {
    if (all[l] == nullptr) continue;
    const int g = l / 4, t = l % 4;
    for (int r = 0; r < kRegisters; ++r) {
      for (int e = 0; e < held; ++e) {
        const int at = (4 * r + t) * held + e;
        for (int half = 0; half < rows; ++half) left[g + 8 * half][at] = A::of(all[l]->a[r * rows + half], e);
        right[at][g] = B::of(all[l]->b[r], e);
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int i = 0; i < k; ++i)
      for (int n = 0; n < 8; ++n) sum[r][n] += Product::of(left[r][i], right[i][n]);
  for (int l = 0; l < int(kWarp); ++l) {
    if (all[l] == nullptr) continue;
    for (int i = 0; i < 2 * rows; ++i) {
      const Total total = Total(all[l]->c[i]) + Total(sum[l / 4 + 8 * (i / 2)][2 * (l % 4) + i % 2]);
      if constexpr (std::is_same<Total, long long>::value) all[l]->d[i] = clamped<int>(total);
      else all[l]->d[i] = total;
    }
  }
}

// With `long long` for Total an integer sum ends at its limits (.satfinite).
template <class A, class B, int kRows, int kRegisters, class Product, class Total, class Register, class Sum>
EMU_UNSEEN inline void mma(Sum* d, const Register* a, const Register* b, const Sum* c, Site site) {
  Held<A, B, kRows, kRegisters> mine;
  memcpy(mine.a, a, sizeof mine.a);
  memcpy(mine.b, b, sizeof mine.b);
  memcpy(mine.c, c, sizeof mine.c);
  exchange(mine, multiply<A, B, kRows, kRegisters, Product, Total>, site);
  memcpy(d, mine.d, sizeof mine.d);
}

// Accumulators in half: two to a register, rounded once for each instruction.
inline void widen_pairs(float* to, const unsigned* from, int pairs) {
  for (int i = 0; i < 2 * pairs; ++i) to[i] = half_bits_to_float(uint16_t(from[i / 2] >> 16 * (i % 2)));
}
inline void narrow_pairs(unsigned* to, const float* from, int pairs) {
  for (int i = 0; i < pairs; ++i) to[i] = pack_half(from[2 * i + 1], from[2 * i]);
}
template <class A, class B, int kRows, int kRegisters>
EMU_UNSEEN inline void mma_half(unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c, Site site) {
  float sum[kRows / 4];
  widen_pairs(sum, c, kRows / 8);
  mma<A, B, kRows, kRegisters, Times, float>(sum, a, b, sum, site);
  narrow_pairs(d, sum, kRows / 8);
}

// m8n8k4 of halves: four products at once, the q-th by lanes 4 q to 4 q + 3 and those 16 further on, which have the
// lower rows of A and C, and the right columns of B. A and B lie by rows or by columns.
struct Quarter { unsigned a[2], b[2]; float c[8], d[8]; };

// Where element i of a lane's accumulators lies; halves lie by rows.
struct Spot { int row, column; };
inline Spot quarter_spot(int lane, int i, bool halves) {
  const int low = lane < 16 ? 0 : 4;
  return halves ? Spot{lane % 4 + low, i} : Spot{(lane & 1) + (i & 2) + low, (i & 4) + (lane & 2) + (i & 1)};
}

template <bool kRowsA, bool kRowsB, bool kHalfC, bool kHalfD>
EMU_UNSEEN void multiply_quarters(unsigned lanes) {
  Quarter* all[kWarp];
  brought(all, lanes);
  for (int q = 0; q < 4; ++q) {
    float left[8][4] = {}, right[4][8] = {}, plus[8][8] = {}, sum[8][8] = {};
    const auto lane_of = [q](int n) { return 4 * q + n % 4 + n / 4 * 16; };
    for (int n = 0; n < 8; ++n) {
      const Quarter* mine = all[lane_of(n)];
      if (mine == nullptr) continue;
      const int t = n % 4, low = n / 4 * 4;
      for (int i = 0; i < 4; ++i) {
        (kRowsA ? left[t + low][i] : left[i + low][t]) = F16::of(mine->a[i / 2], i % 2);
        (kRowsB ? right[t][i + low] : right[i][t + low]) = F16::of(mine->b[i / 2], i % 2);
      }
      for (int i = 0; i < 8; ++i) {
        const Spot at = quarter_spot(lane_of(n), i, kHalfC);
        plus[at.row][at.column] = mine->c[i];
      }
    }
    for (int r = 0; r < 8; ++r)
      for (int i = 0; i < 4; ++i)
        for (int n = 0; n < 8; ++n) sum[r][n] += left[r][i] * right[i][n];
    for (int n = 0; n < 8; ++n) {
      Quarter* mine = all[lane_of(n)];
      if (mine == nullptr) continue;
      for (int i = 0; i < 8; ++i) {
        const Spot at = quarter_spot(lane_of(n), i, kHalfD);
        mine->d[i] = plus[at.row][at.column] + sum[at.row][at.column];
      }
    }
  }
}

template <bool kRowsA, bool kRowsB, class D, class C>
EMU_UNSEEN inline void mma_quarters(D* d, const unsigned* a, const unsigned* b, const C* c, Site site) {
  constexpr bool half_c = std::is_same<C, unsigned>::value, half_d = std::is_same<D, unsigned>::value;
  Quarter mine;
  memcpy(mine.a, a, sizeof mine.a);
  memcpy(mine.b, b, sizeof mine.b);
  if constexpr (half_c) widen_pairs(mine.c, c, 4);
  else memcpy(mine.c, c, sizeof mine.c);
  exchange(mine, multiply_quarters<kRowsA, kRowsB, half_c, half_d>, site);
  if constexpr (half_d) narrow_pairs(d, mine.d, 4);
  else memcpy(d, mine.d, sizeof mine.d);
}

}  // namespace ptx
}  // namespace emu
