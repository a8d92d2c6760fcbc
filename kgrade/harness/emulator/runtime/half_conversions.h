// Conversions between half or bfloat16 and integers, in every rounding mode.
#pragma once

namespace emu {
// An integer as a float that a later rounding to fewer bits cannot spoil (see `to_odd`).
template <class I>
inline float integer_to_odd(I v) {
  uint64_t size = v < 0 ? 0 - uint64_t(v) : uint64_t(v), lost = 0;
  int shift = 0;
  for (; size >> 24 != 0; size >>= 1, ++shift) lost |= size & 1;
  const float near = std::ldexp(float(size | lost), shift);
  return v < 0 ? -near : near;
}
inline uint16_t half_towards(float v, Towards mode) { return directed(v, mode, float_to_half_bits, half_bits_to_float); }
inline uint16_t bfloat16_towards(float v, Towards mode) {
  return directed(v, mode, float_to_bfloat16_bits, bfloat16_bits_to_float);
}
}  // namespace emu

#define EMU_OF_INTEGER(name, type)                                                                                     \
  inline __half __##name##2half_rn(type v) { return __half(emu::integer_to_odd(v)); }                                  \
  inline __nv_bfloat16 __##name##2bfloat16_rn(type v) { return __nv_bfloat16(emu::integer_to_odd(v)); }                \
  EMU_OF_INTEGER_TOWARDS(name, type, rz, zero)                                                                         \
  EMU_OF_INTEGER_TOWARDS(name, type, ru, up)                                                                           \
  EMU_OF_INTEGER_TOWARDS(name, type, rd, down)
#define EMU_OF_INTEGER_TOWARDS(name, type, suffix, mode)                                                               \
  inline __half __##name##2half_##suffix(type v) { return __half_raw{emu::half_towards(emu::integer_to_odd(v), emu::Towards::mode)}; } \
  inline __nv_bfloat16 __##name##2bfloat16_##suffix(type v) {                                                          \
    return __nv_bfloat16_raw{emu::bfloat16_towards(emu::integer_to_odd(v), emu::Towards::mode)};                       \
  }
#define EMU_TO_INTEGER(name, type)                                                                                     \
  EMU_TO_INTEGER_BY(name, type, rn, nearbyintf)                                                                        \
  EMU_TO_INTEGER_BY(name, type, rz, truncf)                                                                            \
  EMU_TO_INTEGER_BY(name, type, ru, ceilf)                                                                             \
  EMU_TO_INTEGER_BY(name, type, rd, floorf)
#define EMU_TO_INTEGER_BY(name, type, suffix, whole)                                                                   \
  inline type __half2##name##_##suffix(__half v) { return emu::to_integer<type>(whole(v)); }                           \
  inline type __bfloat162##name##_##suffix(__nv_bfloat16 v) { return emu::to_integer<type>(whole(v)); }
#define EMU_INTEGER(name, type) EMU_OF_INTEGER(name, type) EMU_TO_INTEGER(name, type)
EMU_INTEGER(int, int)
EMU_INTEGER(uint, unsigned)
EMU_INTEGER(short, short)
EMU_INTEGER(ushort, unsigned short)
EMU_INTEGER(ll, long long)
EMU_INTEGER(ull, unsigned long long)
EMU_TO_INTEGER_BY(char, signed char, rz, truncf)
EMU_TO_INTEGER_BY(uchar, unsigned char, rz, truncf)
#undef EMU_INTEGER
#undef EMU_TO_INTEGER_BY
#undef EMU_TO_INTEGER
#undef EMU_OF_INTEGER_TOWARDS
#undef EMU_OF_INTEGER

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00)
#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80)
