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

#define EMU_FROM_INTEGER(name, type)                                          \
  inline __half __##name##2half_rn(type v) { return __half(v); }              \
  inline __nv_bfloat16 __##name##2bfloat16_rn(type v) { return __nv_bfloat16(v); }
EMU_FROM_INTEGER(int, int)
EMU_FROM_INTEGER(uint, unsigned)
EMU_FROM_INTEGER(short, short)
EMU_FROM_INTEGER(ushort, unsigned short)
EMU_FROM_INTEGER(ll, long long)
#undef EMU_FROM_INTEGER
inline int __half2int_rn(__half v) { return int(nearbyintf(v)); }
inline int __half2int_rz(__half v) { return int(truncf(v)); }
inline int __half2int_rd(__half v) { return int(floorf(v)); }
inline int __half2int_ru(__half v) { return int(ceilf(v)); }
inline int __bfloat162int_rn(__nv_bfloat16 v) { return int(nearbyintf(v)); }
inline int __bfloat162int_rz(__nv_bfloat16 v) { return int(truncf(v)); }

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
EMU_BINARY(__hadd_sat, fminf(fmaxf(float(a) + float(b), 0.0f), 1.0f))
EMU_BINARY(__hmul_sat, fminf(fmaxf(float(a) * float(b), 0.0f), 1.0f))
#undef EMU_BINARY
inline __half2 __h2div(__half2 a, __half2 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }
inline __nv_bfloat162 __h2div(__nv_bfloat162 a, __nv_bfloat162 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }

inline __half __hfma(__half a, __half b, __half c) { return __half(emu::fused(a, b, c)); }
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) { return __nv_bfloat16(emu::fused(a, b, c)); }
template <class T> inline T __hfma_relu(T a, T b, T c) { const T v = __hfma(a, b, c); return float(v) > 0 ? v : T(0.0f); }
#define EMU_FMA2(Pair)                                                                             \
  inline Pair __hfma2(Pair a, Pair b, Pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  inline Pair __hneg2(Pair a) { return {-a.x, -a.y}; }                                             \
  inline Pair operator+(Pair a, Pair b) { return __hadd2(a, b); }                                  \
  inline Pair operator-(Pair a, Pair b) { return __hsub2(a, b); }                                  \
  inline Pair operator*(Pair a, Pair b) { return __hmul2(a, b); }                                  \
  inline Pair operator/(Pair a, Pair b) { return __h2div(a, b); }                                  \
  inline Pair& operator+=(Pair& a, Pair b) { return a = a + b; }                                   \
  inline Pair& operator-=(Pair& a, Pair b) { return a = a - b; }                                   \
  inline Pair& operator*=(Pair& a, Pair b) { return a = a * b; }                                   \
  inline Pair __lowhigh2highlow(Pair a) { return {a.y, a.x}; }                                     \
  inline Pair __lows2half2(Pair a, Pair b) { return {a.x, b.x}; }                                  \
  inline Pair __highs2half2(Pair a, Pair b) { return {a.y, b.y}; }                                 \
  inline Pair __low2half2(Pair a) { return {a.x, a.x}; }                                           \
  inline Pair __high2half2(Pair a) { return {a.y, a.y}; }                                          \
  inline float __low2float(Pair a) { return a.x; }                                                 \
  inline float __high2float(Pair a) { return a.y; }                                                \
  inline Pair __habs2(Pair a) { a.x.bits &= 0x7fff; a.y.bits &= 0x7fff; return a; }
EMU_FMA2(__half2)
EMU_FMA2(__nv_bfloat162)
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
EMU_UNARY(log2, log2f(x))
EMU_UNARY(sqrt, sqrtf(x))
EMU_UNARY(rsqrt, float(1.0 / sqrt(double(x))))
EMU_UNARY(rcp, 1.0f / x)
EMU_UNARY(sin, sinf(x))
EMU_UNARY(cos, cosf(x))
EMU_UNARY(tanh, tanhf(x))
EMU_UNARY(floor, floorf(x))
EMU_UNARY(ceil, ceilf(x))
EMU_UNARY(trunc, truncf(x))
EMU_UNARY(rint, nearbyintf(x))
#undef EMU_UNARY

#define EMU_TESTS(Type)                                                                 \
  inline Type __hneg(Type v) { return -v; }                                             \
  inline Type __habs(Type v) { v.bits &= 0x7fff; return v; }                            \
  inline bool __hisnan(Type v) { return float(v) != float(v); }                         \
  inline int __hisinf(Type v) { return std::isinf(float(v)) ? (float(v) < 0 ? -1 : 1) : 0; } \
  inline bool __heq(Type a, Type b) { return a == b; }                                  \
  inline bool __hne(Type a, Type b) { return a != b && !__hisnan(a) && !__hisnan(b); }  \
  inline bool __hlt(Type a, Type b) { return a < b; }                                   \
  inline bool __hgt(Type a, Type b) { return a > b; }                                   \
  inline bool __hle(Type a, Type b) { return a <= b; }                                  \
  inline bool __hge(Type a, Type b) { return a >= b; }
EMU_TESTS(__half)
EMU_TESTS(__nv_bfloat16)
#undef EMU_TESTS
#undef EMU_PAIRWISE
