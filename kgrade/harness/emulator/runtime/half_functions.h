// The functions of cuda_fp16.h and cuda_bf16.h, for both types at once.
#pragma once

inline float __half2float(__half v) { return v; }
inline __half __float2half(float v) { return v; }
inline __half __float2half_rn(float v) { return v; }
inline __half __double2half(double v) { return v; }
inline float __bfloat162float(__nv_bfloat16 v) { return v; }
inline __nv_bfloat16 __float2bfloat16(float v) { return v; }
inline __nv_bfloat16 __float2bfloat16_rn(float v) { return v; }
inline __nv_bfloat16 __double2bfloat16(double v) { return v; }

#define EMU_DIRECTED(suffix, mode)                                                                             \
  inline __half __float2half_##suffix(float v) {                                                               \
    return __half_raw{emu::directed(v, emu::Towards::mode, emu::float_to_half_bits, emu::half_bits_to_float)}; \
  }                                                                                                            \
  inline __nv_bfloat16 __float2bfloat16_##suffix(float v) {                                                    \
    return __nv_bfloat16_raw{                                                                                  \
        emu::directed(v, emu::Towards::mode, emu::float_to_bfloat16_bits, emu::bfloat16_bits_to_float)};       \
  }
EMU_DIRECTED(rz, zero)
EMU_DIRECTED(ru, up)
EMU_DIRECTED(rd, down)
#undef EMU_DIRECTED

namespace emu {
inline float saturated(float v) { return v > 0.0f ? fminf(v, 1.0f) : 0.0f; }
}

inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
inline __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
inline float2 __half22float2(__half2 v) { return {float(v.x), float(v.y)}; }
inline __half2 __half2half2(__half a) { return {a, a}; }
inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half2 make_half2(__half a, __half b) { return {a, b}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__nv_bfloat16(a), __nv_bfloat16(b)}; }
inline __nv_bfloat162 __float2bfloat162_rn(float a) { return {__nv_bfloat16(a), __nv_bfloat16(a)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {float(v.x), float(v.y)}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }

inline short __half_as_short(__half v) { return short(v.bits); }
inline unsigned short __half_as_ushort(__half v) { return v.bits; }
inline __half __short_as_half(short v) { return __half_raw{(unsigned short)v}; }
inline __half __ushort_as_half(unsigned short v) { return __half_raw{v}; }
inline short __bfloat16_as_short(__nv_bfloat16 v) { return short(v.bits); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.bits; }
inline __nv_bfloat16 __short_as_bfloat16(short v) { return __nv_bfloat16_raw{(unsigned short)v}; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short v) { return __nv_bfloat16_raw{v}; }

#define EMU_PAIRWISE(name, scalar)                                                                         \
  inline __half2 name##2(__half2 a, __half2 b) { return {scalar(a.x, b.x), scalar(a.y, b.y)}; }            \
  inline __nv_bfloat162 name##2(__nv_bfloat162 a, __nv_bfloat162 b) { return {scalar(a.x, b.x), scalar(a.y, b.y)}; }
#define EMU_BINARY(name, expression)                                                            \
  inline __half name(__half a, __half b) { using T = __half; return T(expression); }            \
  inline __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b) { using T = __nv_bfloat16; return T(expression); } \
  EMU_PAIRWISE(name, name)
EMU_BINARY(__hadd, float(a) + float(b))
EMU_BINARY(__hsub, float(a) - float(b))
EMU_BINARY(__hmul, float(a) * float(b))
EMU_BINARY(__hdiv, float(a) / float(b))
EMU_BINARY(__hmax, fmaxf(a, b))
EMU_BINARY(__hmin, fminf(a, b))
#undef EMU_BINARY
// Forms whose pairs have the `2` inside the name. Saturation takes NaN to zero, relu keeps it.
#define EMU_FORM(name, suffix, expression)                                                                     \
  inline __half name##suffix(__half a, __half b) { using T = __half; return T(expression); }                   \
  inline __nv_bfloat16 name##suffix(__nv_bfloat16 a, __nv_bfloat16 b) { using T = __nv_bfloat16; return T(expression); } \
  inline __half2 name##2##suffix(__half2 a, __half2 b) { return {name##suffix(a.x, b.x), name##suffix(a.y, b.y)}; }      \
  inline __nv_bfloat162 name##2##suffix(__nv_bfloat162 a, __nv_bfloat162 b) { return {name##suffix(a.x, b.x), name##suffix(a.y, b.y)}; }
EMU_FORM(__hadd, _rn, float(a) + float(b))
EMU_FORM(__hsub, _rn, float(a) - float(b))
EMU_FORM(__hmul, _rn, float(a) * float(b))
EMU_FORM(__hadd, _sat, emu::saturated(T(float(a) + float(b))))
EMU_FORM(__hsub, _sat, emu::saturated(T(float(a) - float(b))))
EMU_FORM(__hmul, _sat, emu::saturated(T(float(a) * float(b))))
EMU_FORM(__hmax, _nan, float(a) != float(a) || float(b) != float(b) ? __builtin_nanf("") : fmaxf(a, b))
EMU_FORM(__hmin, _nan, float(a) != float(a) || float(b) != float(b) ? __builtin_nanf("") : fminf(a, b))
#undef EMU_FORM
inline __half2 __h2div(__half2 a, __half2 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }
inline __nv_bfloat162 __h2div(__nv_bfloat162 a, __nv_bfloat162 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }

