// wmma: fragments of a matrix spread over a warp, and their product.
//
// Accumulators of 16 x 16 lie in the lanes as `mma.sync` lays them out on sm_80 and later. Where operands lie is not
// documented for wmma, so any spread will do: element e of a tile is element e / 32 of lane e % 32.
#pragma once
#include <type_traits>

#include "half.h"
#include "warp.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}  // namespace precision

template <class T> struct stored { using type = T; };
template <> struct stored<precision::tf32> { using type = float; };

// The shapes that a device multiplies in elements of type T.
template <class T> constexpr bool multiplied(int m, int n, int k) {
  if (std::is_same<T, precision::tf32>::value) return m == 16 && n == 16 && k == 8;
  if (std::is_same<T, double>::value) return m == 8 && n == 8 && k == 4;
  return k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}
template <class T> constexpr bool summed(int m, int n, int k) {
  return multiplied<T>(m, n, k) || (std::is_same<T, float>::value && multiplied<precision::tf32>(m, n, k));
}
template <class T, class... Known> constexpr bool one_of() { return (std::is_same<T, Known>::value || ...); }

template <class Use, int M, int N, int K, class T, class Layout = void>
class fragment {
  static constexpr bool sums = std::is_same<Use, accumulator>::value;
  static_assert(sums ? one_of<T, float, __half, int, double>() && summed<T>(M, N, K)
                     : one_of<T, __half, __nv_bfloat16, signed char, unsigned char, precision::tf32, double>() &&
                           multiplied<T>(M, N, K),
                "no wmma fragment of this shape and type runs");

 public:
  using element_type = typename stored<T>::type;
  static constexpr bool is_a = std::is_same<Use, matrix_a>::value, is_b = std::is_same<Use, matrix_b>::value;
  static constexpr int rows = is_b ? K : M, columns = is_a ? K : N;
  static constexpr int held = rows * columns / 32;
  // Operands in half are held more than once on the device; code that loops over x must see as many.
  static constexpr int num_elements = std::is_same<T, __half>::value && !sums ? 16 : held;
  static constexpr int num_storage_elements = num_elements;
  element_type x[num_elements];

  // Row and column of element i of a lane.
  static int row_of(int lane, int i) {
    if (!is_a && !is_b && M == 16 && N == 16) return lane / 4 + (i / 2 % 2) * 8;
    return (i % held * 32 + lane) / columns;
  }
  static int column_of(int lane, int i) {
    if (!is_a && !is_b && M == 16 && N == 16) return lane % 4 * 2 + i % 2 + i / 4 * 8;
    return (i % held * 32 + lane) % columns;
  }
};

inline float __float_to_tf32(float v) {
  // Round to nearest, ties away from zero (PTX ISA, cvt.rna.tf32.f32).
  const unsigned bits = emu::as<unsigned>(v);
  return (bits & 0x7f800000) == 0x7f800000 ? v : emu::as<float>((bits + 0x1000) & ~0x1fffu);
}

template <class F, class T>
inline void fill_fragment(F& f, T value) {
  for (auto& element : f.x) element = typename F::element_type(value);
}

namespace detail {
// The rows of a tile must follow one another at multiples of 16 bytes, and the first must lie at one. (At one of 32,
// says the programming guide; kernels that pad their tiles by 16 bytes are not refused for it.)
#ifdef EMU_CHECKS
void require_tile(const void* tile, size_t stride, emu::Site site);
#else
inline void require_tile(const void*, size_t, emu::Site) {}
#endif

template <class F, class P>
EMU_INLINE void load(F& f, const P* from, unsigned ld, bool rows) {
  const int lane = emu::lane();
  for (int i = 0; i < F::num_elements; ++i) {
    const int r = F::row_of(lane, i), c = F::column_of(lane, i);
    f.x[i] = rows ? from[size_t(r) * ld + c] : from[size_t(c) * ld + r];
  }
}
}  // namespace detail

template <class Use, int M, int N, int K, class T, class Layout, class P>
EMU_INLINE void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const P* from, unsigned ld, emu::Site site = emu::Site::here()) {
  __syncwarp(~0u, site);
  detail::require_tile(from, ld * sizeof(P), site);
  detail::load(f, from, ld, std::is_same<Layout, row_major>::value);
}
template <int M, int N, int K, class T, class P>
EMU_INLINE void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const P* from, unsigned ld, layout_t layout,
                             emu::Site site = emu::Site::here()) {
  __syncwarp(~0u, site);
  detail::require_tile(from, ld * sizeof(P), site);
  detail::load(f, from, ld, layout == mem_row_major);
}
template <int M, int N, int K, class T, class P>
EMU_INLINE void store_matrix_sync(P* to, const fragment<accumulator, M, N, K, T>& f, unsigned ld, layout_t layout,
                              emu::Site site = emu::Site::here()) {
  using F = fragment<accumulator, M, N, K, T>;
  const int lane = emu::lane();
  detail::require_tile(to, ld * sizeof(P), site);
  for (int i = 0; i < F::num_elements; ++i) {
    const int r = F::row_of(lane, i), c = F::column_of(lane, i);
    (layout == mem_row_major ? to[size_t(r) * ld + c] : to[size_t(c) * ld + r]) = f.x[i];
  }
  __syncwarp(~0u, site);
}

