// The eight-bit floating point types of cuda_fp8.h: conversions only, as on the device.
#pragma once
#include "half.h"

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;

namespace emu {

// E4M3 has no infinity and one NaN; E5M2 is IEEE (OCP 8-bit floating point specification, revision 1.0).
template <int kExponent, int kFraction>
struct Float8 {
  static constexpr bool ieee = kExponent == 5;
  static constexpr int bias = (1 << (kExponent - 1)) - 1;
  static constexpr unsigned largest = ieee ? 0x7b : 0x7e, infinity = ieee ? 0x7c : 0x7f, nan = 0x7f;

  static float widen(unsigned char bits) {
    const unsigned exponent = bits >> kFraction & ((1u << kExponent) - 1), fraction = bits & ((1u << kFraction) - 1);
    const float sign = bits & 0x80 ? -1.0f : 1.0f;
    if (ieee ? exponent == 31 && fraction != 0 : (bits & 0x7f) == 0x7f) return sign * __builtin_nanf("");
    if (ieee && exponent == 31) return sign * __builtin_inff();
    if (exponent == 0) return sign * std::ldexp(float(fraction), 1 - bias - kFraction);
    return sign * std::ldexp(float(fraction | 1u << kFraction), int(exponent) - bias - kFraction);
  }

  // To nearest, ties to even. Beyond the largest finite value: that value when saturating, else infinity or NaN.
  static unsigned char narrow(double v, bool saturate) {
    const unsigned char sign = std::signbit(v) ? 0x80 : 0;
    const double size = std::fabs(v);
    if (size != size) return nan | sign;
    int exponent = 0;
    std::frexp(size, &exponent);
    const int lowest = 1 - bias;
    exponent = exponent - 1 < lowest || size == 0 ? lowest : exponent - 1;
    if (std::isinf(size)) return sign | (saturate ? largest : infinity);
    const double units = std::nearbyint(std::ldexp(size, kFraction - exponent));  // exact: a power of two
    // Carries into the exponent by itself: `units` counts in the last place, and 2^(kFraction+1) is the next binade.
    const double bits = units + double(exponent - lowest) * (1 << kFraction);
    if (bits > largest) return sign | (saturate ? largest : infinity);
    return sign | static_cast<unsigned char>(bits);
  }
};
using E4M3 = Float8<4, 3>;
using E5M2 = Float8<5, 2>;

}  // namespace emu

#define EMU_FP8(Type, Format)                                                               \
  struct Type {                                                                             \
    __nv_fp8_storage_t __x;                                                                 \
    Type() = default;                                                                       \
    explicit Type(float v) : __x(emu::Format::narrow(v, true)) {}                           \
    explicit Type(double v) : __x(emu::Format::narrow(v, true)) {}                          \
    explicit Type(__half v) : __x(emu::Format::narrow(float(v), true)) {}                   \
    explicit Type(__nv_bfloat16 v) : __x(emu::Format::narrow(float(v), true)) {}            \
    template <class I, std::enable_if_t<std::is_integral<I>::value, int> = 0>               \
    explicit Type(I v) : __x(emu::Format::narrow(double(v), true)) {}                       \
    template <class I, std::enable_if_t<std::is_integral<I>::value, int> = 0>               \
    explicit operator I() const { return emu::to_integer<I>(truncf(emu::Format::widen(__x))); } \
    explicit operator bool() const { return (__x & 0x7f) != 0; }                            \
    explicit operator float() const { return emu::Format::widen(__x); }                     \
    explicit operator double() const { return emu::Format::widen(__x); }                    \
    explicit operator __half() const { return __half(emu::Format::widen(__x)); }            \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(emu::Format::widen(__x)); } \
  };
EMU_FP8(__nv_fp8_e4m3, E4M3)
EMU_FP8(__nv_fp8_e5m2, E5M2)
#undef EMU_FP8

