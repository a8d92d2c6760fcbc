// Integer intrinsics, and the ways to see bits of one type as another.
#pragma once
#include <cstdint>
#include <cstring>

#include "language.h"

namespace emu {
template <class To, class From>
inline To as(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits in another type");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
}  // namespace emu

inline int __float_as_int(float v) { return emu::as<int>(v); }
inline unsigned __float_as_uint(float v) { return emu::as<unsigned>(v); }
inline float __int_as_float(int v) { return emu::as<float>(v); }
inline float __uint_as_float(unsigned v) { return emu::as<float>(v); }
inline long long __double_as_longlong(double v) { return emu::as<long long>(v); }
inline double __longlong_as_double(long long v) { return emu::as<double>(v); }
inline int __double2loint(double v) { return int(emu::as<uint64_t>(v)); }
inline int __double2hiint(double v) { return int(emu::as<uint64_t>(v) >> 32); }
inline double __hiloint2double(int high, int low) { return emu::as<double>(uint64_t(unsigned(high)) << 32 | unsigned(low)); }

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(unsigned(v)); }
inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll((unsigned long long)v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __brev(unsigned v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(v);
}
inline unsigned long long __brevll(unsigned long long v) {
  return (unsigned long long)__brev(unsigned(v)) << 32 | __brev(unsigned(v >> 32));
}
// PTX prmt: each nibble of `selector` picks one of eight bytes; its top bit asks for the byte's sign in every bit.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t bytes = uint64_t(y) << 32 | x;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = selector >> (4 * i) & 0xf;
    unsigned byte = unsigned(bytes >> (8 * (pick & 7))) & 0xff;
    if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
    out |= byte << (8 * i);
  }
  return out;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned((uint64_t(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned((uint64_t(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline int __mulhi(int a, int b) { return int(int64_t(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(uint64_t(a) * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __mul24(int a, int b) { return int(unsigned(int(unsigned(a) << 8) >> 8) * unsigned(int(unsigned(b) << 8) >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline unsigned __sad(int a, int b, unsigned c) { return c + unsigned(a > b ? (long long)a - b : (long long)b - a); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }
inline int __hadd(int a, int b) { return int((int64_t(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return int((int64_t(a) + b + 1) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return unsigned((uint64_t(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return unsigned((uint64_t(a) + b) >> 1); }

// The n-th set bit of `mask` from bit `base` on, upwards for n > 0 and downwards for n < 0; 0: `base` itself.
inline unsigned __fns(unsigned mask, unsigned base, int n) {
  if (n == 0) return mask >> base & 1 ? base : ~0u;
  const int step = n > 0 ? 1 : -1;
  for (int at = int(base), left = n * step; at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) != 0 && --left == 0) return unsigned(at);
  }
  return ~0u;
}

inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c = int(unsigned(c) + unsigned(int8_t(a >> 8 * i) * int8_t(b >> 8 * i)));
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
  return c;
}
inline int __dp4a(char4 a, char4 b, int c) { return __dp4a(emu::as<int>(a), emu::as<int>(b), c); }
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) { return __dp4a(emu::as<unsigned>(a), emu::as<unsigned>(b), c); }
// Two values of 16 bits with two of the four bytes of b.
#define EMU_DP2A(name, shift)                                                                             \
  inline int name(int a, int b, int c) {                                                                  \
    for (int i = 0; i < 2; ++i) c = int(unsigned(c) + unsigned(int16_t(a >> 16 * i) * int8_t(b >> (shift + 8 * i)))); \
    return c;                                                                                             \
  }                                                                                                       \
  inline unsigned name(unsigned a, unsigned b, unsigned c) {                                              \
    for (int i = 0; i < 2; ++i) c += (a >> 16 * i & 0xffff) * (b >> (shift + 8 * i) & 0xff);              \
    return c;                                                                                             \
  }                                                                                                       \
  inline int name(short2 a, char4 b, int c) { return name(emu::as<int>(a), emu::as<int>(b), c); }         \
  inline unsigned name(ushort2 a, uchar4 b, unsigned c) { return name(emu::as<unsigned>(a), emu::as<unsigned>(b), c); }
EMU_DP2A(__dp2a_lo, 0)
EMU_DP2A(__dp2a_hi, 16)
#undef EMU_DP2A
