// CUB's loads and stores of a block: thread t has items t N to t N + N - 1, or with STRIPED every X-th from t on. Those
// that transpose go through the caller's shared storage, as on the device.
#pragma once
#include "cub_block.h"

namespace cub {

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

namespace detail {
// Where in the block's items the i-th of this thread lies.
template <int kThreads, int kItems> EMU_INLINE int item(int i, bool striped) {
  return striped ? int(emu::machine.rank) + i * kThreads : int(emu::machine.rank) * kItems + i;
}
}  // namespace detail

template <class T, int kX, int kItems, BlockLoadAlgorithm kHow = BLOCK_LOAD_DIRECT, int kY = 1, int kZ = 1, int = 0>
class BlockLoad {
  using Site = emu::Site;
  static constexpr int threads = kX * kY * kZ;
  static constexpr bool transposes = kHow >= BLOCK_LOAD_TRANSPOSE;

  template <class From> EMU_INLINE void move(From from, T (&items)[kItems], int valid, const T* otherwise, Site site) {
    for (int i = 0; i < kItems; ++i) {
      const int at = detail::item<threads, kItems>(i, transposes || kHow == BLOCK_LOAD_STRIPED);
      if (at < valid) items[i] = from[at];
      else if (otherwise != nullptr) items[i] = *otherwise;
      if (transposes && (at < valid || otherwise != nullptr)) storage.at(at) = items[i];
    }
    if (!transposes) return;
    __syncthreads(site);
    for (int i = 0; i < kItems; ++i) {
      const int at = detail::item<threads, kItems>(i, false);
      if (at < valid || otherwise != nullptr) items[i] = storage.at(at);
    }
  }

 public:
  using TempStorage = detail::Room<T, transposes ? threads * kItems : 1>;
  explicit BlockLoad(TempStorage& temp) : storage(temp) {}
  BlockLoad() : storage(detail::own_storage<BlockLoad, TempStorage>()) {}

  template <class From> EMU_INLINE void Load(From from, T (&items)[kItems], Site site = Site::here()) {
    move(from, items, threads * kItems, nullptr, site);
  }
  // Items from `valid` on stay what they are.
  template <class From> EMU_INLINE void Load(From from, T (&items)[kItems], int valid, Site site = Site::here()) {
    move(from, items, valid, nullptr, site);
  }
  template <class From, class Default>
  EMU_INLINE void Load(From from, T (&items)[kItems], int valid, Default otherwise, Site site = Site::here()) {
    const T value(otherwise);
    move(from, items, valid, &value, site);
  }

 private:
  TempStorage& storage;
};

template <class T, int kX, int kItems, BlockStoreAlgorithm kHow = BLOCK_STORE_DIRECT, int kY = 1, int kZ = 1, int = 0>
class BlockStore {
  using Site = emu::Site;
  static constexpr int threads = kX * kY * kZ;
  static constexpr bool transposes = kHow >= BLOCK_STORE_TRANSPOSE;

 public:
  using TempStorage = detail::Room<T, transposes ? threads * kItems : 1>;
  explicit BlockStore(TempStorage& temp) : storage(temp) {}
  BlockStore() : storage(detail::own_storage<BlockStore, TempStorage>()) {}

  template <class To> EMU_INLINE void Store(To to, T (&items)[kItems], int valid, Site site = Site::here()) {
    if (transposes) {
      for (int i = 0; i < kItems; ++i) storage.at(detail::item<threads, kItems>(i, false)) = items[i];
      __syncthreads(site);
    }
    for (int i = 0; i < kItems; ++i) {
      const int at = detail::item<threads, kItems>(i, transposes || kHow == BLOCK_STORE_STRIPED);
      if (at < valid) to[at] = transposes ? storage.at(at) : items[i];
    }
  }
  template <class To> EMU_INLINE void Store(To to, T (&items)[kItems], Site site = Site::here()) {
    Store(to, items, threads * kItems, site);
  }

 private:
  TempStorage& storage;
};

}  // namespace cub
