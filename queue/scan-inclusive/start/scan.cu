// Inclusive prefix sum in three passes: scan tiles, scan the tile totals, add the offsets.
#include <cuda_runtime.h>

#include <cstdint>

namespace {

constexpr int kThreads = 256;
constexpr int kItems = 8;
constexpr int kTile = kThreads * kItems;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;

// Inclusive scan of one value per thread over the block. `warp_sums` holds one float per warp.
__device__ float block_scan(float value, float* warp_sums) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  for (int offset = 1; offset < 32; offset *= 2) {
    const float left = __shfl_up_sync(kAllLanes, value, offset);
    if (lane >= offset) {
      value += left;
    }
  }
  if (lane == 31) {
    warp_sums[warp] = value;
  }
  __syncthreads();
  float before = 0.0f;
  for (int w = 0; w < warp; ++w) {
    before += warp_sums[w];
  }
  __syncthreads();
  return before + value;
}

__global__ void scan_tiles(const float* x, float* y, float* totals, int64_t n) {
  __shared__ float warp_sums[kThreads / 32];
  const int64_t first = int64_t{blockIdx.x} * kTile + int64_t{threadIdx.x} * kItems;
  float items[kItems];
  float sum = 0.0f;
  for (int i = 0; i < kItems; ++i) {
    sum += first + i < n ? x[first + i] : 0.0f;
    items[i] = sum;
  }
  const float upto = block_scan(sum, warp_sums);
  for (int i = 0; i < kItems; ++i) {
    if (first + i < n) {
      y[first + i] = upto - sum + items[i];
    }
  }
  if (threadIdx.x == kThreads - 1) {
    totals[blockIdx.x] = upto;
  }
}

// One block turns the totals into what stands before each tile.
__global__ void scan_totals(float* totals, int64_t tiles) {
  __shared__ float warp_sums[kThreads / 32];
  __shared__ float carry;
  if (threadIdx.x == 0) {
    carry = 0.0f;
  }
  __syncthreads();
  for (int64_t base = 0; base < tiles; base += kThreads) {
    const int64_t i = base + threadIdx.x;
    const float total = i < tiles ? totals[i] : 0.0f;
    const float upto = block_scan(total, warp_sums);
    if (i < tiles) {
      totals[i] = carry + upto - total;
    }
    __syncthreads();
    if (threadIdx.x == kThreads - 1) {
      carry += upto;
    }
    __syncthreads();
  }
}

__global__ void add_offsets(float* y, const float* offsets, int64_t n) {
  const float offset = offsets[blockIdx.x];
  for (int i = threadIdx.x; i < kTile; i += kThreads) {
    const int64_t at = int64_t{blockIdx.x} * kTile + i;
    if (at < n) {
      y[at] += offset;
    }
  }
}

}  // namespace

extern "C" int scan_inclusive(const float* x, float* y, int64_t N, cudaStream_t stream) {
  const int64_t tiles = (N + kTile - 1) / kTile;
  float* totals = nullptr;
  const cudaError_t allocated = cudaMallocAsync(&totals, tiles * sizeof(float), stream);
  if (allocated != cudaSuccess) {
    return allocated;
  }
  const unsigned blocks = static_cast<unsigned>(tiles);
  scan_tiles<<<blocks, kThreads, 0, stream>>>(x, y, totals, N);
  scan_totals<<<1, kThreads, 0, stream>>>(totals, tiles);
  add_offsets<<<blocks, kThreads, 0, stream>>>(y, totals, N);
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t freed = cudaFreeAsync(totals, stream);
  return launched != cudaSuccess ? launched : freed;
}