inline __half __hfma(__half a, __half b, __half c) { return __half(emu::fused(a, b, c)); }
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) { return __nv_bfloat16(emu::fused(a, b, c)); }
template <class T> inline T __hfma_relu(T a, T b, T c) { const T v = __hfma(a, b, c); return float(v) < 0 ? T(0.0f) : v; }
template <class T> inline T __hfma_sat(T a, T b, T c) { return T(emu::saturated(__hfma(a, b, c))); }
#define EMU_FMA2(Pair, pair)                                                                            \
  inline Pair __hfma2(Pair a, Pair b, Pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  inline Pair __hfma2_sat(Pair a, Pair b, Pair c) { return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)}; } \
  inline Pair __hfma2_relu(Pair a, Pair b, Pair c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; } \
  /* a complex product and sum: x is the real part */                                              \
  inline Pair __hcmadd(Pair a, Pair b, Pair c) {                                                   \
    return {__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};    \
  }                                                                                                \
  inline Pair __hneg2(Pair a) { return {-a.x, -a.y}; }                                             \
  inline Pair operator-(Pair a) { return __hneg2(a); }                                             \
  inline Pair operator+(Pair a) { return a; }                                                      \
  inline Pair operator+(Pair a, Pair b) { return __hadd2(a, b); }                                  \
  inline Pair operator-(Pair a, Pair b) { return __hsub2(a, b); }                                  \
  inline Pair operator*(Pair a, Pair b) { return __hmul2(a, b); }                                  \
  inline Pair operator/(Pair a, Pair b) { return __h2div(a, b); }                                  \
  inline Pair& operator+=(Pair& a, Pair b) { return a = a + b; }                                   \
  inline Pair& operator-=(Pair& a, Pair b) { return a = a - b; }                                   \
  inline Pair& operator*=(Pair& a, Pair b) { return a = a * b; }                                   \
  inline Pair& operator/=(Pair& a, Pair b) { return a = a / b; }                                   \
  inline Pair __lowhigh2highlow(Pair a) { return {a.y, a.x}; }                                     \
  inline Pair __lows2##pair(Pair a, Pair b) { return {a.x, b.x}; }                           \
  inline Pair __highs2##pair(Pair a, Pair b) { return {a.y, b.y}; }                          \
  inline Pair __low2##pair(Pair a) { return {a.x, a.x}; }                                    \
  inline Pair __high2##pair(Pair a) { return {a.y, a.y}; }                                   \
  inline float __low2float(Pair a) { return a.x; }                                                 \
  inline float __high2float(Pair a) { return a.y; }                                                \
  inline Pair __habs2(Pair a) { a.x.bits &= 0x7fff; a.y.bits &= 0x7fff; return a; }
EMU_FMA2(__half2, half2)
EMU_FMA2(__nv_bfloat162, bfloat162)
#undef EMU_FMA2
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }

#define EMU_UNARY(name, expression)                                                                   \
  inline __half h##name(__half v) { const float x = v; return __half(expression); }                   \
  inline __nv_bfloat16 h##name(__nv_bfloat16 v) { const float x = v; return __nv_bfloat16(expression); } \
  inline __half2 h2##name(__half2 v) { return {h##name(v.x), h##name(v.y)}; }                         \
  inline __nv_bfloat162 h2##name(__nv_bfloat162 v) { return {h##name(v.x), h##name(v.y)}; }
EMU_UNARY(exp, expf(x))
EMU_UNARY(exp2, exp2f(x))
EMU_UNARY(log, logf(x))
EMU_UNARY(exp10, exp10f(x))
EMU_UNARY(log2, log2f(x))
EMU_UNARY(log10, log10f(x))
EMU_UNARY(sqrt, sqrtf(x))
EMU_UNARY(rsqrt, float(1.0 / sqrt(double(x))))
EMU_UNARY(rcp, 1.0f / x)
EMU_UNARY(sin, sinf(x))
EMU_UNARY(cos, cosf(x))
EMU_UNARY(tanh, tanhf(x))
EMU_UNARY(tanh_approx, tanhf(x))
EMU_UNARY(floor, floorf(x))
EMU_UNARY(ceil, ceilf(x))
EMU_UNARY(trunc, truncf(x))
EMU_UNARY(rint, nearbyintf(x))
#undef EMU_UNARY

#define EMU_TESTS(Type)                                                                 \
  inline Type __hneg(Type v) { return -v; }                                             \
  inline Type __habs(Type v) { v.bits &= 0x7fff; return v; }                            \
  inline bool __hisnan(Type v) { return float(v) != float(v); }                         \
  inline int __hisinf(Type v) { return std::isinf(float(v)) ? (float(v) < 0 ? -1 : 1) : 0; }
EMU_TESTS(__half)
EMU_TESTS(__nv_bfloat16)
#undef EMU_TESTS
#undef EMU_PAIRWISE

#include "half_comparisons.h"
#include "half_conversions.h"
