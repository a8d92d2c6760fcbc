#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>
#include <cstdint>
using namespace nvcuda;

// 1: one thread an element.
__global__ void naive(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}
extern "C" int gemm_naive(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t s) {
  naive<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, s>>>(a, b, c, m, n, k);
  return cudaGetLastError();
}

// 2: tiles of 16 x 16 in shared memory.
__global__ void tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float ta[16][16], tb[16][17];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < k; t += 16) {
    ta[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0.0f;
    tb[threadIdx.y][threadIdx.x] = column < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
extern "C" int gemm_tiled(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t s) {
  tiled<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, s>>>(a, b, c, m, n, k);
  return cudaGetLastError();
}

// 3: 4 x 4 outputs in the registers of a thread, dynamic shared memory in two parts.
template <int kTile, int kStep, int kPer>
__global__ void __launch_bounds__(256) registers(const float* a, const float* b, float* c, int m, int n, int k) {
  extern __shared__ float pool[];
  float* ta = pool;
  float* tb = pool + kTile * kStep;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float acc[kPer][kPer] = {};
  for (int t = 0; t < k; t += kStep) {
    for (int i = threadIdx.x; i < kTile * kStep; i += 256) {
      const int r = i / kStep, x = i % kStep, row = blockIdx.y * kTile + r;
      ta[i] = row < m && t + x < k ? a[row * k + t + x] : 0.0f;
      const int r2 = i / kTile, x2 = i % kTile, column = blockIdx.x * kTile + x2;
      tb[i] = t + r2 < k && column < n ? b[(t + r2) * n + column] : 0.0f;
    }
    __syncthreads();
    for (int s = 0; s < kStep; ++s) {
      float fa[kPer], fb[kPer];
      for (int i = 0; i < kPer; ++i) fa[i] = ta[(ty * kPer + i) * kStep + s], fb[i] = tb[s * kTile + tx * kPer + i];
      for (int i = 0; i < kPer; ++i)
        for (int j = 0; j < kPer; ++j) acc[i][j] = fmaf(fa[i], fb[j], acc[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < kPer; ++i)
    for (int j = 0; j < kPer; ++j) {
      const int row = blockIdx.y * kTile + ty * kPer + i, column = blockIdx.x * kTile + tx * kPer + j;
      if (row < m && column < n) c[row * n + column] = acc[i][j];
    }
}
extern "C" int gemm_registers(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t s) {
  registers<64, 8, 4><<<dim3((n + 63) / 64, (m + 63) / 64), 256, 2 * 64 * 8 * sizeof(float), s>>>(a, b, c, m, n, k);
  return cudaGetLastError();
}

// 4: wmma straight from global memory, half in, float out.
__global__ void fragments(const half* a, const half* b, float* c, int n, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int t = 0; t < k; t += 16) {
    wmma::load_matrix_sync(fa, a + blockIdx.y * 16 * k + t, k);
    wmma::load_matrix_sync(fb, b + t * n + blockIdx.x * 16, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 2.0f;
  wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, fc, n, wmma::mem_row_major);
}
extern "C" int gemm_wmma(const half* a, const half* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t s) {
  fragments<<<dim3(n / 16, m / 16), 32, 0, s>>>(a, b, c, n, k);
  return cudaGetLastError();
}

// 5: wmma through shared memory, two stages of cp.async.
__global__ void staged(const half* a, const half* b, float* c, int n, int k) {
  __shared__ __align__(16) half ta[2][32][24], tb[2][16][40];
  const int warp = threadIdx.x / 32, row = blockIdx.y * 32, column = blockIdx.x * 32;
  auto fetch = [&](int stage, int t) {
    if (threadIdx.x < 64) __pipeline_memcpy_async(&ta[stage][threadIdx.x / 2][threadIdx.x % 2 * 8], a + (row + threadIdx.x / 2) * k + t + threadIdx.x % 2 * 8, 16);
    else __pipeline_memcpy_async(&tb[stage][(threadIdx.x - 64) / 4][threadIdx.x % 4 * 8], b + (t + (threadIdx.x - 64) / 4) * n + column + threadIdx.x % 4 * 8, 16);
    __pipeline_commit();
  };
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.0f);
  fetch(0, 0);
  for (int t = 0, stage = 0; t < k; t += 16, stage ^= 1) {
    if (t + 16 < k) {
      fetch(stage ^ 1, t + 16);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::load_matrix_sync(fa, &ta[stage][warp / 2 * 16][0], 24);
    wmma::load_matrix_sync(fb, &tb[stage][0][warp % 2 * 16], 40);
    wmma::mma_sync(acc, fa, fb, acc);
    __syncthreads();
  }
  wmma::store_matrix_sync(c + (row + warp / 2 * 16) * n + column + warp % 2 * 16, acc, n, wmma::mem_row_major);
}
extern "C" int gemm_staged(const half* a, const half* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t s) {
  staged<<<dim3(n / 32, m / 32), 128, 0, s>>>(a, b, c, n, k);
  return cudaGetLastError();
}

// 6: bfloat16 fragments with a transposed second operand.
__global__ void bf16_fragments(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int t = 0; t < k; t += 16) {
    wmma::load_matrix_sync(fa, a + blockIdx.y * 16 * k + t, k);
    wmma::load_matrix_sync(fb, b + blockIdx.x * 16 * k + t, k);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, fc, n, wmma::mem_row_major);
}
extern "C" int gemm_bf16_nt(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t s) {
  bf16_fragments<<<dim3(n / 16, m / 16), 32, 0, s>>>(a, b, c, n, k);
  return cudaGetLastError();
}

// 7: int8 with dp4a.
__global__ void dp4a_kernel(const int* a, const int* b, int* c, int n, int words) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
  int sum = 0;
  for (int i = 0; i < words; ++i) sum = __dp4a(a[row * words + i], b[column * words + i], sum);
  c[row * n + column] = sum;
}
extern "C" int gemm_int8(const int8_t* a, const int8_t* b, int* c, int64_t m, int64_t n, int64_t k, cudaStream_t s) {
  dp4a_kernel<<<dim3(n / 8, m / 8), dim3(8, 8), 0, s>>>(reinterpret_cast<const int*>(a), reinterpret_cast<const int*>(b), c, n, k / 4);
  return cudaGetLastError();
}

// 8: a matrix times a vector in half2.
__global__ void gemv_kernel(const half2* a, const half2* x, float* y, int pairs) {
  float sum = 0;
  for (int i = threadIdx.x; i < pairs; i += 32) {
    const float2 u = __half22float2(a[blockIdx.x * pairs + i]), v = __half22float2(x[i]);
    sum += u.x * v.x + u.y * v.y;
  }
  for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
extern "C" int gemv_half2(const half* a, const half* x, float* y, int64_t rows, int64_t columns, cudaStream_t s) {
  gemv_kernel<<<rows, 32, 0, s>>>(reinterpret_cast<const half2*>(a), reinterpret_cast<const half2*>(x), y, columns / 2);
  return cudaGetLastError();
}

// 9: split over K, partial products added by atomics.
__global__ void split_k(const float* a, const float* b, float* c, int n, int k, int span) {
  const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, first = blockIdx.z * span;
  float sum = 0;
  for (int i = first; i < min(first + span, k); ++i) sum += a[row * k + i] * b[i * n + column];
  atomicAdd(c + row * n + column, sum);
}
extern "C" int gemm_split(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t s) {
  cudaMemsetAsync(c, 0, m * n * sizeof(float), s);
  split_k<<<dim3(n / 32, m, 4), 32, 0, s>>>(a, b, c, n, k, (k + 3) / 4);
  return cudaGetLastError();
}

// 10: batched, with row pointers handed to the kernel in a struct.
struct Batch {
  const float* a[4];
  float* c[4];
};
__global__ void gram(Batch batch, int n, int k) {
  const float* a = batch.a[blockIdx.z];
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[threadIdx.y * k + i] * a[threadIdx.x * k + i];
  batch.c[blockIdx.z][threadIdx.y * n + threadIdx.x] = sum;
}
extern "C" int gemm_batched(const float* a, float* c, int64_t n, int64_t k, cudaStream_t s) {
  Batch batch;
  for (int i = 0; i < 4; ++i) batch.a[i] = a + i * n * k, batch.c[i] = c + i * n * n;
  gram<<<dim3(1, 1, 4), dim3(n, n), 0, s>>>(batch, (int)n, (int)k);
  return cudaGetLastError();
}
