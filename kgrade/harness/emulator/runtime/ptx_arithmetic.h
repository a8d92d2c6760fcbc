// Arithmetic and conversions of inline PTX, one function for all types of an instruction. Meanings: PTX ISA.
#pragma once
#include "float_math.h"
#include "fp8.h"
#include "half.h"

namespace emu {
namespace ptx {

template <int kBytes> struct Bits;
template <> struct Bits<1> { using type = uint8_t; };
template <> struct Bits<2> { using type = uint16_t; };
template <> struct Bits<4> { using type = uint32_t; };
template <> struct Bits<8> { using type = uint64_t; };

// A register holds bits: what is a float to one instruction may be an integer to the next.
template <class To, class From>
EMU_INLINE To held(From value) {
  using Same = typename Bits<sizeof(From)>::type;
  if constexpr (std::is_same<To, From>::value) {
    return value;
  } else if constexpr (std::is_pointer<From>::value) {
    return To(uint64_t(value));
  } else if constexpr (std::is_floating_point<To>::value && std::is_floating_point<From>::value) {
    return To(value);  // a constant
  } else if constexpr ((std::is_integral<To>::value && std::is_integral<From>::value) || std::is_enum<From>::value) {
    return To(value);
  } else if constexpr (std::is_integral<From>::value) {
    return as<To>(typename Bits<sizeof(To)>::type(value));
  } else if constexpr (std::is_integral<To>::value) {
    return To(as<Same>(value));
  } else {
    static_assert(sizeof(To) == sizeof(From), "a register and an operand of one size");
    return as<To>(value);
  }
}
template <class To, class From>
EMU_INLINE void move(To& to, From value) { to = held<std::remove_cv_t<To>>(value); }

inline float flush(float v) { return std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v; }
inline __half flush(__half v) {
  if ((v.bits & 0x7c00) == 0) v.bits &= 0x8000;
  return v;
}
inline __half2 flush(__half2 v) { return {flush(v.x), flush(v.y)}; }

template <class T> T add(T a, T b) { return T(a + b); }
template <class T> T sub(T a, T b) { return T(a - b); }
template <class T> T mul(T a, T b) { return T(a * b); }
// Divided by zero, integers give whatever the machine gives (PTX ISA, div); here all bits, as devices do.
template <class T> T div(T a, T b) { return b == 0 ? T(~T(0)) : b == T(-1) ? T(a * b) : T(a / b); }
template <class T> T rem(T a, T b) { return b == 0 ? a : b == T(-1) && std::is_signed<T>::value ? T(0) : T(a % b); }
template <class T> T real_div(T a, T b) { return a / b; }
inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline double fma(double a, double b, double c) { return std::fma(a, b, c); }
template <class T> T neg(T v) { return T(-v); }
template <class T> T abs(T v) { return T(v < T(0) ? -v : v); }
inline float abs(float v) { return std::fabs(v); }
inline double abs(double v) { return std::fabs(v); }
template <class T> T min(T a, T b) { return b < a ? b : a; }
template <class T> T max(T a, T b) { return a < b ? b : a; }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
#define EMU_NARROW_ARITHMETIC(One, Pair)                                  \
  inline One fma(One a, One b, One c) { return __hfma(a, b, c); }         \
  inline Pair fma(Pair a, Pair b, Pair c) { return __hfma2(a, b, c); }    \
  inline One abs(One v) { return __habs(v); }                             \
  inline Pair abs(Pair v) { return __habs2(v); }                          \
  inline Pair neg(Pair v) { return __hneg2(v); }                          \
  inline One min(One a, One b) { return __hmin(a, b); }                   \
  inline One max(One a, One b) { return __hmax(a, b); }                   \
  inline Pair min(Pair a, Pair b) { return __hmin2(a, b); }               \
  inline Pair max(Pair a, Pair b) { return __hmax2(a, b); }               \
  inline One ex2(One v) { return hexp2(v); }                              \
  inline Pair ex2(Pair v) { return h2exp2(v); }                           \
  inline One tanh(One v) { return htanh(v); }                             \
  inline Pair tanh(Pair v) { return h2tanh(v); }
EMU_NARROW_ARITHMETIC(__half, __half2)
EMU_NARROW_ARITHMETIC(__nv_bfloat16, __nv_bfloat162)
#undef EMU_NARROW_ARITHMETIC
inline float ex2(float v) { return exp2f(v); }
inline float tanh(float v) { return tanhf(v); }
inline float rcp(float v) { return 1.0f / v; }
inline double rcp(double v) { return 1.0 / v; }
inline float rsqrt(float v) { return rsqrtf(v); }
inline double rsqrt(double v) { return 1.0 / std::sqrt(v); }
inline float sqrt(float v) { return std::sqrt(v); }
inline double sqrt(double v) { return std::sqrt(v); }
template <class T> T copysign(T sign, T size) { return std::copysign(size, sign); }

template <class T> T both(T a, T b) { return T(a & b); }
template <class T> T either(T a, T b) { return T(a | b); }
template <class T> T differ(T a, T b) { return T(a ^ b); }
template <class T> T invert(T v) { return T(~v); }
inline bool invert(bool v) { return !v; }
// A count beyond the width moves every bit out (PTX ISA, shl and shr).
template <class T> T shl(T v, unsigned by) { return by >= 8 * sizeof(T) ? T(0) : T(v << by); }
template <class T> T shr(T v, unsigned by) {
  constexpr unsigned last = 8 * sizeof(T) - 1;
  return by <= last ? T(v >> by) : std::is_signed<T>::value ? T(v >> last) : T(0);
}
inline unsigned popc(uint32_t v) { return unsigned(__builtin_popcount(v)); }
inline unsigned popc(uint64_t v) { return unsigned(__builtin_popcountll(v)); }
inline unsigned clz(uint32_t v) { return unsigned(__clz(int(v))); }
inline unsigned clz(uint64_t v) { return unsigned(__clzll((long long)v)); }
inline uint32_t brev(uint32_t v) { return __brev(v); }
inline uint64_t brev(uint64_t v) { return __brevll(v); }
// The highest bit that differs from the sign, or all bits where there is none.
template <class T> unsigned bfind(T v) {
  const auto bits = std::make_unsigned_t<T>(std::is_signed<T>::value && v < 0 ? ~v : v);
  return bits == 0 ? ~0u : unsigned(63 - __builtin_clzll(bits));
}
template <class T> T sad(T a, T b, T c) { return T(c + (a < b ? b - a : a - b)); }

// Position and length are the low eight bits of theirs. Beyond the field stands its sign, or zero.
template <class T> T bfe(T a, unsigned position, unsigned length) {
  using Bits = std::make_unsigned_t<T>;
  constexpr unsigned last = 8 * sizeof(T) - 1;
  position &= 0xff, length &= 0xff;
  const unsigned top = std::min(position + length - 1, last);
  const bool sign = std::is_signed<T>::value && length != 0 && (Bits(a) >> top & 1) != 0;
  Bits out = 0;
  for (unsigned i = 0; i <= last; ++i) {
    const bool bit = i < length && position + i <= last ? (Bits(a) >> (position + i) & 1) != 0 : sign;
    out |= Bits(bit) << i;
  }
  return T(out);
}
template <class T> T bfi(T a, T b, unsigned position, unsigned length) {
  constexpr unsigned width = 8 * sizeof(T);
  position &= 0xff, length &= 0xff;
  const T ones = length >= width ? T(~T(0)) : T((T(1) << length) - 1);
  const T mask = shl(ones, position);
  return T((b & ~mask) | (shl(a, position) & mask));
}
inline unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned out = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if (table >> i & 1) out |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return out;
}

// prmt: four of the eight bytes of (b, a); but for `any` the two low bits of c choose one of four selections.
enum class Bytes { any, f4e, b4e, rc8, ecl, ecr, rc16 };
inline unsigned prmt(Bytes mode, unsigned a, unsigned b, unsigned c) {
  constexpr unsigned kChosen[][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333},
      {0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return __byte_perm(a, b, mode == Bytes::any ? c : kChosen[int(mode) - 1][c & 3]);
}

template <class A, class B> unsigned dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += unsigned(int(A(a >> i)) * int(B(b >> i)));
  return c;
}
// dp2a: two values of 16 bits with two of the four bytes of b.
template <class A, class B, int kHigh> unsigned dp2a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 2; ++i) c += unsigned(int(A(a >> 16 * i)) * int(B(b >> (16 * kHigh + 8 * i))));
  return c;
}

