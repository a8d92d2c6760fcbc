// CUB's reductions and scans of a block. What its warps tell each other lies in the caller's shared storage, so that
// the checks see a storage that is used again without a barrier. Results of a reduction are valid in thread 0 alone.
#pragma once
#include "barriers.h"
#include "cub_warp.h"
#include "storage.h"

namespace cub {

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

namespace detail {

// Room for `kCount` values of any type in shared memory, which no constructor runs for.
template <class T, int kCount>
struct Room {
  alignas(T) unsigned char bytes[kCount * sizeof(T)];
  EMU_INLINE T& at(int i) { return reinterpret_cast<T*>(bytes)[i]; }
};

// Storage that CUB declares itself where the caller brings none.
template <class Owner, class Storage> inline Storage& own_storage() {
  return emu::shared_variable<Storage>([] {}, "CUB's own storage");
}

template <int kItems, class T, class Op> EMU_INLINE T together(T (&items)[kItems], Op& op) {
  T sum = items[0];
  for (int i = 1; i < kItems; ++i) sum = op(sum, items[i]);
  return sum;
}

}  // namespace detail

template <class T, int kX, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int kY = 1, int kZ = 1, int = 0>
class BlockReduce {
  using Site = emu::Site;
  static constexpr int threads = kX * kY * kZ, warps = (threads + 31) / 32;

 public:
  using TempStorage = detail::Room<T, warps>;
  explicit BlockReduce(TempStorage& temp) : storage(temp) {}
  BlockReduce() : storage(detail::own_storage<BlockReduce, TempStorage>()) {}

  template <class Op> EMU_INLINE T Reduce(T input, Op op, int valid_items, Site site = Site::here()) {
    const int rank = int(emu::machine.rank), first = rank / 32 * 32, valid = valid_items - first;
    T sum = detail::fold(detail::Team(32), input, op, valid < 32 ? valid : 32, site);
    if (rank == first) storage.at(rank / 32) = sum;
    __syncthreads(site);
    if (rank == 0) {
      for (int w = 1; w * 32 < valid_items; ++w) sum = op(sum, storage.at(w));
    }
    return sum;
  }
  template <class Op> EMU_INLINE T Reduce(T input, Op op, Site site = Site::here()) {
    return Reduce(input, op, threads, site);
  }
  template <int kItems, class Op> EMU_INLINE T Reduce(T (&inputs)[kItems], Op op, Site site = Site::here()) {
    return Reduce(detail::together(inputs, op), op, threads, site);
  }
  EMU_INLINE T Sum(T input, int valid_items, Site site = Site::here()) {
    return Reduce(input, cub::Sum(), valid_items, site);
  }
  EMU_INLINE T Sum(T input, Site site = Site::here()) { return Reduce(input, cub::Sum(), threads, site); }
  template <int kItems> EMU_INLINE T Sum(T (&inputs)[kItems], Site site = Site::here()) {
    return Reduce(inputs, cub::Sum(), site);
  }

 private:
  TempStorage& storage;
};

template <class T, int kX, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int kY = 1, int kZ = 1, int = 0>
class BlockScan {
  using Site = emu::Site;
  static constexpr int threads = kX * kY * kZ, warps = (threads + 31) / 32;

  // What the threads before this one have, and all of them; thread 0 has nobody before it.
  struct Around { bool any; T before, all; };