namespace detail {

struct Operands { const void *a, *b, *c; void* d; bool saturates; };

template <class T> struct Sum { using type = float; };
template <> struct Sum<int> { using type = int; };
template <> struct Sum<double> { using type = double; };

// A sum as an accumulator takes it. With `saturates` it stays finite, NaN becomes 0, and integers end at their limits.
template <class D, class S> inline D rounded(S sum, bool saturates) {
  if constexpr (std::is_same<D, int>::value) {
    return saturates ? int(sum < INT_MIN ? INT_MIN : sum > INT_MAX ? INT_MAX : sum) : int(unsigned(sum));
  } else {
    const D made(sum);
    if (!saturates || std::isfinite(double(made))) return made;
    const double most = std::is_same<D, __half>::value ? 65504.0 : std::is_same<D, float>::value ? FLT_MAX : DBL_MAX;
    return std::isnan(double(made)) ? D(S(0)) : double(made) < 0 ? D(S(-most)) : D(S(most));
  }
}

// What the multiplier sees of an operand.
template <class T> struct Seen {
  template <class V> static float of(V v) { return float(v); }
};
template <> struct Seen<signed char> { static int of(signed char v) { return v; } };
template <> struct Seen<unsigned char> { static int of(unsigned char v) { return v; } };
template <> struct Seen<double> { static double of(double v) { return v; } };
template <> struct Seen<precision::tf32> { static float of(float v) { return emu::as<float>(emu::as<unsigned>(v) & ~0x1fffu); } };

// Run once for the warp: gathers both operands, multiplies, and deals out the result.
template <int M, int N, int K, class T, class LA, class LB, class D, class C>
void multiply(unsigned) {
  using A = fragment<matrix_a, M, N, K, T, LA>;
  using B = fragment<matrix_b, M, N, K, T, LB>;
  using Accumulator = fragment<accumulator, M, N, K, D>;
  using S = typename Sum<D>::type;
  using Wide = std::conditional_t<std::is_same<S, int>::value, long long, S>;
  S a[M][K], b[K][N], sum[M][N] = {};
  Operands at[32];
  for (unsigned l = 0; l < 32; ++l) memcpy(&at[l], emu::lane_slot(l).value, sizeof(Operands));
  for (int l = 0; l < 32; ++l) {
    const A& fa = *static_cast<const A*>(at[l].a);
    const B& fb = *static_cast<const B*>(at[l].b);
    for (int i = 0; i < A::held; ++i) a[A::row_of(l, i)][A::column_of(l, i)] = Seen<T>::of(fa.x[i]);
    for (int i = 0; i < B::held; ++i) b[B::row_of(l, i)][B::column_of(l, i)] = Seen<T>::of(fb.x[i]);
  }
  for (int r = 0; r < M; ++r) {
    for (int k = 0; k < K; ++k) {
      const S factor = a[r][k];
      for (int c = 0; c < N; ++c) sum[r][c] += factor * b[k][c];
    }
  }
  for (int l = 0; l < 32; ++l) {
    auto& fd = *static_cast<Accumulator*>(at[l].d);
    const auto& fc = *static_cast<const fragment<accumulator, M, N, K, C>*>(at[l].c);
    for (int i = 0; i < Accumulator::held; ++i) {
      const S product = sum[Accumulator::row_of(l, i)][Accumulator::column_of(l, i)];
      fd.x[i] = rounded<D, Wide>(Wide(fc.x[i]) + Wide(product), at[l].saturates);
    }
  }
}
}  // namespace detail

template <int M, int N, int K, class T, class LA, class LB, class D, class C>
inline void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, T, LA>& a,
                     const fragment<matrix_b, M, N, K, T, LB>& b, const fragment<accumulator, M, N, K, C>& c,
                     bool saturates = false, emu::Site site = emu::Site::here()) {
  const detail::Operands mine{&a, &b, &c, &d, saturates};
  memcpy(emu::lane_slot().value, &mine, sizeof mine);
  emu::meet(~0u, emu::Meeting::exchange, site, detail::multiply<M, N, K, T, LA, LB, D, C>);
}

}  // namespace wmma
}  // namespace nvcuda
