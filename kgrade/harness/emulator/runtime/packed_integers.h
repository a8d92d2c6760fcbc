// Integers of 8 and 16 bits packed in a register, and the three-way minima and maxima of dynamic programming (DPX).
#pragma once
#include "float_math.h"
#include "integers.h"

namespace emu {
template <class Lane, class F>
inline unsigned by_lane(unsigned a, unsigned b, F f) {
  constexpr int bits = 8 * sizeof(Lane);
  constexpr unsigned all = (1u << bits) - 1;
  unsigned out = 0;
  for (int i = 0; i < 32; i += bits) out |= (unsigned(f(int(Lane(a >> i)), int(Lane(b >> i)))) & all) << i;
  return out;
}
template <class Lane> int lane_clamped(int v) {
  return v < std::numeric_limits<Lane>::min() ? std::numeric_limits<Lane>::min()
         : v > std::numeric_limits<Lane>::max() ? std::numeric_limits<Lane>::max() : v;
}
}  // namespace emu

#define EMU_PACKED(name, Lane, expression) \
  inline unsigned name(unsigned x, unsigned y) { return emu::by_lane<Lane>(x, y, [](int a, int b) { return expression; }); }
#define EMU_PACKED1(name, Lane, expression) \
  inline unsigned name(unsigned x) { return emu::by_lane<Lane>(x, 0, [](int a, int) { return expression; }); }
