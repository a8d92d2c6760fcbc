// Warp shuffles, votes, match, reduce and activemask.
#pragma once
#include <cstring>
#include <type_traits>

#include "machine.h"

namespace emu {

// Run by the last lane to come: hands every lane the value of the lane it reads.
void complete_shuffle(unsigned lanes);
void complete_ballot(unsigned lanes);

template <class T>
T shuffle_from(unsigned mask, T value, unsigned source, Site site) {
  static_assert(sizeof(T) <= sizeof(Slot::value), "a shuffle moves 64 bytes at most");
  Slot& slot = lane_slot();
  memcpy(slot.value, &value, sizeof(T));
  slot.source = source;
  meet(mask, Meeting::shuffle, site, complete_shuffle);
  T got;
  memcpy(&got, slot.result, sizeof(T));
  return got;
}

inline unsigned ballot(unsigned mask, bool predicate, Site site) {
  Slot& slot = lane_slot();
  slot.value[0] = predicate;
  meet(mask, Meeting::vote, site, complete_ballot);
  unsigned got;
  memcpy(&got, slot.result, sizeof got);
  return got;
}

// The values of all lanes that meet, in `out` by lane; returns which lanes those are.
unsigned gather(unsigned mask, const void* value, size_t bytes, void* out, Site site);

template <class T, class Fold>
T reduce(unsigned mask, T value, Fold fold, Site site) {
  T all[kWarp];
  const unsigned lanes = gather(mask, &value, sizeof(T), all, site);
  unsigned left = lanes;
  T sum = all[__builtin_ctz(left)];
  for (left &= left - 1; left != 0; left &= left - 1) sum = fold(sum, all[__builtin_ctz(left)]);
  return sum;
}

}  // namespace emu

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, emu::Site site = emu::Site::here()) {
  const unsigned lane = emu::lane();
  return emu::shuffle_from(mask, value, (lane & ~(width - 1)) | (source & (width - 1)), site);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, emu::Site site = emu::Site::here()) {
  const unsigned lane = emu::lane();
  return emu::shuffle_from(mask, value, (lane & (width - 1)) >= delta ? lane - delta : lane, site);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, emu::Site site = emu::Site::here()) {
  const unsigned lane = emu::lane();
  return emu::shuffle_from(mask, value, (lane & (width - 1)) + delta < unsigned(width) ? lane + delta : lane, site);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, emu::Site site = emu::Site::here()) {
  const unsigned lane = emu::lane(), source = lane ^ unsigned(lanes);
  // A lane may read from its own group of `width` or an earlier one (PTX ISA, shfl.sync.bfly).
  return emu::shuffle_from(mask, value, source <= (lane | unsigned(width - 1)) ? source : lane, site);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, emu::Site site = emu::Site::here()) {
  emu::meet(mask, emu::Meeting::sync, site, nullptr);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, emu::Site site = emu::Site::here()) {
  return emu::ballot(mask, predicate != 0, site);
}
inline int __any_sync(unsigned mask, int predicate, emu::Site site = emu::Site::here()) {
  return emu::ballot(mask, predicate != 0, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, emu::Site site = emu::Site::here()) {
  return emu::ballot(mask, predicate == 0, site) == 0;
}
inline int __uni_sync(unsigned mask, int predicate, emu::Site site = emu::Site::here()) {
  const unsigned yes = emu::ballot(mask, predicate != 0, site), no = emu::ballot(mask, predicate == 0, site);
  return yes == 0 || no == 0;
}
inline unsigned __activemask(emu::Site site = emu::Site::here()) { return emu::converged_lanes(site); }

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, emu::Site site = emu::Site::here()) {
  T all[emu::kWarp];
  const unsigned lanes = emu::gather(mask, &value, sizeof(T), all, site);
  unsigned same = 0;
  for (unsigned l = 0; l < emu::kWarp; ++l) same |= unsigned(lanes >> l & 1 && memcmp(&all[l], &value, sizeof(T)) == 0) << l;
  return same;
}

template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, emu::Site site = emu::Site::here()) {
  T all[emu::kWarp];
  const unsigned lanes = emu::gather(mask, &value, sizeof(T), all, site);
  *predicate = 1;
  for (unsigned l = 0; l < emu::kWarp; ++l) {
    if (lanes >> l & 1 && memcmp(&all[l], &value, sizeof(T)) != 0) *predicate = 0;
  }
  return *predicate ? lanes : 0;
}

#define EMU_REDUCE(name, type, expression)                                                        \
  inline type __reduce_##name##_sync(unsigned mask, type value, emu::Site site = emu::Site::here()) { \
    return emu::reduce(mask, value, [](type a, type b) -> type { return expression; }, site);      \
  }
EMU_REDUCE(add, unsigned, a + b)
EMU_REDUCE(add, int, int(unsigned(a) + unsigned(b)))
EMU_REDUCE(min, unsigned, a < b ? a : b)
EMU_REDUCE(min, int, a < b ? a : b)
EMU_REDUCE(max, unsigned, a > b ? a : b)
EMU_REDUCE(max, int, a > b ? a : b)
EMU_REDUCE(and, unsigned, a & b)
EMU_REDUCE(or, unsigned, a | b)
EMU_REDUCE(xor, unsigned, a ^ b)
#undef EMU_REDUCE
