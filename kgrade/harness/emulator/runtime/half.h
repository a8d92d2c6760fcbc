// half, bfloat16 and their pairs. Arithmetic is done in float and rounded once: 24 bits are enough for the sum, product,
// quotient and square root of 11-bit numbers to come out correctly rounded; fused products need more (see `fused`).
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#ifdef __F16C__
#include <immintrin.h>
#endif

#include "float_math.h"
#include "integers.h"
#include "language.h"

namespace emu {

// Rounds a double to a float that a later rounding to fewer bits cannot spoil: towards the odd neighbour when inexact
// (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
inline float to_odd(double v) {
  const float near = float(v);
  if (double(near) == v || std::isnan(v) || std::isinf(near)) return near;
  const uint32_t bits = as<uint32_t>(near);
  if (bits & 1) return near;
  const bool away = std::fabs(double(near)) > std::fabs(v);
  return as<float>(away ? bits - 1 : bits + 1);
}

inline uint16_t float_to_half_bits(float f) {
  const uint32_t bits = as<uint32_t>(f);
  const uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7fff;  // CUDA's canonical NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {  // below 2^-14: a denormal, in units of 2^-24
    const float units = as<float>(magnitude) * 16777216.0f;
    return uint16_t(sign | uint16_t(std::nearbyintf(units)));
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return uint16_t(sign | ((rounded - 0x38000000) >> 13));
}

inline float half_bits_to_float(uint16_t h) {
#ifdef __F16C__
  return _cvtsh_ss(h);
#endif
  const uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 0x1f, fraction = h & 0x3ff;
  if (exponent == 0) return as<float>(as<uint32_t>(float(fraction) * 0x1p-24f) | sign);
  if (exponent == 31) return as<float>(sign | 0x7f800000 | fraction << 13);
  return as<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

inline uint16_t float_to_bfloat16_bits(float f) {
  const uint32_t bits = as<uint32_t>(f);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float bfloat16_bits_to_float(uint16_t b) { return as<float>(uint32_t(b) << 16); }

// Rounding towards zero, up or down, from rounding to nearest: step back when nearest went the wrong way.
enum class Towards { zero, up, down };
template <class Narrow, class Widen>
inline uint16_t directed(float f, Towards mode, Narrow narrow, Widen widen) {
  uint16_t bits = narrow(f);
  const float near = widen(bits);
  if (near == f || std::isnan(f) || std::isinf(f)) return bits;
  const bool grew = std::fabs(near) > std::fabs(f), negative = std::signbit(f);
  const bool may_grow = mode == Towards::up ? !negative : mode == Towards::down ? negative : false;
  if (grew && !may_grow) return uint16_t(bits - 1);
  if (!grew && may_grow) return uint16_t(bits + 1);
  return bits;
}

}  // namespace emu

struct __half_raw { unsigned short x; };
struct __nv_bfloat16_raw { unsigned short x; };

#define EMU_NARROW(Type, Raw, to_bits, to_float)                                                          \
  struct Type {                                                                                           \
    unsigned short bits;                                                                                  \
    Type() = default;                                                                                     \
    constexpr Type(Raw raw) : bits(raw.x) {}                                                              \
    Type(float v) : bits(emu::to_bits(v)) {}                                                              \
    Type(double v) : bits(emu::to_bits(emu::to_odd(v))) {}                                                \
    Type(int v) : bits(emu::to_bits(emu::to_odd(double(v)))) {}                                           \
    Type(unsigned v) : bits(emu::to_bits(emu::to_odd(double(v)))) {}                                      \
    Type(long v) : bits(emu::to_bits(emu::to_odd(double(v)))) {}                                          \
    Type(unsigned long v) : bits(emu::to_bits(emu::to_odd(double(v)))) {}                                 \
    Type(long long v) : bits(emu::to_bits(emu::to_odd(double(v)))) {}                                     \
    Type(unsigned long long v) : bits(emu::to_bits(emu::to_odd(double(v)))) {}                            \
    Type(short v) : bits(emu::to_bits(float(v))) {}                                                       \
    Type(unsigned short v) : bits(emu::to_bits(float(v))) {}                                              \
    operator float() const { return emu::to_float(bits); }                                                \
    operator Raw() const { return {bits}; }                                                               \
    Type& operator+=(Type o) { return *this = Type(float(*this) + float(o)); }                            \
    Type& operator-=(Type o) { return *this = Type(float(*this) - float(o)); }                            \
    Type& operator*=(Type o) { return *this = Type(float(*this) * float(o)); }                            \
    Type& operator/=(Type o) { return *this = Type(float(*this) / float(o)); }                            \
    Type& operator++() { return *this += Type(1.0f); }                                                    \
    Type& operator--() { return *this -= Type(1.0f); }                                                    \
    Type operator++(int) { const Type before = *this; ++*this; return before; }                           \
    Type operator--(int) { const Type before = *this; --*this; return before; }                           \
  };                                                                                                      \
  inline Type operator+(Type a, Type b) { return Type(float(a) + float(b)); }                             \
  inline Type operator-(Type a, Type b) { return Type(float(a) - float(b)); }                             \
  inline Type operator*(Type a, Type b) { return Type(float(a) * float(b)); }                             \
  inline Type operator/(Type a, Type b) { return Type(float(a) / float(b)); }                             \
  inline Type operator-(Type a) { a.bits ^= 0x8000; return a; }                                           \
  inline Type operator+(Type a) { return a; }                                                             \
  inline bool operator==(Type a, Type b) { return float(a) == float(b); }                                 \
  inline bool operator!=(Type a, Type b) { return float(a) != float(b); }                                 \
  inline bool operator<(Type a, Type b) { return float(a) < float(b); }                                   \
  inline bool operator>(Type a, Type b) { return float(a) > float(b); }                                   \
  inline bool operator<=(Type a, Type b) { return float(a) <= float(b); }                                 \
  inline bool operator>=(Type a, Type b) { return float(a) >= float(b); }

EMU_NARROW(__half, __half_raw, float_to_half_bits, half_bits_to_float)
EMU_NARROW(__nv_bfloat16, __nv_bfloat16_raw, float_to_bfloat16_bits, bfloat16_bits_to_float)
#undef EMU_NARROW

struct __attribute__((aligned(4))) __half2_raw { unsigned short x, y; };
struct __attribute__((aligned(4))) __nv_bfloat162_raw { unsigned short x, y; };
#define EMU_PAIR(Pair, Type, Raw)                                                      \
  struct __attribute__((aligned(4))) Pair {                                            \
    Type x, y;                                                                         \
    Pair() = default;                                                                  \
    Pair(Type a, Type b) : x(a), y(b) {}                                               \
    Pair(Pair##_raw v) : x(Raw{v.x}), y(Raw{v.y}) {}                                   \
    operator Pair##_raw() const { return {x.bits, y.bits}; }                           \
    Pair& operator++() { ++x, ++y; return *this; }                                     \
    Pair& operator--() { --x, --y; return *this; }                                     \
    Pair operator++(int) { const Pair before = *this; ++*this; return before; }        \
    Pair operator--(int) { const Pair before = *this; --*this; return before; }        \
  };
EMU_PAIR(__half2, __half, __half_raw)
EMU_PAIR(__nv_bfloat162, __nv_bfloat16, __nv_bfloat16_raw)
#undef EMU_PAIR
using half = __half;
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

namespace emu {
// a * b + c rounded once. The product is exact in double; the error of the sum decides towards which side it is odd.
inline float fused(float a, float b, float c) {
  const double product = double(a) * b, sum = product + c;
  const double part = sum - product, error = (product - (sum - part)) + (double(c) - part);
  if (error == 0 || std::isnan(error) || std::isinf(sum)) return to_odd(sum);
  const uint64_t bits = as<uint64_t>(sum);
  if (bits & 1) return to_odd(sum);
  const bool away = (error > 0) == (sum > 0);
  return to_odd(as<double>(away ? bits + 1 : bits - 1));
}
}  // namespace emu

#include "half_functions.h"
