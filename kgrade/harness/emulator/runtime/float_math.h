// Mathematics in device code: float functions by their CUDA names, conversions with a rounding mode, fast intrinsics.
//
// Fast intrinsics compute what their definition says (`__expf(x)` is 2^(x * log2 e) in float), rounded to nearest;
// the last bits of the special function unit are not imitated.
#pragma once
#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

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
constexpr unsigned umin(unsigned a, unsigned b) { return min(a, b); }
constexpr unsigned umax(unsigned a, unsigned b) { return max(a, b); }
constexpr long long llmin(long long a, long long b) { return min(a, b); }
constexpr long long llmax(long long a, long long b) { return max(a, b); }
constexpr unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
constexpr unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
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
inline void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
inline float normcdff(float x) { return float(normcdf(x)); }
// exp(x * x) * erfc(x), by the continued fraction of Lentz where the first factor would overflow (DLMF 7.9.2).
inline double erfcx(double x) {
  if (x < 10) return exp(x * x) * erfc(x);
  double tail = 0;
  for (int i = 40; i > 0; --i) tail = i * 0.5 / (x + tail);
  return 1.0 / (sqrt(M_PI) * (x + tail));
}
inline float erfcxf(float x) { return float(erfcx(x)); }
// The inverse by Newton's method from Giles, "Approximating the erfinv function", 2010, in double.
inline double erfinv(double y) {
  if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? y * INFINITY : NAN;
  double w = -log((1 - y) * (1 + y)), p;
  if (w < 5) {
    w -= 2.5;
    p = 2.81022636e-08;
    for (double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941}) p = c + p * w;
  } else {
    w = sqrt(w) - 3;
    p = -0.000200214257;
    for (double c : {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682}) p = c + p * w;
  }
  double x = p * y;
  for (int i = 0; i < 3; ++i) x -= (y > 0 ? (1 - y) - erfc(x) : erfc(-x) - (1 + y)) * sqrt(M_PI) / 2 * exp(x * x);
  return x;
}
inline float erfinvf(float y) { return float(erfinv(y)); }
// Of a complement, by bisection where the whole would lose what makes it up.
inline double erfcinv(double y) {
  if (!(y > 0 && y < 2)) return y == 0 ? INFINITY : y == 2 ? -INFINITY : NAN;
  if (y > 0.1) return erfinv(1 - y);
  double low = 0, high = 28;
  for (int i = 0; i < 200; ++i) (erfc((low + high) / 2) > y ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}
inline float erfcinvf(float y) { return float(erfcinv(y)); }
inline double normcdfinv(double y) { return -M_SQRT2 * erfcinv(2 * y); }
inline float normcdfinvf(float y) { return float(normcdfinv(y)); }
inline double norm3d(double a, double b, double c) { return hypot(hypot(a, b), c); }
inline double norm4d(double a, double b, double c, double d) { return hypot(hypot(a, b), hypot(c, d)); }
inline double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
inline double rnorm4d(double a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
inline double rhypot(double a, double b) { return 1.0 / hypot(a, b); }
inline float norm3df(float a, float b, float c) { return float(norm3d(a, b, c)); }
inline float norm4df(float a, float b, float c, float d) { return float(norm4d(a, b, c, d)); }
inline float rnorm3df(float a, float b, float c) { return float(rnorm3d(a, b, c)); }
inline float rnorm4df(float a, float b, float c, float d) { return float(rnorm4d(a, b, c, d)); }
inline float rhypotf(float a, float b) { return float(rhypot(a, b)); }
EMU_INLINE double norm(int n, const double* v) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum = hypot(sum, v[i]);
  return sum;
}
EMU_INLINE float normf(int n, const float* v) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += double(v[i]) * v[i];
  return float(sqrt(sum));
}
EMU_INLINE double rnorm(int n, const double* v) { return 1.0 / norm(n, v); }
EMU_INLINE float rnormf(int n, const float* v) { return 1.0f / normf(n, v); }
inline float fdividef(float a, float b) { return a / b; }
// Modified Bessel functions by their integrals over [0, pi] (DLMF 10.32.1 and 10.32.3): the trapezoid rule converges
// faster than any power.
inline double cyl_bessel_i(int order, double x) {
  constexpr int kSteps = 128;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double t = M_PI * i / kSteps;
    sum += (i == 0 || i == kSteps ? 0.5 : 1.0) * exp(x * cos(t)) * cos(order * t);
  }
  return sum / kSteps;
}
inline double cyl_bessel_i0(double x) { return cyl_bessel_i(0, x); }
inline double cyl_bessel_i1(double x) { return cyl_bessel_i(1, x); }
inline float cyl_bessel_i0f(float x) { return float(cyl_bessel_i(0, x)); }
inline float cyl_bessel_i1f(float x) { return float(cyl_bessel_i(1, x)); }

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
// A conversion to an integer clamps, where C++ leaves it open. NaN gives 0, or the highest bit alone where one of both
// types has 64 bits (PTX ISA, cvt).
template <class To, class From>
inline To to_integer(From v) {
  constexpr From low = From(std::numeric_limits<To>::min());
  constexpr From high = From(std::numeric_limits<To>::max());
  if (v != v) return sizeof(To) == 8 || sizeof(From) == 8 ? To(std::make_unsigned_t<To>(1) << (8 * sizeof(To) - 1)) : To(0);
  if (v <= low) return std::numeric_limits<To>::min();
  if (v >= high) return std::numeric_limits<To>::max();
  return To(v);
}
}  // namespace emu

