// Mathematics in device code: float functions by their CUDA names, conversions with a rounding mode, fast intrinsics.
//
// Fast intrinsics compute what their definition says (`__expf(x)` is 2^(x * log2 e) in float), rounded to nearest;
// the last bits of the special function unit are not imitated.
#pragma once
#include <cfenv>
#include <cmath>
#include <limits>

#include "integers.h"
#include "language.h"

using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

#define EMU_MINMAX(type)                                              \
  constexpr type min(type a, type b) { return b < a ? b : a; }        \
  constexpr type max(type a, type b) { return a < b ? b : a; }
EMU_MINMAX(int)
EMU_MINMAX(unsigned)
EMU_MINMAX(long)
EMU_MINMAX(unsigned long)
EMU_MINMAX(long long)
EMU_MINMAX(unsigned long long)
#undef EMU_MINMAX
// The mixed forms of CUDA: the unsigned type of the wider argument.
constexpr unsigned min(int a, unsigned b) { return min(unsigned(a), b); }
constexpr unsigned min(unsigned a, int b) { return min(a, unsigned(b)); }
constexpr unsigned max(int a, unsigned b) { return max(unsigned(a), b); }
constexpr unsigned max(unsigned a, int b) { return max(a, unsigned(b)); }
constexpr long min(int a, long b) { return min(long(a), b); }
constexpr long min(long a, int b) { return min(a, long(b)); }
constexpr long max(int a, long b) { return max(long(a), b); }
constexpr long max(long a, int b) { return max(a, long(b)); }
constexpr unsigned long min(long a, unsigned long b) { return min((unsigned long)a, b); }
constexpr unsigned long min(unsigned long a, long b) { return min(a, (unsigned long)b); }
constexpr unsigned long max(long a, unsigned long b) { return max((unsigned long)a, b); }
constexpr unsigned long max(unsigned long a, long b) { return max(a, (unsigned long)b); }
constexpr unsigned long long min(long long a, unsigned long long b) { return min((unsigned long long)a, b); }
constexpr unsigned long long min(unsigned long long a, long long b) { return min(a, (unsigned long long)b); }
constexpr unsigned long long max(long long a, unsigned long long b) { return max((unsigned long long)a, b); }
constexpr unsigned long long max(unsigned long long a, long long b) { return max(a, (unsigned long long)b); }
// Of floating values a NaN loses (IEEE 754 minNum).
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(double(a), b); }
inline double min(double a, float b) { return fmin(a, double(b)); }
inline double max(float a, double b) { return fmax(double(a), b); }
inline double max(double a, float b) { return fmax(a, double(b)); }

inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return float(1.0 / cbrt(double(x))); }
inline float exp10f(float x) { return float(pow(10.0, double(x))); }
inline double exp10(double x) { return pow(10.0, x); }
inline float sinpif(float x) { return float(sin(M_PI * remainder(double(x), 2.0))); }
inline float cospif(float x) { return float(cos(M_PI * remainder(double(x), 2.0))); }
inline double sinpi(double x) { return sin(M_PI * remainder(x, 2.0)); }
inline double cospi(double x) { return cos(M_PI * remainder(x, 2.0)); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }
inline float normcdff(float x) { return float(0.5 * erfc(-double(x) * M_SQRT1_2)); }
inline float erfcxf(float x) { return float(exp(double(x) * x) * erfc(double(x))); }
inline float norm3df(float a, float b, float c) { return float(sqrt(double(a) * a + double(b) * b + double(c) * c)); }
inline float norm4df(float a, float b, float c, float d) {
  return float(sqrt(double(a) * a + double(b) * b + double(c) * c + double(d) * d));
}
inline float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
inline float rhypotf(float a, float b) { return float(1.0 / hypot(double(a), double(b))); }

inline float __expf(float x) { return exp2f(x * 1.4426950408889634f); }
inline float __exp10f(float x) { return exp2f(x * 3.3219280948873623f); }
inline float __logf(float x) { return log2f(x) * 0.6931471805599453f; }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log2f(x) * 0.30102999566398120f; }
inline float __powf(float x, float y) { return exp2f(y * log2f(x)); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return __sinf(x) / __cosf(x); }
inline void __sincosf(float x, float* s, float* c) { *s = __sinf(x); *c = __cosf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }

namespace emu {
// Computes in a rounding mode of the CPU. The volatile copies keep the compiler from computing before or after it.
template <class T, class F>
__attribute__((noinline)) T rounded(int mode, T a, T b, T c, F f) {
  const int before = fegetround();
  volatile T x = a, y = b, z = c;
  fesetround(mode);
  volatile T result = f(x, y, z);
  fesetround(before);
  return result;
}
}  // namespace emu

