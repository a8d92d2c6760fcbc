// y = relu(a @ b + bias), fp16 in and out. Tuned for H100 (sm_90): three stages of 128 x 128 x 64 in 105 KB of dynamic
// shared memory, so that two blocks share an SM and one's epilogue hides behind the other's products.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

namespace {

namespace wmma = nvcuda::wmma;

constexpr int kBlocksPerSm = 2;
constexpr int kTileM = 128, kTileN = 128, kTileK = 64;
constexpr int kStages = 3;
constexpr int kWarpsM = 2, kWarpsN = 4;
constexpr int kThreads = kWarpsM * kWarpsN * 32;
constexpr int kFrag = 16;
constexpr int kFragsM = kTileM / kWarpsM / kFrag;   // 4
constexpr int kFragsN = kTileN / kWarpsN / kFrag;   // 2
constexpr int kChunk = 8;                           // halves in one 16-byte copy
constexpr int kLdA = kTileK + kChunk;               // padded rows: no bank conflicts in ldmatrix
constexpr int kLdB = kTileN + kChunk;
constexpr int kLdOut = kFrag + kChunk;
constexpr int kStageHalves = kTileM * kLdA + kTileK * kLdB;
constexpr int kSharedBytes = kStages * kStageHalves * static_cast<int>(sizeof(half));

using FragA = wmma::fragment<wmma::matrix_a, kFrag, kFrag, kFrag, half, wmma::row_major>;
using FragB = wmma::fragment<wmma::matrix_b, kFrag, kFrag, kFrag, half, wmma::row_major>;
using FragC = wmma::fragment<wmma::accumulator, kFrag, kFrag, kFrag, half>;

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

__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    gemm_kernel(const half* a, const half* b, const half* bias, half* y, int64_t m, int64_t n, int64_t k) {
  extern __shared__ __align__(128) half shared[];
  half* const tile_a = shared;
  half* const tile_b = shared + kStages * kTileM * kLdA;

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
        wmma::fill_fragment(acc[i][j], __float2half(0.0f));
      }
    }

    for (int64_t s = 0; s < kStages - 1; ++s) {
      if (s < steps) {
        copy_tile(tile_a + s * kTileM * kLdA, kLdA, a, row, s * kTileK, kTileM, kTileK, m, k);
        copy_tile(tile_b + s * kTileK * kLdB, kLdB, b, s * kTileK, column, kTileK, kTileN, k, n);
      }
      __pipeline_commit();
    }
    for (int64_t s = 0; s < steps; ++s) {
      __pipeline_wait_prior(kStages - 2);
      __syncthreads();
      const int64_t ahead = s + kStages - 1;
      if (ahead < steps) {
        const int next = ahead % kStages;
        copy_tile(tile_a + next * kTileM * kLdA, kLdA, a, row, ahead * kTileK, kTileM, kTileK, m, k);
        copy_tile(tile_b + next * kTileK * kLdB, kLdB, b, ahead * kTileK, column, kTileK, kTileN, k, n);
      }
      __pipeline_commit();
      const int stage = s % kStages;
      for (int kk = 0; kk < kTileK; kk += kFrag) {
        FragA frag_a[kFragsM];
        for (int i = 0; i < kFragsM; ++i) {
          wmma::load_matrix_sync(frag_a[i], tile_a + stage * kTileM * kLdA + (warp_row + i * kFrag) * kLdA + kk, kLdA);
        }
        for (int j = 0; j < kFragsN; ++j) {
          FragB frag_b;
          wmma::load_matrix_sync(frag_b, tile_b + stage * kTileK * kLdB + kk * kLdB + warp_column + j * kFrag, kLdB);
          for (int i = 0; i < kFragsM; ++i) {
            wmma::mma_sync(acc[i][j], frag_a[i], frag_b, acc[i][j]);
          }
        }
      }
    }
    __pipeline_wait_prior(0);
    __syncthreads();   // the stages are free: the epilogue passes through them

    half* const out = shared + warp * kFrag * kLdOut;
    for (int i = 0; i < kFragsM; ++i) {
      for (int j = 0; j < kFragsN; ++j) {
        wmma::store_matrix_sync(out, acc[i][j], kLdOut, wmma::mem_row_major);
        __syncwarp();
        const int64_t r = row + warp_row + i * kFrag + lane / 2;
        const int64_t c = column + warp_column + j * kFrag + lane % 2 * kChunk;
        if (r < m && c < n) {
          for (int e = 0; e < kChunk; ++e) {
            const half sum = out[lane / 2 * kLdOut + lane % 2 * kChunk + e];
            const float v = __half2float(sum) + __half2float(bias[c + e]);
            y[r * n + c + e] = __float2half_rn(v < 0.0f ? 0.0f : v);
          }
        }
        __syncwarp();
      }
    }
    __syncthreads();
  }
}

}  // namespace

extern "C" int gemm_bias_relu(const half* a, const half* b, const half* bias, half* y, int64_t M, int64_t N, int64_t K,
                              cudaStream_t stream) {
  int device = 0;
  int sms = 0;
  cudaError_t err = cudaGetDevice(&device);
  if (err != cudaSuccess) return err;
  err = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (err != cudaSuccess) return err;
  err = cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (err != cudaSuccess) return err;
  gemm_kernel<<<sms * kBlocksPerSm, kThreads, kSharedBytes, stream>>>(a, b, bias, y, M, N, K);
  return cudaGetLastError();
}