template <class To, class From> To clamped(From v) {
  const __int128 low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max(), whole = v;
  return To(whole < low ? low : whole > high ? high : whole);
}
inline unsigned packed(unsigned short high, unsigned short low) { return unsigned(high) << 16 | low; }
inline unsigned pack_half(float high, float low) { return packed(__half(high).bits, __half(low).bits); }
inline unsigned pack_bf16(float high, float low) { return packed(__nv_bfloat16(high).bits, __nv_bfloat16(low).bits); }
inline unsigned pack_half_rz(float high, float low) { return packed(__float2half_rz(high).bits, __float2half_rz(low).bits); }
inline unsigned pack_bf16_rz(float high, float low) {
  return packed(__float2bfloat16_rz(high).bits, __float2bfloat16_rz(low).bits);
}
inline unsigned round_tf32(float v) {
  const unsigned bits = as<unsigned>(v);
  return (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
}
template <class Format> uint16_t pack_fp8(float high, float low) {
  return uint16_t(Format::narrow(high, true) << 8 | Format::narrow(low, true));
}
template <class Format> uint16_t narrow_fp8(unsigned pair) {
  return pack_fp8<Format>(half_bits_to_float(uint16_t(pair >> 16)), half_bits_to_float(uint16_t(pair)));
}
template <class Format> unsigned widen_fp8(unsigned pair) {
  return pack_half(Format::widen(uint8_t(pair >> 8)), Format::widen(uint8_t(pair)));
}

}  // namespace ptx
}  // namespace emu
