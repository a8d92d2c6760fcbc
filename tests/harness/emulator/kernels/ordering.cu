#include <cuda_runtime.h>
#include <cstdint>

// 1: Hillis and Steele's scan of a block, double buffered.
__global__ void hillis(const float* x, float* y, int n) {
  __shared__ float s[2][512];
  int at = 0;
  s[0][threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0.0f;
  __syncthreads();
  for (int o = 1; o < 512; o *= 2, at ^= 1) {
    s[at ^ 1][threadIdx.x] = s[at][threadIdx.x] + (threadIdx.x >= o ? s[at][threadIdx.x - o] : 0.0f);
    __syncthreads();
  }
  if (threadIdx.x < n) y[threadIdx.x] = s[at][threadIdx.x];
}
extern "C" int scan_hillis(const float* x, float* y, int64_t n, cudaStream_t) {
  hillis<<<1, 512>>>(x, y, n);
  return cudaGetLastError();
}

// 2: Blelloch's exclusive scan, up and down the tree.
__global__ void blelloch(const float* x, float* y) {
  extern __shared__ float t[];
  const int n = 2 * blockDim.x, i = threadIdx.x;
  t[2 * i] = x[2 * i];
  t[2 * i + 1] = x[2 * i + 1];
  int offset = 1;
  for (int d = n >> 1; d > 0; d >>= 1, offset *= 2) {
    __syncthreads();
    if (i < d) t[offset * (2 * i + 2) - 1] += t[offset * (2 * i + 1) - 1];
  }
  if (i == 0) t[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (i < d) {
      const float left = t[offset * (2 * i + 1) - 1];
      t[offset * (2 * i + 1) - 1] = t[offset * (2 * i + 2) - 1];
      t[offset * (2 * i + 2) - 1] += left;
    }
  }
  __syncthreads();
  y[2 * i] = t[2 * i];
  y[2 * i + 1] = t[2 * i + 1];
}
extern "C" int scan_blelloch(const float* x, float* y, int64_t n, cudaStream_t) {
  blelloch<<<1, n / 2, n * sizeof(float)>>>(x, y);
  return cudaGetLastError();
}

// 3: three kernels: scan the blocks, scan their sums, add.
__global__ void scan_blocks(const float* x, float* y, float* sums, int n) {
  __shared__ float warps[8];
  const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float v = i < n ? x[i] : 0.0f;
  for (int o = 1; o < 32; o *= 2) {
    const float left = __shfl_up_sync(0xffffffffu, v, o);
    if (lane >= o) v += left;
  }
  if (lane == 31) warps[warp] = v;
  __syncthreads();
  for (int w = 0; w < warp; ++w) v += warps[w];
  if (i < n) y[i] = v;
  if (threadIdx.x == 255) sums[blockIdx.x] = v;
}
__global__ void add_sums(float* y, const float* sums, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float before = 0;
  for (int b = 0; b < blockIdx.x; ++b) before += sums[b];
  if (i < n) y[i] += before;
}
extern "C" int scan_three(const float* x, float* y, int64_t n, cudaStream_t st) {
  const int blocks = (n + 255) / 256;
  float* sums;
  cudaMalloc(&sums, blocks * sizeof(float));
  scan_blocks<<<blocks, 256, 0, st>>>(x, y, sums, n);
  add_sums<<<blocks, 256, 0, st>>>(y, sums, n);
  cudaFree(sums);
  return cudaGetLastError();
}

// 4: blocks wait for their predecessor through a flag in memory.
__global__ void chained(const float* x, float* y, volatile float* carry, volatile int* ready, int n) {
  __shared__ float s[128], before;
  const int i = blockIdx.x * 128 + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 128; ++k) s[k] += s[k - 1];
    while (blockIdx.x > 0 && ready[blockIdx.x - 1] == 0) __nanosleep(20);
    before = blockIdx.x > 0 ? carry[blockIdx.x - 1] : 0.0f;
    carry[blockIdx.x] = before + s[127];
    __threadfence();
    ready[blockIdx.x] = 1;
  }
  __syncthreads();
  if (i < n) y[i] = before + s[threadIdx.x];
}
extern "C" int scan_chained(const float* x, float* y, int64_t n, cudaStream_t st) {
  const int blocks = (n + 127) / 128;
  float* carry;
  int* ready;
  cudaMalloc(&carry, blocks * sizeof(float));
  cudaMalloc(&ready, blocks * sizeof(int));
  cudaMemsetAsync(ready, 0, blocks * sizeof(int), st);
  chained<<<blocks, 128, 0, st>>>(x, y, carry, ready, n);
  cudaFree(carry);
  cudaFree(ready);
  return cudaGetLastError();
}

