// Cooperative groups: the block, tiles of a warp, the lanes that are active, and the grid of a cooperative launch.
#pragma once
#include "barriers.h"
#include "copies.h"
#include "warp.h"

namespace cooperative_groups {

inline unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

class thread_block {
 public:
  static void sync(emu::Site site = emu::Site::here()) { __syncthreads(site); }
  static unsigned thread_rank() { return emu::machine.rank; }
  static unsigned size() { return threads_of_block(); }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return dim3(blockIdx); }
  static dim3 thread_index() { return dim3(threadIdx); }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
  // Arriving and waiting apart, in their synchronous meaning: a thread that arrives waits where it asks to.
  struct arrival_token {};
  [[nodiscard]] static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(arrival_token&&, emu::Site site = emu::Site::here()) { __syncthreads(site); }
};
inline thread_block this_thread_block() { return {}; }
template <class Group>
inline void sync(const Group& group, emu::Site site = emu::Site::here()) { group.sync(site); }

// Some lanes of a warp: the mask says which, and ranks count within it.
class lanes_group {
 public:
  explicit lanes_group(unsigned mask) : mask_(mask) {}
  unsigned size() const { return unsigned(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return unsigned(__popc(mask_ & ((1u << emu::lane()) - 1))); }
  void sync(emu::Site site = emu::Site::here()) const { __syncwarp(mask_, site); }
  template <class T> T shfl(T v, unsigned rank, emu::Site site = emu::Site::here()) const {
    return emu::shuffle_from(mask_, v, lane_of(rank % size()), site);
  }
  template <class T> T shfl_down(T v, unsigned delta, emu::Site site = emu::Site::here()) const {
    const unsigned rank = thread_rank() + delta;
    return emu::shuffle_from(mask_, v, rank < size() ? lane_of(rank) : emu::lane(), site);
  }
  template <class T> T shfl_up(T v, unsigned delta, emu::Site site = emu::Site::here()) const {
    return emu::shuffle_from(mask_, v, thread_rank() >= delta ? lane_of(thread_rank() - delta) : emu::lane(), site);
  }
  template <class T> T shfl_xor(T v, unsigned lanes, emu::Site site = emu::Site::here()) const {
    const unsigned rank = thread_rank() ^ lanes;
    return emu::shuffle_from(mask_, v, rank < size() ? lane_of(rank) : emu::lane(), site);
  }
  int any(int p, emu::Site site = emu::Site::here()) const { return emu::ballot(mask_, p != 0, site) != 0; }
  int all(int p, emu::Site site = emu::Site::here()) const { return emu::ballot(mask_, p == 0, site) == 0; }
  unsigned ballot(int p, emu::Site site = emu::Site::here()) const { return packed(emu::ballot(mask_, p != 0, site)); }
  template <class T> unsigned match_any(T v, emu::Site site = emu::Site::here()) const { return packed(__match_any_sync(mask_, v, site)); }
  template <class T> unsigned match_all(T v, int& same, emu::Site site = emu::Site::here()) const {
    return packed(__match_all_sync(mask_, v, &same, site));
  }
  unsigned mask() const { return mask_; }

 protected:
  unsigned lane_of(unsigned rank) const {
    unsigned left = mask_;
    while (rank-- > 0) left &= left - 1;
    return unsigned(__builtin_ctz(left));
  }
  // Bits of lanes as bits of ranks.
  unsigned packed(unsigned lanes) const {
    unsigned out = 0, rank = 0;
    for (unsigned left = mask_; left != 0; left &= left - 1, ++rank) out |= (lanes >> __builtin_ctz(left) & 1) << rank;
    return out;
  }
  unsigned mask_;
};

template <unsigned N, class Parent = thread_block>
class thread_block_tile : public lanes_group {
 public:
  static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0, "tiles of 1 to 32 threads run here");
  thread_block_tile() : lanes_group(N == 32 ? ~0u : ((1u << (N % 32)) - 1) << (emu::lane() / N * N)) {}
  static constexpr unsigned size() { return N; }
  static constexpr unsigned num_threads() { return N; }
  static unsigned thread_rank() { return emu::machine.rank % N; }
  static unsigned meta_group_rank() { return emu::machine.rank / N; }
  static unsigned meta_group_size() { return (threads_of_block() + N - 1) / N; }
};
template <unsigned N, class Parent>
thread_block_tile<N, Parent> tiled_partition(const Parent&) { return {}; }

// Which part of a group it is, and of how many, is known where a partition made it.
class coalesced_group : public lanes_group {
 public:
  explicit coalesced_group(unsigned mask, unsigned part = 0, unsigned parts = 1) : lanes_group(mask), part_(part), parts_(parts) {}
  unsigned meta_group_rank() const { return part_; }
  unsigned meta_group_size() const { return parts_; }

 private:
  unsigned part_, parts_;
};
inline coalesced_group coalesced_threads(emu::Site site = emu::Site::here()) { return coalesced_group(__activemask(site)); }

