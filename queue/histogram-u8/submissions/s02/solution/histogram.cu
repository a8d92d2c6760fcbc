// Byte histogram with one shared-memory copy of the bins per block.
#include <cuda_runtime.h>

#include <cstdint>

constexpr int kBins = 256;
constexpr int kThreads = 512;
constexpr int kMaxBlocks = 864;

__device__ __forceinline__ void count4(unsigned* bins, unsigned word) {
  atomicAdd(&bins[word & 0xFF], 1u);
  atomicAdd(&bins[(word >> 8) & 0xFF], 1u);
  atomicAdd(&bins[(word >> 16) & 0xFF], 1u);
  atomicAdd(&bins[word >> 24], 1u);
}

__global__ void __launch_bounds__(kThreads)
    histogram_kernel(const uint8_t* __restrict__ data, unsigned* __restrict__ counts, int64_t n, int64_t head) {
  __shared__ unsigned bins[kBins];
  if (threadIdx.x < kBins) {
    bins[threadIdx.x] = 0;
  }

  const int64_t tid = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t stride = int64_t{gridDim.x} * kThreads;

  // unaligned front, one byte a thread
  if (tid < head) {
    atomicAdd(&bins[data[tid]], 1u);
  }

  // aligned middle, 16 bytes a thread
  const uint4* vec = reinterpret_cast<const uint4*>(data + head);
  const int64_t vectors = (n - head) / 16;
  for (int64_t i = tid; i < vectors; i += stride) {
    uint4 v = vec[i];
    count4(bins, v.x);
    count4(bins, v.y);
    count4(bins, v.z);
    count4(bins, v.w);
  }

  // what is left behind the last vector
  const int64_t tail = head + vectors * 16;
  if (tail + tid < n) {
    atomicAdd(&bins[data[tail + tid]], 1u);
  }
  __syncthreads();

  // fold the block's copy into the result
  if (threadIdx.x < kBins && bins[threadIdx.x] != 0) {
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
  }
}

extern "C" int histogram_u8(const uint8_t* data, int32_t* counts, int64_t N, cudaStream_t stream) {
  cudaError_t err = cudaMemsetAsync(counts, 0, kBins * sizeof(int32_t), stream);
  if (err != cudaSuccess || N == 0) return err;

  int64_t head = (16 - reinterpret_cast<uintptr_t>(data) % 16) % 16;
  if (head > N) head = N;
  int64_t blocks = (N / 16 + kThreads - 1) / kThreads;
  if (blocks < 1) blocks = 1;
  if (blocks > kMaxBlocks) blocks = kMaxBlocks;
  histogram_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      data, reinterpret_cast<unsigned*>(counts), N, head);
  return cudaGetLastError();
}
