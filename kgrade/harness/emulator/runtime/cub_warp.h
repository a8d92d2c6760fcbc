// CUB's operators, and its reductions and scans of a warp, in the meaning that CUB documents for them: a reduction is
// valid in the first lane alone, every other lane keeps what a tree of shuffles leaves there.
#pragma once
#include <functional>
#include <type_traits>

#include "warp.h"

namespace cuda {
template <class T = void> struct maximum { T operator()(const T& a, const T& b) const { return a < b ? b : a; } };
template <class T = void> struct minimum { T operator()(const T& a, const T& b) const { return b < a ? b : a; } };
template <> struct maximum<void> {
  template <class A, class B> auto operator()(const A& a, const B& b) const { return a < b ? b : a; }
};
template <> struct minimum<void> {
  template <class A, class B> auto operator()(const A& a, const B& b) const { return b < a ? b : a; }
};
}  // namespace cuda

namespace cub {

using Sum = std::plus<>;
using Max = cuda::maximum<>;
using Min = cuda::minimum<>;

template <class K, class V>
struct KeyValuePair {
  using Key = K;
  using Value = V;
  K key;
  V value;
  KeyValuePair() = default;
  KeyValuePair(const K& k, const V& v) : key(k), value(v) {}
  bool operator==(const KeyValuePair& other) const { return key == other.key && value == other.value; }
  bool operator!=(const KeyValuePair& other) const { return !(*this == other); }
};
// Of equal values the one with the lower key.
struct ArgMax {
  template <class P> P operator()(const P& a, const P& b) const {
    return b.value > a.value || (b.value == a.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class P> P operator()(const P& a, const P& b) const {
    return b.value < a.value || (b.value == a.value && b.key < a.key) ? b : a;
  }
};

inline unsigned LaneId() { return emu::lane(); }

namespace detail {

using emu::Site;

template <class Op, class T> constexpr bool joins = std::is_invocable<Op&, const T&, const T&>::value;

// Some lanes of a warp that work together: `width` of them, of which this is the `place`-th.
struct Team {
  int width, place;
  unsigned mask;  // those of them that the block has
  explicit Team(int lanes) : width(lanes), place(int(emu::lane()) % lanes) {
    const unsigned first = emu::lane() - unsigned(place);
    const unsigned left = emu::machine.threads - (emu::machine.rank - unsigned(place));
    const unsigned count = left < unsigned(lanes) ? left : unsigned(lanes);
    mask = (count == 32 ? ~0u : (1u << count) - 1) << first;
  }
  template <class T> T from(T value, int other, Site site) const {
    return emu::shuffle_from(mask, value, unsigned(int(emu::lane()) + other - place), site);
  }
};

// The first `valid` values of a team, in its first lane.
template <class T, class Op>
T fold(const Team& team, T value, Op& op, int valid, Site site) {
  for (int by = 1; by < team.width; by *= 2) {
    const bool has = team.place + by < valid;
    const T other = team.from(value, has ? team.place + by : team.place, site);
    if (has) value = op(value, other);
  }
  return value;
}

// What the team's lanes up to this one have.
template <class T, class Op>
T scan(const Team& team, T value, Op& op, Site site) {
  for (int by = 1; by < team.width; by *= 2) {
    const bool has = team.place >= by;
    const T other = team.from(value, has ? team.place - by : team.place, site);
    if (has) value = op(other, value);
  }
  return value;
}

struct Nothing {};

}  // namespace detail

template <class T, int kLanes = 32, int = 0>
class WarpReduce {
  static_assert(kLanes >= 1 && kLanes <= 32, "a logical warp has 1 to 32 threads");

 public:
  using TempStorage = detail::Nothing;
  explicit WarpReduce(TempStorage&) {}

  template <class Op> T Reduce(T input, Op op, int valid_items, emu::Site site = emu::Site::here()) {
    return detail::fold(detail::Team(kLanes), input, op, valid_items, site);
  }
  template <class Op> T Reduce(T input, Op op, emu::Site site = emu::Site::here()) {
    return Reduce(input, op, kLanes, site);
  }
  T Sum(T input, int valid_items, emu::Site site = emu::Site::here()) {
    return Reduce(input, cub::Sum(), valid_items, site);
  }
  T Sum(T input, emu::Site site = emu::Site::here()) { return Reduce(input, cub::Sum(), kLanes, site); }
};

template <class T, int kLanes = 32, int = 0>
class WarpScan {
  static_assert(kLanes >= 1 && kLanes <= 32, "a logical warp has 1 to 32 threads");
  using Site = emu::Site;

  // What the lanes before this one have; nothing for the first.
  static T before(const detail::Team& team, T inclusive, Site site) {
    return team.from(inclusive, team.place ? team.place - 1 : 0, site);
  }
  static T last(const detail::Team& team, T inclusive, Site site) { return team.from(inclusive, team.width - 1, site); }

 public:
  using TempStorage = detail::Nothing;
  explicit WarpScan(TempStorage&) {}

  template <class Op> void InclusiveScan(T input, T& output, Op op, Site site = Site::here()) {
    output = detail::scan(detail::Team(kLanes), input, op, site);
  }
  template <class Op> void InclusiveScan(T input, T& output, Op op, T& aggregate, Site site = Site::here()) {
    const detail::Team team(kLanes);
    output = detail::scan(team, input, op, site);
    aggregate = last(team, output, site);
  }
  template <class Op>
  std::enable_if_t<detail::joins<Op, T>> ExclusiveScan(T input, T& output, T initial, Op op, Site site = Site::here()) {
    T unused;
    ExclusiveScan(input, output, initial, op, unused, site);
  }
  // The aggregate is of the inputs alone.
  template <class Op> void ExclusiveScan(T input, T& output, T initial, Op op, T& aggregate, Site site = Site::here()) {
    const detail::Team team(kLanes);
    const T inclusive = detail::scan(team, input, op, site), earlier = before(team, inclusive, site);
    aggregate = last(team, inclusive, site);
    output = team.place ? T(op(initial, earlier)) : initial;
  }
  void InclusiveSum(T input, T& output, Site site = Site::here()) { InclusiveScan(input, output, cub::Sum(), site); }
  void InclusiveSum(T input, T& output, T& aggregate, Site site = Site::here()) {
    InclusiveScan(input, output, cub::Sum(), aggregate, site);
  }
  void ExclusiveSum(T input, T& output, Site site = Site::here()) {
    ExclusiveScan(input, output, T(0), cub::Sum(), site);
  }
  void ExclusiveSum(T input, T& output, T& aggregate, Site site = Site::here()) {
    ExclusiveScan(input, output, T(0), cub::Sum(), aggregate, site);
  }
  T Broadcast(T input, unsigned source, Site site = Site::here()) {
    return detail::Team(kLanes).from(input, int(source), site);
  }
};

}  // namespace cub
