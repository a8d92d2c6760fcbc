// y[N, M] = transpose(x[M, N]), row-major float32, through 32 x 32 tiles in shared memory.
#include <cuda_runtime.h>

#include <cstdint>

namespace {

constexpr int kTile = 32;
constexpr int kRows = 8;   // rows of threads: each thread moves kTile / kRows elements

__global__ void transpose_kernel(const float* x, float* y, int64_t m, int64_t n) {
  __shared__ float tile[kTile][kTile];
  const int64_t row = int64_t{blockIdx.y} * kTile + threadIdx.y;
  const int64_t column = int64_t{blockIdx.x} * kTile + threadIdx.x;
  for (int r = 0; r < kTile; r += kRows) {
    tile[threadIdx.y + r][threadIdx.x] = x[(row + r) * n + column];
  }
  __syncthreads();
  const int64_t out_row = int64_t{blockIdx.x} * kTile + threadIdx.y;
  const int64_t out_column = int64_t{blockIdx.y} * kTile + threadIdx.x;
  for (int r = 0; r < kTile; r += kRows) {
    y[(out_row + r) * m + out_column] = tile[threadIdx.x][threadIdx.y + r];
  }
}

}  // namespace

extern "C" int transpose(const float* x, float* y, int64_t M, int64_t N, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((N + kTile - 1) / kTile), static_cast<unsigned>((M + kTile - 1) / kTile));
  const dim3 block(kTile, kRows);
  transpose_kernel<<<grid, block, 0, stream>>>(x, y, M, N);
  return cudaGetLastError();
}