#define EMU_MODES(prefix, name, type, expression, ...)                                                              \
  inline type prefix##name##_rn(__VA_ARGS__) { return expression; }                                                  \
  inline type prefix##name##_rz(__VA_ARGS__) { return emu::rounded<type>(FE_TOWARDZERO, a, b, c, EMU_F(type, expression)); } \
  inline type prefix##name##_ru(__VA_ARGS__) { return emu::rounded<type>(FE_UPWARD, a, b, c, EMU_F(type, expression)); }     \
  inline type prefix##name##_rd(__VA_ARGS__) { return emu::rounded<type>(FE_DOWNWARD, a, b, c, EMU_F(type, expression)); }
#define EMU_F(type, expression) [](type a, type b, type c) -> type { (void)a, (void)b, (void)c; return expression; }
// Products and sums with a stated rounding are never fused: the barrier keeps a following addition away.
namespace emu {
inline float apart(float v) { asm volatile("" : "+m"(v)); return v; }
inline double apart(double v) { asm volatile("" : "+m"(v)); return v; }
}
EMU_MODES(__f, add, float, emu::apart(a + b), float a, float b, float c = 0)
EMU_MODES(__f, sub, float, emu::apart(a - b), float a, float b, float c = 0)
EMU_MODES(__f, mul, float, emu::apart(a * b), float a, float b, float c = 0)
EMU_MODES(__f, div, float, emu::apart(a / b), float a, float b, float c = 0)
EMU_MODES(__f, maf, float, fmaf(a, b, c), float a, float b, float c)
EMU_MODES(__f, rcp, float, emu::apart(1.0f / a), float a, float b = 0, float c = 0)
EMU_MODES(__f, sqrt, float, sqrtf(a), float a, float b = 0, float c = 0)
EMU_MODES(__d, add, double, emu::apart(a + b), double a, double b, double c = 0)
EMU_MODES(__d, sub, double, emu::apart(a - b), double a, double b, double c = 0)
EMU_MODES(__d, mul, double, emu::apart(a * b), double a, double b, double c = 0)
EMU_MODES(__d, div, double, emu::apart(a / b), double a, double b, double c = 0)
EMU_MODES(__d, rcp, double, emu::apart(1.0 / a), double a, double b = 0, double c = 0)
EMU_MODES(__d, sqrt, double, sqrt(a), double a, double b = 0, double c = 0)
EMU_MODES(__, fma, double, fma(a, b, c), double a, double b, double c)
#undef EMU_MODES
#undef EMU_F

namespace emu {
// A conversion to an integer clamps, and takes NaN to 0 (PTX ISA, cvt), where C++ leaves both open.
template <class To, class From>
inline To to_integer(From v) {
  if (v != v) return 0;
  constexpr From low = From(std::numeric_limits<To>::min());
  constexpr From high = From(std::numeric_limits<To>::max());
  if (v <= low) return std::numeric_limits<To>::min();
  if (v >= high) return std::numeric_limits<To>::max();
  return To(v);
}
}  // namespace emu

#define EMU_TO_INTEGER(from, target, name, to)                                                       \
  inline to __##from##2##name##_rn(target v) { return emu::to_integer<to>(nearbyint(v)); }           \
  inline to __##from##2##name##_rz(target v) { return emu::to_integer<to>(trunc(v)); }               \
  inline to __##from##2##name##_ru(target v) { return emu::to_integer<to>(ceil(v)); }                \
  inline to __##from##2##name##_rd(target v) { return emu::to_integer<to>(floor(v)); }
EMU_TO_INTEGER(float, float, int, int)
EMU_TO_INTEGER(float, float, uint, unsigned)
EMU_TO_INTEGER(float, float, ll, long long)
EMU_TO_INTEGER(float, float, ull, unsigned long long)
EMU_TO_INTEGER(double, double, int, int)
EMU_TO_INTEGER(double, double, uint, unsigned)
EMU_TO_INTEGER(double, double, ll, long long)
EMU_TO_INTEGER(double, double, ull, unsigned long long)
#undef EMU_TO_INTEGER
inline float __int2float_rn(int v) { return float(v); }
inline float __uint2float_rn(unsigned v) { return float(v); }
inline float __ll2float_rn(long long v) { return float(v); }
inline float __ull2float_rn(unsigned long long v) { return float(v); }
inline double __int2double_rn(int v) { return double(v); }
inline double __uint2double_rn(unsigned v) { return double(v); }
inline double __ll2double_rn(long long v) { return double(v); }
inline float __double2float_rn(double v) { return float(v); }
inline float __int2float_rz(int v) { return emu::rounded<float>(FE_TOWARDZERO, 0, 0, 0, [v](float, float, float) { volatile int i = v; return float(i); }); }
inline float __double2float_rz(double v) {
  const float near = float(v);
  return std::fabs(double(near)) > std::fabs(v) ? std::nextafterf(near, 0.0f) : near;
}
