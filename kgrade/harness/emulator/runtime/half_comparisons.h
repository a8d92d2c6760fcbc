// Comparisons of half and bfloat16: ordered ones are false of a NaN, those with a `u` true. Of a pair: 1 or 0 in each
// half, a mask of 16 bits for each, or whether both hold.
#pragma once

#define EMU_COMPARE(Type, Pair, name, expression)                                                                    \
  inline bool __h##name(Type p, Type q) { const float a = p, b = q; return expression; }                             \
  inline Pair __h##name##2(Pair a, Pair b) { return {Type(float(__h##name(a.x, b.x))), Type(float(__h##name(a.y, b.y)))}; } \
  inline unsigned __h##name##2_mask(Pair a, Pair b) {                                                                \
    return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);                            \
  }                                                                                                                  \
  inline bool __hb##name##2(Pair a, Pair b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }
#define EMU_COMPARISONS(Type, Pair)                               \
  EMU_COMPARE(Type, Pair, eq, a == b)                             \
  EMU_COMPARE(Type, Pair, ne, a < b || a > b)                     \
  EMU_COMPARE(Type, Pair, lt, a < b)                              \
  EMU_COMPARE(Type, Pair, gt, a > b)                              \
  EMU_COMPARE(Type, Pair, le, a <= b)                             \
  EMU_COMPARE(Type, Pair, ge, a >= b)                             \
  EMU_COMPARE(Type, Pair, equ, !(a < b || a > b))                 \
  EMU_COMPARE(Type, Pair, neu, a != b)                            \
  EMU_COMPARE(Type, Pair, ltu, !(a >= b))                         \
  EMU_COMPARE(Type, Pair, gtu, !(a <= b))                         \
  EMU_COMPARE(Type, Pair, leu, !(a > b))                          \
  EMU_COMPARE(Type, Pair, geu, !(a < b))                          \
  inline Pair __hisnan2(Pair v) { return {Type(float(__hisnan(v.x))), Type(float(__hisnan(v.y)))}; } \
  inline bool operator==(Pair a, Pair b) { return __hbeq2(a, b); } \
  inline bool operator!=(Pair a, Pair b) { return __hbneu2(a, b); } \
  inline bool operator<(Pair a, Pair b) { return __hblt2(a, b); }  \
  inline bool operator>(Pair a, Pair b) { return __hbgt2(a, b); }  \
  inline bool operator<=(Pair a, Pair b) { return __hble2(a, b); } \
  inline bool operator>=(Pair a, Pair b) { return __hbge2(a, b); }
EMU_COMPARISONS(__half, __half2)
EMU_COMPARISONS(__nv_bfloat16, __nv_bfloat162)
#undef EMU_COMPARISONS
#undef EMU_COMPARE