  template <class Op> EMU_INLINE Around around(T mine, Op& op, Site site) {
    const int rank = int(emu::machine.rank), warp = rank / 32;
    const detail::Team team(32);
    const T inclusive = detail::scan(team, mine, op, site);
    Around made{rank > 0, team.from(inclusive, team.place ? team.place - 1 : 0, site), T()};
    if (team.place == 31 || rank == threads - 1) storage.of.at(warp) = inclusive;
    __syncthreads(site);
    T earlier = T();
    made.all = storage.of.at(0);
    for (int w = 1; w <= warps; ++w) {
      if (w == warp) earlier = made.all;
      if (w < warps) made.all = op(made.all, storage.of.at(w));
    }
    if (warp > 0) made.before = team.place ? T(op(earlier, made.before)) : earlier;
    return made;
  }
  // What `callback` of the first warp, given the block's total, says stands before the block.
  template <class Callback> EMU_INLINE T asked(Callback& callback, T all, Site site) {
    if (emu::machine.rank < 32) {
      const T said = callback(all);
      if (emu::machine.rank == 0) storage.prefix.at(0) = said;
    }
    __syncthreads(site);
    return storage.prefix.at(0);
  }
  template <int kItems, class Op>
  static EMU_INLINE void spread(T (&in)[kItems], T (&out)[kItems], Op& op, bool any, T before, bool inclusive) {
    for (int i = 0; i < kItems; ++i) {
      const T item = in[i], with = any ? T(op(before, item)) : item;
      out[i] = inclusive || !any ? with : before;
      before = with, any = true;
    }
  }
  template <int kItems, class Op>
  EMU_INLINE T run(T (&in)[kItems], T (&out)[kItems], Op& op, const T* initial, bool inclusive, Site site) {
    const Around near = around(detail::together(in, op), op, site);
    T before = near.before;
    if (initial != nullptr) before = near.any ? T(op(*initial, near.before)) : *initial;
    spread(in, out, op, near.any || initial != nullptr, before, inclusive);
    return near.all;
  }
  template <int kItems, class Op, class Callback>
  EMU_INLINE void run_after(T (&in)[kItems], T (&out)[kItems], Op& op, Callback& callback, bool inclusive, Site site) {
    const Around near = around(detail::together(in, op), op, site);
    const T initial = asked(callback, near.all, site);
    spread(in, out, op, true, near.any ? T(op(initial, near.before)) : initial, inclusive);
  }
  static EMU_INLINE T (&one(T& item))[1] { return reinterpret_cast<T (&)[1]>(item); }
  template <class Op> static constexpr bool joins = detail::joins<Op, T>;

 public:
  struct TempStorage { detail::Room<T, warps> of; detail::Room<T, 1> prefix; };
  explicit BlockScan(TempStorage& temp) : storage(temp) {}
  BlockScan() : storage(detail::own_storage<BlockScan, TempStorage>()) {}

  // --- several items for each thread ---
  template <int N, class Op> EMU_INLINE void InclusiveScan(T (&in)[N], T (&out)[N], Op op, Site site = Site::here()) {
    run(in, out, op, nullptr, true, site);
  }
  template <int N, class Op>
  EMU_INLINE void InclusiveScan(T (&in)[N], T (&out)[N], Op op, T& all, Site site = Site::here()) {
    all = run(in, out, op, nullptr, true, site);
  }
  template <int N, class Op, class Callback>
  EMU_INLINE std::enable_if_t<joins<Op>> InclusiveScan(T (&in)[N], T (&out)[N], Op op, Callback& before,
      Site site = Site::here()) {
    run_after(in, out, op, before, true, site);
  }
  template <int N, class Op> EMU_INLINE void ExclusiveScan(T (&in)[N], T (&out)[N], Op op, Site site = Site::here()) {
    run(in, out, op, nullptr, false, site);
  }
  template <int N, class Op>
  EMU_INLINE std::enable_if_t<joins<Op>> ExclusiveScan(T (&in)[N], T (&out)[N], Op op, T& all,
      Site site = Site::here()) {
    all = run(in, out, op, nullptr, false, site);
  }
  template <int N, class Op>
  EMU_INLINE std::enable_if_t<joins<Op>> ExclusiveScan(T (&in)[N], T (&out)[N], T initial, Op op,
      Site site = Site::here()) {
    run(in, out, op, &initial, false, site);
  }
  template <int N, class Op>
  EMU_INLINE void ExclusiveScan(T (&in)[N], T (&out)[N], T initial, Op op, T& all, Site site = Site::here()) {
    all = run(in, out, op, &initial, false, site);
  }
  template <int N, class Op, class Callback>
  EMU_INLINE std::enable_if_t<joins<Op>> ExclusiveScan(T (&in)[N], T (&out)[N], Op op, Callback& before,
      Site site = Site::here()) {
    run_after(in, out, op, before, false, site);
  }
  template <int N> EMU_INLINE void InclusiveSum(T (&in)[N], T (&out)[N], Site site = Site::here()) {
    InclusiveScan(in, out, cub::Sum(), site);
  }
  template <int N> EMU_INLINE void InclusiveSum(T (&in)[N], T (&out)[N], T& all, Site site = Site::here()) {
    InclusiveScan(in, out, cub::Sum(), all, site);
  }
  template <int N, class Callback>
  EMU_INLINE void InclusiveSum(T (&in)[N], T (&out)[N], Callback& before, Site site = Site::here()) {
    InclusiveScan(in, out, cub::Sum(), before, site);
  }
  template <int N> EMU_INLINE void ExclusiveSum(T (&in)[N], T (&out)[N], Site site = Site::here()) {
    ExclusiveScan(in, out, T(0), cub::Sum(), site);
  }
  template <int N> EMU_INLINE void ExclusiveSum(T (&in)[N], T (&out)[N], T& all, Site site = Site::here()) {
    ExclusiveScan(in, out, T(0), cub::Sum(), all, site);
  }
  template <int N, class Callback>
  EMU_INLINE void ExclusiveSum(T (&in)[N], T (&out)[N], Callback& before, Site site = Site::here()) {
    ExclusiveScan(in, out, cub::Sum(), before, site);
  }

