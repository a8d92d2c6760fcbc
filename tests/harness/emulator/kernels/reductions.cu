#include <cuda_runtime.h>
#include <cstdint>

// 1: a tree in shared memory, strided by halves.
__global__ void tree(const float* x, float* out, int64_t n) {
  __shared__ float s[256];
  float sum = 0;
  for (int64_t i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += x[i];
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int o = 128; o > 0; o >>= 1) {
    if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, s[0]);
}
extern "C" int sum_tree(const float* x, float* out, int64_t n, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  tree<<<8, 256, 0, stream>>>(x, out, n);
  return cudaGetLastError();
}

// 2: shuffles within warps, then one warp over their sums; a template over block and type.
template <int kThreads, typename T>
__device__ __forceinline__ T block_sum(T v) {
  __shared__ T partial[kThreads / 32];
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < kThreads / 32 ? partial[threadIdx.x] : T(0);
  if (threadIdx.x < 32) {
    for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  }
  return v;
}
template <int kThreads, typename T>
__global__ void shuffled(const T* __restrict__ x, T* __restrict__ out, int64_t n) {
  T sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += x[i];
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) *out = sum;
}
extern "C" int sum_shuffled(const float* x, float* out, int64_t n, cudaStream_t stream) {
  shuffled<512><<<1, 512, 0, stream>>>(x, out, n);
  return cudaGetLastError();
}
extern "C" int sum_double(const double* x, double* out, int64_t n, cudaStream_t stream) {
  shuffled<128, double><<<1, 128>>>(x, out, n);
  return cudaGetLastError();
}

// 3: the last block to finish adds up what the others left in global memory.
__device__ unsigned finished_blocks = 0;
__global__ void last_block(const float* x, float* partial, float* out, int64_t n) {
  __shared__ bool last;
  float sum = 0;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  sum = block_sum<128>(sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&finished_blocks, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  float total = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0.0f;
  total = block_sum<128>(total);
  if (threadIdx.x == 0) *out = total;
}
extern "C" int sum_last_block(const float* x, float* out, int64_t n, cudaStream_t stream) {
  float* partial = nullptr;
  if (cudaMallocAsync(&partial, 32 * sizeof(float), stream) != cudaSuccess) return 2;
  last_block<<<32, 128, 0, stream>>>(x, partial, out, n);
  const cudaError_t error = cudaGetLastError();
  cudaFreeAsync(partial, stream);
  return error;
}

// 4: maximum and where it stands, through packed 64-bit atomics.
__global__ void arg_max(const float* x, unsigned long long* best, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned bits = __float_as_uint(x[i]);
  bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  atomicMax(best, (unsigned long long)bits << 32 | unsigned(n - i));
}
__global__ void unpack(const unsigned long long* best, int64_t* index, int n) { *index = n - int64_t(*best & 0xffffffffu); }
extern "C" int argmax(const float* x, int64_t* index, int64_t n, cudaStream_t stream) {
  unsigned long long* best;
  cudaMalloc((void**)&best, sizeof *best);
  cudaMemset(best, 0, sizeof *best);
  arg_max<<<(n + 127) / 128, 128, 0, stream>>>(x, best, (int)n);
  unpack<<<1, 1, 0, stream>>>(best, index, n);
  cudaFree(best);
  return cudaGetLastError();
}

// 5: warp-aggregated compaction: one atomic for the lanes that have something to keep.
__global__ void keep_positive(const float* x, float* kept, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) {
    const unsigned active = __activemask();
    const int lane = threadIdx.x & 31, leader = __ffs(active) - 1;
    int base = 0;
    if (lane == leader) base = atomicAdd(count, __popc(active));
    base = __shfl_sync(active, base, leader);
    kept[base + __popc(active & ((1u << lane) - 1))] = x[i];
  }
}
extern "C" int compact(const float* x, float* kept, int* count, int64_t n, cudaStream_t stream) {
  cudaMemsetAsync(count, 0, sizeof(int), stream);
  keep_positive<<<(n + 255) / 256, 256, 0, stream>>>(x, kept, count, int(n));
  return cudaGetLastError();
}

// 6: variance by Welford's rule, merged across lanes.
struct Moments {
  float mean, m2, count;
};
__device__ Moments merged(Moments a, Moments b) {
  const float count = a.count + b.count;
  if (count == 0) return a;
  const float delta = b.mean - a.mean;
  return {a.mean + delta * b.count / count, a.m2 + b.m2 + delta * delta * a.count * b.count / count, count};
}
__global__ void welford(const float* x, float* out, int64_t n) {
  Moments m{0, 0, 0};
  for (int64_t i = threadIdx.x; i < n; i += 32) {
    m.count += 1;
    const float delta = x[i] - m.mean;
    m.mean += delta / m.count;
    m.m2 += delta * (x[i] - m.mean);
  }
  for (int o = 16; o > 0; o >>= 1) {
    const Moments other{__shfl_down_sync(~0u, m.mean, o), __shfl_down_sync(~0u, m.m2, o), __shfl_down_sync(~0u, m.count, o)};
    m = merged(m, other);
  }
  if (threadIdx.x == 0) *out = m.m2 / m.count;
}
extern "C" int variance(const float* x, float* out, int64_t n, cudaStream_t stream) {
  welford<<<1, 32, 0, stream>>>(x, out, n);
  return cudaGetLastError();
}

// 7: integer reductions of a warp in one instruction, votes and matches.
__global__ void warp_integers(const int* x, int* out) {
  const int v = x[threadIdx.x];
  out[threadIdx.x * 6 + 0] = __reduce_add_sync(~0u, v);
  out[threadIdx.x * 6 + 1] = __reduce_max_sync(~0u, v);
  out[threadIdx.x * 6 + 2] = (int)__reduce_xor_sync(~0u, (unsigned)v);
  out[threadIdx.x * 6 + 3] = (int)__ballot_sync(~0u, v % 3 == 0);
  out[threadIdx.x * 6 + 4] = (int)__match_any_sync(~0u, v % 4);
  out[threadIdx.x * 6 + 5] = __syncthreads_count(v > 50);
}
extern "C" int warp_functions(const int* x, int* out, cudaStream_t stream) {
  warp_integers<<<1, 32, 0, stream>>>(x, out);
  return cudaGetLastError();
}

// 8: rows of a matrix, one warp a row, vector loads.
__global__ void row_sums(const float4* x, float* out, int rows, int quads) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < quads; i += 32) {
    const float4 v = __ldg(x + (size_t)row * quads + i);
    sum += v.x + v.y + v.z + v.w;
  }
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
  if (threadIdx.x % 32 == 0) out[row] = sum;
}
extern "C" int sum_rows(const float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
  row_sums<<<dim3((rows + 3) / 4), dim3(128), 0, stream>>>(reinterpret_cast<const float4*>(x), out, rows, columns / 4);
  return cudaGetLastError();
}

// 9: columns of a matrix, a block of 32 x 8, partial sums in padded shared memory.
__global__ void column_sums(const float* x, float* out, int rows, int columns) {
  __shared__ float s[8][33];
  const int column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  if (column < columns) {
    for (int r = threadIdx.y; r < rows; r += 8) sum += x[r * columns + column];
  }
  s[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && column < columns) {
    for (int k = 1; k < 8; ++k) sum += s[k][threadIdx.x];
    out[column] = sum;
  }
}
extern "C" int sum_columns(const float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
  const dim3 block(32, 8);
  column_sums<<<(columns + 31) / 32, block, 0, stream>>>(x, out, (int)rows, (int)columns);
  return cudaGetLastError();
}
