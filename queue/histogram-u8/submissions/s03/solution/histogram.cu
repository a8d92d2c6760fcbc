// Byte histogram on 16-bit private bins: two copies per warp in the shared memory that one 32-bit copy would take.
#include <cuda_runtime.h>

#include <cstdint>

constexpr int kBins = 256;
constexpr int kWarps = 8;
constexpr int kCopies = 2 * kWarps;
constexpr int kThreads = kWarps * 32;
constexpr int kRound = 4096;  // bytes a copy may take in before it is folded: 16 lanes x 256, well under 65536

using Bin = unsigned short;

__global__ void __launch_bounds__(kThreads)
    histogram_kernel(const uint8_t* __restrict__ data, int* __restrict__ counts, int64_t n) {
  __shared__ Bin bins[kCopies][kBins];
  Bin* mine = bins[threadIdx.x / 16];

  const int64_t rounds = (n + int64_t{gridDim.x} * kCopies * kRound - 1) / (int64_t{gridDim.x} * kCopies * kRound);
  for (int64_t r = 0; r < rounds; ++r) {
    for (int i = threadIdx.x; i < kCopies * kBins; i += kThreads) {
      bins[i / kBins][i % kBins] = 0;
    }
    __syncthreads();

    const int64_t copy = (r * gridDim.x + blockIdx.x) * kCopies + threadIdx.x / 16;
    const int64_t begin = copy * kRound;
    const int64_t end = begin + kRound < n ? begin + kRound : n;
    for (int64_t i = begin + threadIdx.x % 16; i < end; i += 16) {
      atomicAdd(&mine[data[i]], Bin{1});
    }
    __syncthreads();

    for (int b = threadIdx.x; b < kBins; b += kThreads) {
      int sum = 0;
      for (int c = 0; c < kCopies; ++c) {
        sum += bins[c][b];
      }
      atomicAdd(&counts[b], sum);
    }
    __syncthreads();
  }
}

extern "C" int histogram_u8(const uint8_t* data, int32_t* counts, int64_t N, cudaStream_t stream) {
  cudaError_t err = cudaMemsetAsync(counts, 0, kBins * sizeof(int32_t), stream);
  if (err != cudaSuccess || N == 0) {
    return err;
  }
  int64_t blocks = (N + kCopies * kRound - 1) / (kCopies * kRound);
  blocks = blocks < 1024 ? blocks : 1024;
  histogram_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(data, counts, N);
  return cudaGetLastError();
}
