// CUB's primitives of blocks and warps, as kernels use them.
#include <cub/cub.cuh>
#include <cuda_runtime.h>

#include <cstdint>

// Sum, maximum and their place, one block for a row.
__global__ void rows_kernel(const float* x, float* sums, float* most, int* where, int n) {
  using Sums = cub::BlockReduce<float, 128>;
  using Pair = cub::KeyValuePair<int, float>;
  using Places = cub::BlockReduce<Pair, 128, cub::BLOCK_REDUCE_RAKING>;
  __shared__ union {
    typename Sums::TempStorage sums;
    typename Places::TempStorage places;
  } temp;
  const float* row = x + int64_t(blockIdx.x) * n;
  float sum = 0;
  Pair best(-1, -INFINITY);
  for (int i = threadIdx.x; i < n; i += 128) {
    sum += row[i];
    best = cub::ArgMax()(best, Pair(i, row[i]));
  }
  sum = Sums(temp.sums).Sum(sum);
  __syncthreads();
  best = Places(temp.places).Reduce(best, cub::ArgMax());
  if (threadIdx.x == 0) sums[blockIdx.x] = sum, most[blockIdx.x] = best.value, where[blockIdx.x] = best.key;
}
extern "C" int cub_rows(const float* x, float* sums, float* most, int* where, int64_t rows, int64_t n, cudaStream_t s) {
  rows_kernel<<<rows, 128, 0, s>>>(x, sums, most, where, n);
  return cudaGetLastError();
}

// A block of two dimensions whose last warp is not full, and of whose threads only some have a value.
__global__ void tail_kernel(const float* x, float* y, int n) {
  using Reduce = cub::BlockReduce<float, 20, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 5>;
  __shared__ Reduce::TempStorage temp;
  const int t = threadIdx.y * 20 + threadIdx.x;
  const float most = Reduce(temp).Reduce(t < n ? x[t] : 0.0f, cub::Max(), n);
  if (t == 0) y[0] = most;
}
extern "C" int cub_tail(const float* x, float* y, int64_t n, cudaStream_t s) {
  tail_kernel<<<1, dim3(20, 5), 0, s>>>(x, y, n);
  return cudaGetLastError();
}

// A running total over tiles of one block, which a callback carries on.
struct Running {
  float total;
  __device__ float operator()(float tile) {
    const float before = total;
    total += tile;
    return before;
  }
};
__global__ void scan_kernel(const float* x, float* y, int n) {
  using Load = cub::BlockLoad<float, 64, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<float, 64, 4, cub::BLOCK_STORE_TRANSPOSE>;
  using Scan = cub::BlockScan<float, 64, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ union {
    Load::TempStorage load;
    Store::TempStorage store;
    Scan::TempStorage scan;
  } temp;
  Running running{0};
  for (int first = 0; first < n; first += 256) {
    float items[4];
    Load(temp.load).Load(x + first, items, n - first, 0.0f);
    __syncthreads();
    Scan(temp.scan).InclusiveSum(items, items, running);
    __syncthreads();
    Store(temp.store).Store(y + first, items, n - first);
    __syncthreads();
  }
}
extern "C" int cub_scan(const float* x, float* y, int64_t n, cudaStream_t s) {
  scan_kernel<<<1, 64, 0, s>>>(x, y, n);
  return cudaGetLastError();
}

// What passes moves to the front in order; the block's count by its aggregate.
__global__ void select_kernel(const int* x, int* y, int* count, int n) {
  using Scan = cub::BlockScan<int, 256>;
  __shared__ Scan::TempStorage temp;
  const int t = threadIdx.x, keep = t < n && x[t] % 3 == 0;
  int at, all;
  Scan(temp).ExclusiveSum(keep, at, all);
  if (keep) y[at] = x[t];
  if (t == 255) *count = all;
}
extern "C" int cub_select(const int* x, int* y, int* count, int64_t n, cudaStream_t s) {
  cudaMemsetAsync(y, 0, n * sizeof(int), s);
  select_kernel<<<1, 256, 0, s>>>(x, y, count, n);
  return cudaGetLastError();
}

// Each warp for itself: sums of 32 and of 8, and the largest so far.
__global__ void warps_kernel(const int* x, int* sums, int* eights, int* most, int* before) {
  using Reduce = cub::WarpReduce<int>;
  using Eight = cub::WarpReduce<int, 8>;
  using Scan = cub::WarpScan<int>;
  __shared__ Reduce::TempStorage reduce[4];
  __shared__ Eight::TempStorage eight[16];
  __shared__ Scan::TempStorage scan[4];
  const int t = threadIdx.x, warp = t / 32;
  const int sum = Reduce(reduce[warp]).Sum(x[t]), few = Eight(eight[t / 8]).Sum(x[t]);
  if (t % 32 == 0) sums[warp] = sum;
  if (t % 8 == 0) eights[t / 8] = few;
  int largest, earlier;
  Scan(scan[warp]).InclusiveScan(x[t], largest, cub::Max());
  __syncwarp();
  Scan(scan[warp]).ExclusiveSum(x[t], earlier);
  most[t] = largest, before[t] = earlier;
}
extern "C" int cub_warps(const int* x, int* sums, int* eights, int* most, int* before, cudaStream_t s) {
  warps_kernel<<<1, 128, 0, s>>>(x, sums, eights, most, before);
  return cudaGetLastError();
}