// The threads of a group that bring the same label; parts are numbered as their labels are.
template <class Group, class Label>
coalesced_group labeled_partition(const Group& group, Label label, emu::Site site = emu::Site::here()) {
  Label all[emu::kWarp];
  const unsigned lanes = emu::gather(group.mask(), &label, sizeof label, all, site);
  unsigned same = 0, part = 0, parts = 0;
  for (unsigned l = 0; l < emu::kWarp; ++l) {
    if ((lanes >> l & 1) == 0) continue;
    same |= unsigned(all[l] == label) << l;
    bool first = true;
    for (unsigned before = 0; before < l; ++before) first = first && !((lanes >> before & 1) && all[before] == all[l]);
    parts += first;
    part += first && all[l] < label;
  }
  return coalesced_group(same, part, parts);
}
template <class Group>
coalesced_group binary_partition(const Group& group, bool side, emu::Site site = emu::Site::here()) {
  return labeled_partition(group, int(side), site);
}
// A tile whose size is known when it runs: of the threads of a block, a power of two up to 32 of them.
inline coalesced_group tiled_partition(const thread_block&, unsigned size) {
  const unsigned first = emu::lane() / size * size;
  const unsigned mask = size >= 32 ? ~0u : ((1u << size) - 1) << first;
  return coalesced_group(mask, emu::machine.rank / size, (threads_of_block() + size - 1) / size);
}
inline coalesced_group tiled_partition(const coalesced_group& group, unsigned size) {
  const unsigned rank = group.thread_rank() / size;
  unsigned mask = 0, at = 0;
  for (unsigned left = group.mask(); left != 0; left &= left - 1, ++at) {
    if (at / size == rank) mask |= left & -left;
  }
  return coalesced_group(mask, rank, (group.size() + size - 1) / size);
}

// One thread of the group runs it.
template <class Group, class F, class... Arguments>
EMU_INLINE void invoke_one(const Group& group, F&& f, Arguments&&... arguments) {
  if (group.thread_rank() == 0) f(static_cast<Arguments&&>(arguments)...);
}
template <class Group, class F, class... Arguments>
EMU_INLINE auto invoke_one_broadcast(const Group& group, F&& f, Arguments&&... arguments) {
  decltype(f(static_cast<Arguments&&>(arguments)...)) result{};
  if (group.thread_rank() == 0) result = f(static_cast<Arguments&&>(arguments)...);
  return group.shfl(result, 0);
}

class grid_group {
 public:
  static void sync(emu::Site site = emu::Site::here()) { emu::wait_grid(site); }
  static bool is_valid() { return emu::cooperative(); }
  static unsigned long long size() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z * threads_of_block(); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long block_rank() { return (blockIdx.z * (unsigned long long)gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
  static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  static unsigned long long thread_rank() { return block_rank() * threads_of_block() + emu::machine.rank; }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return dim3(blockIdx); }
  static dim3 thread_index() { return dim3(threadIdx); }
  static unsigned num_threads_per_block() { return threads_of_block(); }
};
inline grid_group this_grid() { return {}; }

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

template <class Group, class T, class F>
T reduce(const Group& group, T v, F fold, emu::Site site = emu::Site::here()) {
  return emu::reduce(group.mask(), v, fold, site);
}
template <class Group, class T, class F>
T inclusive_scan(const Group& group, T v, F fold) {
  for (unsigned delta = 1; delta < group.size(); delta *= 2) {
    const T left = group.shfl_up(v, delta);
    if (group.thread_rank() >= delta) v = fold(left, v);
  }
  return v;
}
template <class Group, class T> T inclusive_scan(const Group& group, T v) { return inclusive_scan(group, v, plus<T>()); }
// What the first thread gets is T(), whatever the operator (programming guide, exclusive_scan).
template <class Group, class T, class F>
T exclusive_scan(const Group& group, T v, F fold) {
  const T before = group.shfl_up(inclusive_scan(group, v, fold), 1);
  return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T> T exclusive_scan(const Group& group, T v) { return exclusive_scan(group, v, plus<T>()); }

// The group copies together; here each thread takes every size()-th byte's worth of four, in its simplest meaning.
template <class Group, class T, class Bytes>
EMU_INLINE void memcpy_async(const Group& group, T* to, const T* from, Bytes bytes) {
  for (size_t at = group.thread_rank() * sizeof(T); at < size_t(bytes); at += group.size() * sizeof(T)) {
    emu::copy_async((char*)to + at, (const char*)from + at, sizeof(T), 0);
  }
  emu::commit_copies();
}
template <class Group>
EMU_INLINE void wait(const Group& group) {
  emu::wait_copies(0);
  group.sync();
}
template <unsigned Left, class Group>
EMU_INLINE void wait_prior(const Group& group) {
  emu::wait_copies(Left);
  group.sync();
}

}  // namespace cooperative_groups
