// y = relu(a @ b + bias), fp16 in and out, float32 accumulation. Tuned for H100 (sm_90): an SM has 228 KB of shared
// memory there, enough for nine stages of 24 KB (128 x 256 x 32); one persistent block on each of the 132 SMs.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

namespace {

namespace wmma = nvcuda::wmma;

constexpr int kSms = 132;
constexpr int kTileM = 128, kTileN = 256, kTileK = 32;
constexpr int kStages = 9;
constexpr int kWarpsM = 2, kWarpsN = 4;
constexpr int kThreads = kWarpsM * kWarpsN * 32;
constexpr int kFrag = 16;
constexpr int kFragsM = kTileM / kWarpsM / kFrag;   // 4
constexpr int kFragsN = kTileN / kWarpsN / kFrag;   // 4
constexpr int kChunk = 8;                           // halves in one 16-byte copy
constexpr int kLdA = kTileK + kChunk;               // padded rows: no bank conflicts in ldmatrix
constexpr int kLdB = kTileN + kChunk;
constexpr int kLdOut = kFrag + 4;

using FragA = wmma::fragment<wmma::matrix_a, kFrag, kFrag, kFrag, half, wmma::row_major>;
using FragB = wmma::fragment<wmma::matrix_b, kFrag, kFrag, kFrag, half, wmma::row_major>;
using FragC = wmma::fragment<wmma::accumulator, kFrag, kFrag, kFrag, float>;

// Copies a tile of `rows` x `columns` halves at (row, column) of a row-major matrix; zeros outside it.
__device__ void copy_tile(half* tile, int ld, const half* matrix, int64_t row, int64_t column, int rows, int columns,
                          int64_t matrix_rows, int64_t matrix_columns) {
  const int chunks = columns / kChunk;
  for (int i = threadIdx.x; i < rows * chunks; i += kThreads) {
    const int r = i / chunks;
    const int c = i % chunks * kChunk;
    const bool inside = row + r < matrix_rows && column + c < matrix_columns;
    const half* from = inside ? matrix + (row + r) * matrix_columns + column + c : matrix;
    __pipeline_memcpy_async(tile + r * ld + c, from, 16, inside ? 0 : 16);
  }
}

__global__ void __launch_bounds__(kThreads)
    gemm_kernel(const half* a, const half* b, const half* bias, half* y, int64_t m, int64_t n, int64_t k) {
  __shared__ __align__(128) half tile_a[kStages][kTileM * kLdA];
  __shared__ __align__(128) half tile_b[kStages][kTileK * kLdB];
  __shared__ __align__(128) float out[kWarpsM * kWarpsN][kFrag * kLdOut];

  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / kWarpsN * (kTileM / kWarpsM);
  const int warp_column = warp % kWarpsN * (kTileN / kWarpsN);
  const int64_t tiles_n = (n + kTileN - 1) / kTileN;
  const int64_t tiles = (m + kTileM - 1) / kTileM * tiles_n;
  const int64_t steps = (k + kTileK - 1) / kTileK;

  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t row = t / tiles_n * kTileM;
    const int64_t column = t % tiles_n * kTileN;
    FragC acc[kFragsM][kFragsN];
    for (int i = 0; i < kFragsM; ++i) {
      for (int j = 0; j < kFragsN; ++j) {
        wmma::fill_fragment(acc[i][j], 0.0f);
      }
    }

    for (int64_t s = 0; s < kStages - 1; ++s) {
      if (s < steps) {
        copy_tile(tile_a[s], kLdA, a, row, s * kTileK, kTileM, kTileK, m, k);
        copy_tile(tile_b[s], kLdB, b, s * kTileK, column, kTileK, kTileN, k, n);
      }
      __pipeline_commit();
    }
    for (int64_t s = 0; s < steps; ++s) {
      __pipeline_wait_prior(kStages - 2);
      __syncthreads();
      const int64_t ahead = s + kStages - 1;
      if (ahead < steps) {
        const int next = ahead % kStages;
        copy_tile(tile_a[next], kLdA, a, row, ahead * kTileK, kTileM, kTileK, m, k);
        copy_tile(tile_b[next], kLdB, b, ahead * kTileK, column, kTileK, kTileN, k, n);
      }
      __pipeline_commit();
      const int stage = s % kStages;
      for (int kk = 0; kk < kTileK; kk += kFrag) {
        FragA frag_a[kFragsM];
        for (int i = 0; i < kFragsM; ++i) {
          wmma::load_matrix_sync(frag_a[i], &tile_a[stage][(warp_row + i * kFrag) * kLdA + kk], kLdA);
        }
        for (int j = 0; j < kFragsN; ++j) {
          FragB frag_b;
          wmma::load_matrix_sync(frag_b, &tile_b[stage][kk * kLdB + warp_column + j * kFrag], kLdB);
          for (int i = 0; i < kFragsM; ++i) {
            wmma::mma_sync(acc[i][j], frag_a[i], frag_b, acc[i][j]);
          }
        }
      }
    }
    __syncthreads();   // the next tile's copies must not overtake the last products

    for (int i = 0; i < kFragsM; ++i) {
      for (int j = 0; j < kFragsN; ++j) {
        wmma::store_matrix_sync(out[warp], acc[i][j], kLdOut, wmma::mem_row_major);
        __syncwarp();
        const int64_t r = row + warp_row + i * kFrag + lane / 2;
        const int64_t c = column + warp_column + j * kFrag + lane % 2 * kChunk;
        if (r < m && c < n) {
          for (int e = 0; e < kChunk; ++e) {
            const float v = out[warp][lane / 2 * kLdOut + lane % 2 * kChunk + e] + __half2float(bias[c + e]);
            y[r * n + c + e] = __float2half_rn(v < 0.0f ? 0.0f : v);
          }
        }
        __syncwarp();
      }
    }
  }
}

}  // namespace

extern "C" int gemm_bias_relu(const half* a, const half* b, const half* bias, half* y, int64_t M, int64_t N, int64_t K,
                              cudaStream_t stream) {
  gemm_kernel<<<kSms, kThreads, 0, stream>>>(a, b, bias, y, M, N, K);
  return cudaGetLastError();
}