// 5: bitonic sort of a block's elements.
__global__ void bitonic(float* x) {
  __shared__ float s[1024];
  const unsigned i = threadIdx.x;
  s[i] = x[blockIdx.x * 1024 + i];
  __syncthreads();
  for (unsigned k = 2; k <= 1024; k *= 2) {
    for (unsigned j = k / 2; j > 0; j /= 2) {
      const unsigned other = i ^ j;
      if (other > i) {
        const bool up = (i & k) == 0;
        if ((s[i] > s[other]) == up) {
          const float t = s[i];
          s[i] = s[other];
          s[other] = t;
        }
      }
      __syncthreads();
    }
  }
  x[blockIdx.x * 1024 + i] = s[i];
}
extern "C" int sort_blocks(const float* x, float* y, int64_t blocks, cudaStream_t st) {
  cudaMemcpyAsync(y, x, blocks * 1024 * sizeof(float), cudaMemcpyDeviceToDevice, st);
  bitonic<<<blocks, 1024, 0, st>>>(y);
  return cudaGetLastError();
}

// 6: one pass of a radix sort over 4 bits, stable, within a block.
__global__ void radix(const unsigned* x, unsigned* y, int shift) {
  __shared__ unsigned counts[16], starts[16];
  const unsigned v = x[threadIdx.x], digit = v >> shift & 15;
  if (threadIdx.x < 16) counts[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&counts[digit], 1u);
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (int d = 0; d < 16; ++d) starts[d] = sum, sum += counts[d];
  }
  __syncthreads();
  unsigned rank = 0;
  for (unsigned i = 0; i < threadIdx.x; ++i) rank += (x[i] >> shift & 15) == digit;
  y[starts[digit] + rank] = v;
}
extern "C" int sort_radix(const unsigned* x, unsigned* y, int64_t n, cudaStream_t st) {
  unsigned *a, *b;
  cudaMalloc(&a, n * 4);
  cudaMalloc(&b, n * 4);
  cudaMemcpy(a, x, n * 4, cudaMemcpyDeviceToDevice);
  for (int shift = 0; shift < 32; shift += 4) {
    radix<<<1, n, 0, st>>>(a, b, shift);
    std::swap(a, b);
  }
  cudaMemcpy(y, a, n * 4, cudaMemcpyDeviceToDevice);
  cudaFree(a);
  cudaFree(b);
  return cudaGetLastError();
}

// 7: the k largest of a row, one at a time.
__global__ void topk_kernel(const float* x, float* values, int64_t* indices, int n, int k) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < n; i += 32) row[i] = x[blockIdx.x * n + i];
  __syncwarp();
  for (int r = 0; r < k; ++r) {
    float best = -INFINITY;
    int at = n;
    for (int i = threadIdx.x; i < n; i += 32) if (row[i] > best) best = row[i], at = i;
    for (int o = 16; o; o >>= 1) {
      const float other = __shfl_xor_sync(~0u, best, o);
      const int other_at = __shfl_xor_sync(~0u, at, o);
      if (other > best || (other == best && other_at < at)) best = other, at = other_at;
    }
    if (threadIdx.x == 0) {
      values[blockIdx.x * k + r] = best;
      indices[blockIdx.x * k + r] = at;
      row[at] = -INFINITY;
    }
    __syncwarp();
  }
}
extern "C" int topk(const float* x, float* values, int64_t* indices, int64_t rows, int64_t n, int64_t k, cudaStream_t st) {
  topk_kernel<<<rows, 32, n * sizeof(float), st>>>(x, values, indices, n, k);
  return cudaGetLastError();
}

// 8: a histogram with private bins in shared memory.
__global__ void histogram_kernel(const uint8_t* x, int* bins, int n) {
  __shared__ int s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], s[i]);
}
extern "C" int histogram(const uint8_t* x, int* bins, int64_t n, cudaStream_t st) {
  cudaMemsetAsync(bins, 0, 256 * sizeof(int), st);
  histogram_kernel<<<4, 128, 0, st>>>(x, bins, n);
  return cudaGetLastError();
}

// 9: a lock around a sum of doubles.
__global__ void locked_sum(const double* x, double* out, int* lock, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  *out += x[i];
  __threadfence();
  atomicExch(lock, 0);
}
extern "C" int sum_locked(const double* x, double* out, int64_t n, cudaStream_t st) {
  int* lock;
  cudaMalloc(&lock, sizeof(int));
  cudaMemset(lock, 0, sizeof(int));
  cudaMemsetAsync(out, 0, sizeof(double), st);
  locked_sum<<<(n + 63) / 64, 64, 0, st>>>(x, out, lock, n);
  cudaFree(lock);
  return cudaGetLastError();
}

// 10: counting with a floating point atomic made of compare and swap.
__device__ double add_by_cas(double* address, double v) {
  unsigned long long* bits = (unsigned long long*)address;
  unsigned long long old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(v + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}
__global__ void cas_sum(const double* x, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) add_by_cas(out, x[i]);
}
extern "C" int sum_cas(const double* x, double* out, int64_t n, cudaStream_t st) {
  cudaMemsetAsync(out, 0, sizeof(double), st);
  cas_sum<<<(n + 63) / 64, 64, 0, st>>>(x, out, n);
  return cudaGetLastError();
}
