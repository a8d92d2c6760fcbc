// Inclusive prefix sum in one pass over the data, with decoupled look-back (Merrill and Garland, 2016).
//
// Start version: bound by memory, 16 bytes an element, of which 8 are a second trip of the same data.
// This version: 8 bytes an element and one 8-byte status word per 4096 elements; still bound by memory. The chain
// from tile to tile is hidden as long as enough tiles are in flight, because a tile publishes its own total before
// it looks back, and a tile that looks back adds up to 32 predecessors in one step.
//
// Not bitwise reproducible: where a tile meets a finished prefix depends on timing, so the order of the tile sums
// does too. The inputs are not negative, so that moves the result by a few units in the last place.
#include <cuda_runtime.h>

#include <cstdint>

namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kRounds = 4;                       // float4 accesses per lane
constexpr int kItems = 4 * kRounds;
constexpr int kWarpItems = 32 * kItems;          // consecutive elements of one warp
constexpr int kTile = kThreads * kItems;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;

// A tile's status: the upper half is one of these, the lower half the float that goes with it. Both change in one
// 64-bit store, so a reader never sees a value without its meaning and no fence is needed.
enum TileState : unsigned { kPending = 0, kTotal = 1, kPrefix = 2 };

struct Scratch {
  unsigned long long* status;   // one word per tile
  unsigned long long* next;     // number of the next tile to hand out
};

__device__ void publish(unsigned long long* status, TileState state, float value) {
  atomicExch(status, (static_cast<unsigned long long>(state) << 32) | __float_as_uint(value));
}

__device__ unsigned long long observe(const unsigned long long* status) {
  return *static_cast<const volatile unsigned long long*>(status);
}

__device__ float warp_inclusive(float value) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const float left = __shfl_up_sync(kAllLanes, value, offset);
    if (lane >= offset) {
      value += left;
    }
  }
  return value;
}

__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

// Sum of everything before `tile`; called by one whole warp. Lane 0 looks at the nearest predecessor.
__device__ float look_back(const unsigned long long* status, int64_t tile) {
  const int lane = threadIdx.x % 32;
  float before = 0.0f;
  for (int64_t nearest = tile - 1; nearest >= 0; nearest -= 32) {
    const int64_t mine = nearest - lane;
    unsigned long long word = mine >= 0 ? 0 : (static_cast<unsigned long long>(kPrefix) << 32);
    while (__any_sync(kAllLanes, (word >> 32) == kPending)) {
      if ((word >> 32) == kPending) {
        word = observe(&status[mine]);
      }
    }
    const unsigned finished = __ballot_sync(kAllLanes, (word >> 32) == kPrefix);
    const int stop = finished != 0 ? __ffs(finished) - 1 : 31;
    before += warp_sum(lane <= stop ? __uint_as_float(static_cast<unsigned>(word)) : 0.0f);
    if (finished != 0) {
      break;
    }
  }
  return before;
}

// Where a lane's four elements of round r lie, counted from the first element of the tile.
__device__ int item_offset(int round) {
  return (threadIdx.x / 32) * kWarpItems + round * 128 + (threadIdx.x % 32) * 4;
}

template <bool kVector>
__device__ float4 load4(const float* x, int64_t at, int64_t n) {
  if (kVector && at + 4 <= n) {
    return __ldcs(reinterpret_cast<const float4*>(x + at));
  }
  return make_float4(at < n ? x[at] : 0.0f, at + 1 < n ? x[at + 1] : 0.0f, at + 2 < n ? x[at + 2] : 0.0f,
                     at + 3 < n ? x[at + 3] : 0.0f);
}

template <bool kVector>
__device__ void store4(float* y, int64_t at, int64_t n, float4 v) {
  if (kVector && at + 4 <= n) {
    __stcs(reinterpret_cast<float4*>(y + at), v);
    return;
  }
  if (at < n) y[at] = v.x;
  if (at + 1 < n) y[at + 1] = v.y;
  if (at + 2 < n) y[at + 2] = v.z;
  if (at + 3 < n) y[at + 3] = v.w;
}

template <bool kVector>
__global__ void __launch_bounds__(kThreads)
    scan_kernel(const float* __restrict__ x, float* __restrict__ y, Scratch scratch, int64_t n) {
  __shared__ int64_t shared_tile;
  __shared__ float warp_totals[kWarps];
  __shared__ float tile_prefix;
  if (threadIdx.x == 0) {
    shared_tile = static_cast<int64_t>(atomicAdd(scratch.next, 1ull));
  }
  __syncthreads();
  const int64_t tile = shared_tile;
  const int64_t base = tile * kTile;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;

  float4 items[kRounds];
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    items[r] = load4<kVector>(x, base + item_offset(r), n);
  }

  // Scan inside the warp: 128 consecutive elements a round, the rounds joined by `carry`.
  float carry = 0.0f;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    float4& v = items[r];
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    const float upto = warp_inclusive(v.w);
    float before = __shfl_up_sync(kAllLanes, upto, 1);
    before = carry + (lane == 0 ? 0.0f : before);
    v = make_float4(v.x + before, v.y + before, v.z + before, v.w + before);
    carry += __shfl_sync(kAllLanes, upto, 31);
  }
  if (lane == 0) {
    warp_totals[warp] = carry;
  }
  __syncthreads();

  if (warp == 0) {
    const float total = warp_sum(lane < kWarps ? warp_totals[lane] : 0.0f);
    if (lane == 0) {
      publish(&scratch.status[tile], tile == 0 ? kPrefix : kTotal, total);
    }
    if (tile > 0) {
      const float before = look_back(scratch.status, tile);
      if (lane == 0) {
        publish(&scratch.status[tile], kPrefix, before + total);
        tile_prefix = before;
      }
    } else if (lane == 0) {
      tile_prefix = 0.0f;
    }
  }
  float inside = 0.0f;
  for (int w = 0; w < warp; ++w) {
    inside += warp_totals[w];
  }
  __syncthreads();

  const float before = tile_prefix + inside;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const float4 v = items[r];
    store4<kVector>(y, base + item_offset(r), n, make_float4(v.x + before, v.y + before, v.z + before, v.w + before));
  }
}

}  // namespace

extern "C" int scan_inclusive(const float* x, float* y, int64_t N, cudaStream_t stream) {
  const int64_t tiles = (N + kTile - 1) / kTile;
  const size_t bytes = static_cast<size_t>(tiles + 1) * sizeof(unsigned long long);
  unsigned long long* words = nullptr;
  const cudaError_t allocated = cudaMallocAsync(&words, bytes, stream);
  if (allocated != cudaSuccess) {
    return allocated;
  }
  cudaError_t result = cudaMemsetAsync(words, 0, bytes, stream);   // kPending everywhere, first tile 0
  if (result == cudaSuccess) {
    const Scratch scratch{words + 1, words};
    const bool aligned = (reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) % sizeof(float4) == 0;
    const unsigned blocks = static_cast<unsigned>(tiles);
    if (aligned) {
      scan_kernel<true><<<blocks, kThreads, 0, stream>>>(x, y, scratch, N);
    } else {
      scan_kernel<false><<<blocks, kThreads, 0, stream>>>(x, y, scratch, N);
    }
    result = cudaGetLastError();
  }
  const cudaError_t freed = cudaFreeAsync(words, stream);
  return result != cudaSuccess ? result : freed;
}
