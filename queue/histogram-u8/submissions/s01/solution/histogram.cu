// Histogram of bytes: one private copy of the 256 bins per warp, merged once per block.
#include <cuda_runtime.h>

#include <cstdint>

namespace {

constexpr int kBins = 256;
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
constexpr int kVectorBytes = 16;
constexpr int64_t kBytesPerBlock = int64_t{kThreads} * kVectorBytes * 16;  // 64 KB of data repay one merge of 256 bins
constexpr int kMaxBlocks = 1024;                                           // about 8 blocks on each SM of A100 and H100

// Adds bytes to bins, joining equal neighbours. Skewed data is made of long runs, and every lane of a warp then
// wants the same address: the fewer atomics a lane issues, the shorter that queue.
class RunCounter {
 public:
  __device__ explicit RunCounter(int* bins) : bins_(bins) {}

  __device__ void add(unsigned value) {
    if (value != value_) {
      flush();
      value_ = value;
    }
    ++length_;
  }

  __device__ void flush() {
    if (length_ > 0) {
      atomicAdd(&bins_[value_], length_);
    }
    length_ = 0;
  }

 private:
  int* bins_;
  unsigned value_ = 0;
  int length_ = 0;
};

__device__ void add_word(RunCounter& counter, unsigned word) {
#pragma unroll
  for (int shift = 0; shift < 32; shift += 8) {
    counter.add((word >> shift) & 0xFFu);
  }
}

// data = head (up to the first 16-byte boundary), vectors, tail. Head and tail are under 16 bytes each.
__global__ void __launch_bounds__(kThreads)
    histogram_kernel(const uint8_t* __restrict__ data, int* __restrict__ counts, int64_t n, int head, int64_t vectors) {
  __shared__ int bins[kWarps][kBins];
  for (int i = threadIdx.x; i < kWarps * kBins; i += kThreads) {
    bins[i / kBins][i % kBins] = 0;
  }
  __syncthreads();

  RunCounter counter(bins[threadIdx.x / 32]);
  const uint4* body = reinterpret_cast<const uint4*>(data + head);
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < vectors; i += stride) {
    const uint4 v = body[i];
    add_word(counter, v.x);
    add_word(counter, v.y);
    add_word(counter, v.z);
    add_word(counter, v.w);
  }
  if (blockIdx.x == 0) {
    const int64_t tail = head + vectors * kVectorBytes;
    if (threadIdx.x < head) {
      counter.add(data[threadIdx.x]);
    }
    if (tail + threadIdx.x < n) {
      counter.add(data[tail + threadIdx.x]);
    }
  }
  counter.flush();
  __syncthreads();

  static_assert(kThreads == kBins, "each thread merges one bin");
  int sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    sum += bins[w][threadIdx.x];
  }
  if (sum > 0) {
    atomicAdd(&counts[threadIdx.x], sum);
  }
}

}  // namespace

extern "C" int histogram_u8(const uint8_t* data, int32_t* counts, int64_t N, cudaStream_t stream) {
  const cudaError_t cleared = cudaMemsetAsync(counts, 0, kBins * sizeof(int32_t), stream);
  if (cleared != cudaSuccess || N == 0) {
    return cleared;
  }
  const int64_t misalignment = reinterpret_cast<uintptr_t>(data) % kVectorBytes;
  int64_t head = misalignment == 0 ? 0 : kVectorBytes - misalignment;
  head = head < N ? head : N;
  const int64_t vectors = (N - head) / kVectorBytes;
  int64_t blocks = (N + kBytesPerBlock - 1) / kBytesPerBlock;
  blocks = blocks < kMaxBlocks ? blocks : kMaxBlocks;
  histogram_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(data, counts, N, static_cast<int>(head),
                                                                           vectors);
  return cudaGetLastError();
}
