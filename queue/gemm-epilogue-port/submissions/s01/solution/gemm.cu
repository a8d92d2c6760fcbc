// y = relu(a @ b + bias), fp16 in and out, float32 accumulation, for H100 (sm_90).
//
// Tile 128 x 256 x 64, 4 stages: 4 x 51 KB = 204 KB of the 227 KB that a block may have, so one block per SM. Three
// stages are in flight while one is multiplied; H100 has about three times A100's tensor rate on 1.6 times its
// bandwidth and so needs both the larger tile (fewer bytes per product) and the deeper pipeline. Each of the 8 warps
// owns 64 x 64 outputs: 128 accumulator registers, which 256 threads and one block per SM can afford.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

namespace {

namespace wmma = nvcuda::wmma;

constexpr int kTileM = 128, kTileN = 256, kTileK = 64;
constexpr int kStages = 4;
constexpr int kWarpsM = 2, kWarpsN = 4;
constexpr int kThreads = kWarpsM * kWarpsN * 32;
constexpr int kFrag = 16;
constexpr int kFragsM = kTileM / kWarpsM / kFrag;
constexpr int kFragsN = kTileN / kWarpsN / kFrag;
constexpr int kChunk = 8;               // halves in one 16-byte copy
constexpr int kLdA = kTileK + kChunk;   // padded rows: eight rows of an ldmatrix fall into different banks
constexpr int kLdB = kTileN + kChunk;
constexpr int kLdOut = kFrag + 4;
constexpr int kStageHalves = kTileM * kLdA + kTileK * kLdB;
constexpr int kSharedBytes = kStages * kStageHalves * static_cast<int>(sizeof(half));

static_assert(kSharedBytes <= 227 * 1024, "more shared memory than a block may have on sm_90");
static_assert(kWarpsM * kWarpsN * kFrag * kLdOut * sizeof(float) <= kSharedBytes, "the epilogue reuses the stages");

using FragA = wmma::fragment<wmma::matrix_a, kFrag, kFrag, kFrag, half, wmma::row_major>;
using FragB = wmma::fragment<wmma::matrix_b, kFrag, kFrag, kFrag, half, wmma::row_major>;
using FragC = wmma::fragment<wmma::accumulator, kFrag, kFrag, kFrag, float>;

struct Problem {
  const half* a;
  const half* b;
  const half* bias;
  half* y;
  int64_t m, n, k;
};

// Copies kRows x kColumns halves at (row, column) of a row-major matrix; zeros outside it. A chunk is inside or
// outside as a whole, because the matrix has a multiple of kChunk columns.
template <int kRows, int kColumns>
__device__ void copy_tile(half* tile, int ld, const half* matrix, int64_t row, int64_t column, int64_t matrix_rows,
                          int64_t matrix_columns) {
  constexpr int kChunks = kColumns / kChunk;
  static_assert(kRows * kChunks % kThreads == 0, "every thread copies the same number of chunks");
#pragma unroll
  for (int i = 0; i < kRows * kChunks / kThreads; ++i) {
    const int chunk = i * kThreads + threadIdx.x;
    const int r = chunk / kChunks;
    const int c = chunk % kChunks * kChunk;
    const bool inside = row + r < matrix_rows && column + c < matrix_columns;
    const half* from = inside ? matrix + (row + r) * matrix_columns + column + c : matrix;
    __pipeline_memcpy_async(tile + r * ld + c, from, 16, inside ? 0 : 16);
  }
}

__device__ void copy_stage(half* stage, const Problem& p, int64_t row, int64_t column, int64_t step) {
  copy_tile<kTileM, kTileK>(stage, kLdA, p.a, row, step * kTileK, p.m, p.k);
  copy_tile<kTileK, kTileN>(stage + kTileM * kLdA, kLdB, p.b, step * kTileK, column, p.k, p.n);
}

__device__ void multiply_stage(FragC (&acc)[kFragsM][kFragsN], const half* stage, int warp_row, int warp_column) {
  const half* tile_a = stage + warp_row * kLdA;
  const half* tile_b = stage + kTileM * kLdA + warp_column;
#pragma unroll
  for (int kk = 0; kk < kTileK; kk += kFrag) {
    FragA frag_a[kFragsM];
#pragma unroll
    for (int i = 0; i < kFragsM; ++i) {
      wmma::load_matrix_sync(frag_a[i], tile_a + i * kFrag * kLdA + kk, kLdA);
    }
#pragma unroll
    for (int j = 0; j < kFragsN; ++j) {
      FragB frag_b;
      wmma::load_matrix_sync(frag_b, tile_b + kk * kLdB + j * kFrag, kLdB);
#pragma unroll
      for (int i = 0; i < kFragsM; ++i) {
        wmma::mma_sync(acc[i][j], frag_a[i], frag_b, acc[i][j]);
      }
    }
  }
}

// Bias and ReLU in float32, one rounding, one 16-byte store a lane. `out` is this warp's own scratch.
__device__ void store_fragment(float* out, const FragC& acc, const Problem& p, int64_t row, int64_t column) {
  const int lane = threadIdx.x % 32;
  wmma::store_matrix_sync(out, acc, kLdOut, wmma::mem_row_major);
  __syncwarp();
  const int64_t r = row + lane / 2;
  const int64_t c = column + lane % 2 * kChunk;
  if (r < p.m && c < p.n) {
    const float* from = out + lane / 2 * kLdOut + lane % 2 * kChunk;
    __align__(16) half packed[kChunk];
#pragma unroll
    for (int e = 0; e < kChunk; ++e) {
      const float v = from[e] + __half2float(p.bias[c + e]);
      packed[e] = __float2half_rn(v < 0.0f ? 0.0f : v);   // written so that NaN stays NaN
    }
    *reinterpret_cast<uint4*>(p.y + r * p.n + c) = *reinterpret_cast<const uint4*>(packed);
  }
  __syncwarp();
}

__global__ void __launch_bounds__(kThreads, 1) gemm_kernel(Problem p) {
  extern __shared__ __align__(128) half shared[];
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / kWarpsN * (kTileM / kWarpsM);
  const int warp_column = warp % kWarpsN * (kTileN / kWarpsN);
  const int64_t tiles_m = (p.m + kTileM - 1) / kTileM;
  const int64_t tiles = tiles_m * ((p.n + kTileN - 1) / kTileN);
  const int64_t steps = (p.k + kTileK - 1) / kTileK;

  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t row = t % tiles_m * kTileM;      // down a column of tiles first: neighbours share b in L2
    const int64_t column = t / tiles_m * kTileN;
    FragC acc[kFragsM][kFragsN];
#pragma unroll
    for (int i = 0; i < kFragsM; ++i) {
#pragma unroll
      for (int j = 0; j < kFragsN; ++j) {
        wmma::fill_fragment(acc[i][j], 0.0f);
      }
    }

    for (int s = 0; s < kStages - 1; ++s) {
      if (s < steps) {
        copy_stage(shared + s * kStageHalves, p, row, column, s);
      }
      __pipeline_commit();   // an empty group still counts, which keeps wait_prior's argument constant
    }
    for (int64_t s = 0; s < steps; ++s) {
      __pipeline_wait_prior(kStages - 2);
      __syncthreads();       // stage s has arrived, and everyone is done with stage s - 1
      const int64_t ahead = s + kStages - 1;
      if (ahead < steps) {
        copy_stage(shared + ahead % kStages * kStageHalves, p, row, column, ahead);
      }
      __pipeline_commit();
      multiply_stage(acc, shared + s % kStages * kStageHalves, warp_row, warp_column);
    }
    __pipeline_wait_prior(0);
    __syncthreads();         // the stages become the epilogue's scratch

    float* out = reinterpret_cast<float*>(shared) + warp * kFrag * kLdOut;
#pragma unroll
    for (int i = 0; i < kFragsM; ++i) {
#pragma unroll
      for (int j = 0; j < kFragsN; ++j) {
        store_fragment(out, acc[i][j], p, row + warp_row + i * kFrag, column + warp_column + j * kFrag);
      }
    }
    __syncthreads();         // and go back to the next tile's copies
  }
}

}  // namespace

extern "C" int gemm_bias_relu(const half* a, const half* b, const half* bias, half* y, int64_t M, int64_t N, int64_t K,
                              cudaStream_t stream) {
  int device = 0;
  int sms = 0;
  cudaError_t err = cudaGetDevice(&device);
  if (err == cudaSuccess) {
    err = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  }
  if (err == cudaSuccess) {
    err = cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  }
  if (err != cudaSuccess) {
    return err;
  }
  const int64_t tiles = ((M + kTileM - 1) / kTileM) * ((N + kTileN - 1) / kTileN);
  const unsigned blocks = static_cast<unsigned>(tiles < sms ? tiles : sms);
  gemm_kernel<<<blocks, kThreads, kSharedBytes, stream>>>(Problem{a, b, bias, y, M, N, K});
  return cudaGetLastError();
}