#define EMU_FP8_PACKED(Type, One)                                                            \
  struct __attribute__((aligned(2))) Type##x2_##One {                                        \
    __nv_fp8x2_storage_t __x;                                                                \
    Type##x2_##One() = default;                                                              \
    explicit Type##x2_##One(float2 v)                                                        \
        : __x(__nv_fp8x2_storage_t(Type##_##One(v.x).__x | Type##_##One(v.y).__x << 8)) {}   \
    explicit Type##x2_##One(__half2 v) : Type##x2_##One(float2{v.x, v.y}) {}                 \
    explicit Type##x2_##One(__nv_bfloat162 v) : Type##x2_##One(float2{v.x, v.y}) {}          \
    explicit operator __half2() const { return __float22half2_rn(float2(*this)); }           \
    explicit operator float2() const {                                                       \
      Type##_##One a, b;                                                                     \
      a.__x = __x & 0xff;                                                                    \
      b.__x = __x >> 8;                                                                      \
      return {float(a), float(b)};                                                           \
    }                                                                                        \
  };                                                                                         \
  struct __attribute__((aligned(4))) Type##x4_##One {                                        \
    __nv_fp8x4_storage_t __x;                                                                \
    Type##x4_##One() = default;                                                              \
    explicit Type##x4_##One(float4 v)                                                        \
        : __x(Type##x2_##One(float2{v.x, v.y}).__x | unsigned(Type##x2_##One(float2{v.z, v.w}).__x) << 16) {} \
    explicit Type##x4_##One(__half2 low, __half2 high) : Type##x4_##One(float4{low.x, low.y, high.x, high.y}) {} \
    explicit Type##x4_##One(__nv_bfloat162 low, __nv_bfloat162 high)                         \
        : Type##x4_##One(float4{low.x, low.y, high.x, high.y}) {}                            \
    explicit operator float4() const {                                                       \
      Type##x2_##One a, b;                                                                   \
      a.__x = __x & 0xffff;                                                                  \
      b.__x = __x >> 16;                                                                     \
      const float2 low(a), high(b);                                                          \
      return {low.x, low.y, high.x, high.y};                                                 \
    }                                                                                        \
  };
EMU_FP8_PACKED(__nv_fp8, e4m3)
EMU_FP8_PACKED(__nv_fp8, e5m2)
#undef EMU_FP8_PACKED

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double v, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? emu::E4M3::narrow(v, saturate == __NV_SATFINITE) : emu::E5M2::narrow(v, saturate == __NV_SATFINITE);
}
inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 v, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  return __nv_fp8x2_storage_t(__nv_cvt_double_to_fp8(v.x, saturate, kind) | __nv_cvt_double_to_fp8(v.y, saturate, kind) << 8);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float v, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(v, saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double2_to_fp8x2({v.x, v.y}, saturate, kind);
}
#define EMU_FP8_OF(name, One, Raw)                                                                                              \
  inline __nv_fp8_storage_t __nv_cvt_##name##raw_to_fp8(Raw v, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {    \
    return __nv_cvt_float_to_fp8(One(v), saturate, kind);                                                                       \
  }                                                                                                                             \
  inline __nv_fp8x2_storage_t __nv_cvt_##name##raw2_to_fp8x2(EMU_PAIR_RAW(One) v, __nv_saturation_t saturate,                   \
                                                             __nv_fp8_interpretation_t kind) {                                  \
    return __nv_cvt_float2_to_fp8x2({One(Raw{v.x}), One(Raw{v.y})}, saturate, kind);                                            \
  }
#define EMU_PAIR_RAW(One) One##2_raw
EMU_FP8_OF(half, __half, __half_raw)
EMU_FP8_OF(bfloat16, __nv_bfloat16, __nv_bfloat16_raw)
#undef EMU_PAIR_RAW
#undef EMU_FP8_OF
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t v, __nv_fp8_interpretation_t kind) {
  return __half(kind == __NV_E4M3 ? emu::E4M3::widen(v) : emu::E5M2::widen(v));
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t v, __nv_fp8_interpretation_t kind) {
  return {__nv_cvt_fp8_to_halfraw(v & 0xff, kind).x, __nv_cvt_fp8_to_halfraw(v >> 8, kind).x};
}