#define EMU_PACKED_TESTS(name, n, Lane, expression)      \
  EMU_PACKED(__vcmp##name##n, Lane, expression ? -1 : 0) \
  EMU_PACKED(__vset##name##n, Lane, expression ? 1 : 0)
#define EMU_PACKED_ALL(n, Signed, Unsigned)                                        \
  EMU_PACKED(__vadd##n, Unsigned, a + b)                                           \
  EMU_PACKED(__vsub##n, Unsigned, a - b)                                           \
  EMU_PACKED(__vaddss##n, Signed, emu::lane_clamped<Signed>(a + b))                \
  EMU_PACKED(__vsubss##n, Signed, emu::lane_clamped<Signed>(a - b))                \
  EMU_PACKED(__vaddus##n, Unsigned, emu::lane_clamped<Unsigned>(a + b))            \
  EMU_PACKED(__vsubus##n, Unsigned, emu::lane_clamped<Unsigned>(a - b))            \
  EMU_PACKED(__vmaxs##n, Signed, a > b ? a : b)                                    \
  EMU_PACKED(__vmins##n, Signed, a < b ? a : b)                                    \
  EMU_PACKED(__vmaxu##n, Unsigned, a > b ? a : b)                                  \
  EMU_PACKED(__vminu##n, Unsigned, a < b ? a : b)                                  \
  EMU_PACKED(__vabsdiffs##n, Signed, a > b ? a - b : b - a)                        \
  EMU_PACKED(__vabsdiffu##n, Unsigned, a > b ? a - b : b - a)                      \
  EMU_PACKED(__vavgu##n, Unsigned, (a + b + 1) >> 1)                               \
  EMU_PACKED(__vhaddu##n, Unsigned, (a + b) >> 1)                                  \
  EMU_PACKED1(__vabs##n, Signed, a < 0 ? -a : a)                                   \
  EMU_PACKED1(__vabsss##n, Signed, emu::lane_clamped<Signed>(a < 0 ? -a : a))      \
  EMU_PACKED1(__vneg##n, Signed, -a)                                               \
  EMU_PACKED1(__vnegss##n, Signed, emu::lane_clamped<Signed>(-a))                  \
  EMU_PACKED_TESTS(eq, n, Unsigned, a == b)                                        \
  EMU_PACKED_TESTS(ne, n, Unsigned, a != b)                                        \
  EMU_PACKED_TESTS(lts, n, Signed, a < b)                                          \
  EMU_PACKED_TESTS(les, n, Signed, a <= b)                                         \
  EMU_PACKED_TESTS(gts, n, Signed, a > b)                                          \
  EMU_PACKED_TESTS(ges, n, Signed, a >= b)                                         \
  EMU_PACKED_TESTS(ltu, n, Unsigned, a < b)                                        \
  EMU_PACKED_TESTS(leu, n, Unsigned, a <= b)                                       \
  EMU_PACKED_TESTS(gtu, n, Unsigned, a > b)                                        \
  EMU_PACKED_TESTS(geu, n, Unsigned, a >= b)                                       \
  EMU_PACKED_SUM(__vsads##n, Signed)                                               \
  EMU_PACKED_SUM(__vsadu##n, Unsigned)
// The sum of the absolute differences of all lanes.
#define EMU_PACKED_SUM(name, Lane)                                   \
  inline unsigned name(unsigned x, unsigned y) {                     \
    unsigned sum = 0;                                                \
    for (int i = 0; i < 32; i += 8 * int(sizeof(Lane))) {            \
      const int a = Lane(x >> i), b = Lane(y >> i);                  \
      sum += unsigned(a > b ? a - b : b - a);                        \
    }                                                                \
    return sum;                                                      \
  }
EMU_PACKED_ALL(4, int8_t, uint8_t)
EMU_PACKED_ALL(2, int16_t, uint16_t)
#undef EMU_PACKED_SUM
#undef EMU_PACKED_ALL
#undef EMU_PACKED_TESTS
#undef EMU_PACKED1
#undef EMU_PACKED

namespace emu {
template <class T> T wrapped_sum(T a, T b) { return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b)); }
}
// `relu` takes what is negative to zero. `_vibmax` also says whether the first operand was taken.
#define EMU_DPX(which, T, kind)                                                                                            \
  inline T __viadd##which##_##kind(T a, T b, T c) { return which(emu::wrapped_sum(a, b), c); }                             \
  inline T __vi##which##3_##kind(T a, T b, T c) { return which(which(a, b), c); }
#define EMU_DPX_RELU(which)                                                                                                \
  inline int __vi##which##_s32_relu(int a, int b) { return max(which(a, b), 0); }                                          \
  inline int __viadd##which##_s32_relu(int a, int b, int c) { return max(which(emu::wrapped_sum(a, b), c), 0); }           \
  inline int __vi##which##3_s32_relu(int a, int b, int c) { return max(which(which(a, b), c), 0); }                        \
  inline unsigned __vi##which##_s16x2_relu(unsigned a, unsigned b) { return __vmaxs2(__v##which##s2(a, b), 0); }           \
  inline unsigned __viadd##which##_s16x2_relu(unsigned a, unsigned b, unsigned c) {                                        \
    return __vmaxs2(__v##which##s2(__vadd2(a, b), c), 0);                                                                  \
  }                                                                                                                        \
  inline unsigned __vi##which##3_s16x2_relu(unsigned a, unsigned b, unsigned c) {                                          \
    return __vmaxs2(__v##which##s2(__v##which##s2(a, b), c), 0);                                                           \
  }
#define EMU_DPX_PAIRS(which, sign)                                                                                         \
  inline unsigned __viadd##which##_##sign##16x2(unsigned a, unsigned b, unsigned c) { return __v##which##sign##2(__vadd2(a, b), c); } \
  inline unsigned __vi##which##3_##sign##16x2(unsigned a, unsigned b, unsigned c) { return __v##which##sign##2(__v##which##sign##2(a, b), c); }
EMU_DPX(max, int, s32)
EMU_DPX(max, unsigned, u32)
EMU_DPX(min, int, s32)
EMU_DPX(min, unsigned, u32)
EMU_DPX_RELU(max)
EMU_DPX_RELU(min)
EMU_DPX_PAIRS(max, s)
EMU_DPX_PAIRS(max, u)
EMU_DPX_PAIRS(min, s)
EMU_DPX_PAIRS(min, u)
#undef EMU_DPX_PAIRS
#undef EMU_DPX_RELU
#undef EMU_DPX
inline int __vibmax_s32(int a, int b, bool* first) { *first = a >= b; return max(a, b); }
inline unsigned __vibmax_u32(unsigned a, unsigned b, bool* first) { *first = a >= b; return max(a, b); }
inline int __vibmin_s32(int a, int b, bool* first) { *first = a <= b; return min(a, b); }
inline unsigned __vibmin_u32(unsigned a, unsigned b, bool* first) { *first = a <= b; return min(a, b); }