  // --- one item for each thread ---
  template <class Op> EMU_INLINE void InclusiveScan(T in, T& out, Op op, Site site = Site::here()) {
    InclusiveScan(one(in), one(out), op, site);
  }
  template <class Op> EMU_INLINE void InclusiveScan(T in, T& out, Op op, T& all, Site site = Site::here()) {
    InclusiveScan(one(in), one(out), op, all, site);
  }
  template <class Op, class Callback>
  EMU_INLINE std::enable_if_t<joins<Op>> InclusiveScan(T in, T& out, Op op, Callback& before,
      Site site = Site::here()) {
    InclusiveScan(one(in), one(out), op, before, site);
  }
  template <class Op> EMU_INLINE void ExclusiveScan(T in, T& out, Op op, Site site = Site::here()) {
    ExclusiveScan(one(in), one(out), op, site);
  }
  template <class Op>
  EMU_INLINE std::enable_if_t<joins<Op>> ExclusiveScan(T in, T& out, Op op, T& all, Site site = Site::here()) {
    ExclusiveScan(one(in), one(out), op, all, site);
  }
  template <class Op>
  EMU_INLINE std::enable_if_t<joins<Op>> ExclusiveScan(T in, T& out, T initial, Op op, Site site = Site::here()) {
    ExclusiveScan(one(in), one(out), initial, op, site);
  }
  template <class Op> EMU_INLINE void ExclusiveScan(T in, T& out, T initial, Op op, T& all, Site site = Site::here()) {
    ExclusiveScan(one(in), one(out), initial, op, all, site);
  }
  template <class Op, class Callback>
  EMU_INLINE std::enable_if_t<joins<Op>> ExclusiveScan(T in, T& out, Op op, Callback& before,
      Site site = Site::here()) {
    ExclusiveScan(one(in), one(out), op, before, site);
  }
  EMU_INLINE void InclusiveSum(T in, T& out, Site site = Site::here()) { InclusiveSum(one(in), one(out), site); }
  EMU_INLINE void InclusiveSum(T in, T& out, T& all, Site site = Site::here()) {
    InclusiveSum(one(in), one(out), all, site);
  }
  template <class Callback> EMU_INLINE void InclusiveSum(T in, T& out, Callback& before, Site site = Site::here()) {
    InclusiveSum(one(in), one(out), before, site);
  }
  EMU_INLINE void ExclusiveSum(T in, T& out, Site site = Site::here()) { ExclusiveSum(one(in), one(out), site); }
  EMU_INLINE void ExclusiveSum(T in, T& out, T& all, Site site = Site::here()) {
    ExclusiveSum(one(in), one(out), all, site);
  }
  template <class Callback> EMU_INLINE void ExclusiveSum(T in, T& out, Callback& before, Site site = Site::here()) {
    ExclusiveSum(one(in), one(out), before, site);
  }

 private:
  TempStorage& storage;
};

}  // namespace cub