#define EMU_TO_INTEGER(from, target, name, to)                                                       \
  inline to __##from##2##name##_rn(target v) { return emu::to_integer<to>(target(nearbyint(v))); }           \
  inline to __##from##2##name##_rz(target v) { return emu::to_integer<to>(target(trunc(v))); }               \
  inline to __##from##2##name##_ru(target v) { return emu::to_integer<to>(target(ceil(v))); }                \
  inline to __##from##2##name##_rd(target v) { return emu::to_integer<to>(target(floor(v))); }
EMU_TO_INTEGER(float, float, int, int)
EMU_TO_INTEGER(float, float, uint, unsigned)
EMU_TO_INTEGER(float, float, ll, long long)
EMU_TO_INTEGER(float, float, ull, unsigned long long)
EMU_TO_INTEGER(double, double, int, int)
EMU_TO_INTEGER(double, double, uint, unsigned)
EMU_TO_INTEGER(double, double, ll, long long)
EMU_TO_INTEGER(double, double, ull, unsigned long long)
#undef EMU_TO_INTEGER
#define EMU_CONVERTED(name, from, to, suffix, mode)                                       \
  inline to name##_##suffix(from v) {                                                      \
    volatile from whole = v;                                                               \
    return emu::rounded<to>(mode, 0, 0, 0, [&](to, to, to) { return to(whole); });         \
  }
#define EMU_CONVERSIONS(name, from, to)          \
  inline to name##_rn(from v) { return to(v); }  \
  EMU_CONVERTED(name, from, to, rz, FE_TOWARDZERO) \
  EMU_CONVERTED(name, from, to, ru, FE_UPWARD)   \
  EMU_CONVERTED(name, from, to, rd, FE_DOWNWARD)
EMU_CONVERSIONS(__int2float, int, float)
EMU_CONVERSIONS(__uint2float, unsigned, float)
EMU_CONVERSIONS(__ll2float, long long, float)
EMU_CONVERSIONS(__ull2float, unsigned long long, float)
EMU_CONVERSIONS(__ll2double, long long, double)
EMU_CONVERSIONS(__ull2double, unsigned long long, double)
EMU_CONVERSIONS(__double2float, double, float)
#undef EMU_CONVERSIONS
#undef EMU_CONVERTED
inline double __int2double_rn(int v) { return double(v); }
inline double __uint2double_rn(unsigned v) { return double(v); }
