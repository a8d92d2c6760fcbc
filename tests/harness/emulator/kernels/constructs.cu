#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstring>
namespace cg = cooperative_groups;

// Matrices of 16 bits through shared memory: stored by stmatrix, loaded by ldmatrix, both ways.
__global__ void matrices(const uint32_t* x, uint32_t* y) {
  __shared__ __align__(16) uint16_t tile[4][8][8];
  const int lane = threadIdx.x;
  const uint32_t row = static_cast<uint32_t>(__cvta_generic_to_shared(&tile[lane / 8][lane % 8][0]));
  uint32_t r[4];
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(x[lane]), "r"(x[32 + lane]), "r"(x[64 + lane]), "r"(x[96 + lane]));
  __syncwarp();
  for (int i = 0; i < 4; ++i) y[128 * 0 + 32 * i + lane] = reinterpret_cast<uint32_t*>(tile)[32 * i + lane];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
  for (int i = 0; i < 4; ++i) y[128 + 32 * i + lane] = r[i];
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(r[0]) : "l"(&tile[0][lane % 8][0]));
  y[256 + lane] = r[0];
  __syncwarp();
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(x[lane]), "r"(x[32 + lane]));
  __syncwarp();
  for (int i = 0; i < 2; ++i) y[288 + 32 * i + lane] = reinterpret_cast<uint32_t*>(tile)[32 * i + lane];
}

// Copies of 4, 8 and 16 bytes; what a size or a predicate leaves out becomes zero.
__global__ void copies(const uint32_t* x, uint32_t* y) {
  __shared__ __align__(16) uint32_t s[5][4];
  const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(s));
  if (threadIdx.x == 0) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(x));
    asm volatile("cp.async.ca.shared::cta.global.L2::64B [%0], [%1 + 4], 8;" ::"r"(at + 16), "l"(x));
    s[0][1] = s[0][2] = s[0][3] = s[1][2] = s[1][3] = 7;
  }
  const int read = 4;
  if (threadIdx.x == 0) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at + 32), "l"(x), "r"(read));
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p; }" ::"r"(at + 48), "l"(x), "r"(read));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(at + 64), "l"(x), "l"(policy));
    asm volatile("cp.async.wait_all;");
  }
  __syncthreads();
  if (threadIdx.x < 20) y[threadIdx.x] = s[threadIdx.x / 4][threadIdx.x % 4];
}

// Atomics and vectors of memory.
__global__ void memory(uint32_t* y, float* f, unsigned long long* wide) {
  struct alignas(16) Wide { unsigned long long a, b; };
  uint32_t old;
  asm volatile("atom.global.inc.u32 %0, [%1], 5;" : "=r"(old) : "l"(y));
  asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 2;" : "=r"(old) : "l"(y + 1));
  asm volatile("red.global.max.s32 [%0], -3;" ::"l"(y + 2));
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(f), "f"(1.5f));
  asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(y + 3), "r"(0x3c004000u));
  asm volatile("atom.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(f + 1 + threadIdx.x), "f"(2.5f));
  if (threadIdx.x == 0) {
    const Wide before = atomicCAS(reinterpret_cast<Wide*>(wide), Wide{1, 2}, Wide{3, 4});
    const Wide kept = atomicCAS(reinterpret_cast<Wide*>(wide + 2), Wide{1, 2}, Wide{3, 4});
    wide[4] = before.a + before.b, wide[5] = kept.a + kept.b;
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(y + 4), "r"(1), "r"(2), "f"(1.0f), "r"(4) : "memory");
    uint32_t a, b;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v2.u32 {%0, %1}, [%2 + 8];" : "=r"(a), "=r"(b) : "l"(y + 4));
    asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(y + 8), "r"(a + b));
    asm volatile("st.global.u8 [%0], %1;" ::"l"((char*)(y + 9) + 1), "r"(0x1ff));
    int small;
    asm volatile("ld.global.s8 %0, [%1];" : "=r"(small) : "l"((char*)(y + 9) + 1));
    y[10] = small;
  }
}

__global__ void groups(int* y) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto tile = cg::tiled_partition<8>(warp);
  const int t = threadIdx.x;
  y += blockIdx.x * 64 * 12;
  const auto third = cg::labeled_partition(warp, t % 3);
  const auto half = cg::binary_partition(warp, t % 32 < 20);
  int same, i = 0;
  y[t * 12 + i++] = cg::reduce(third, t, cg::plus<int>());
  y[t * 12 + i++] = third.size() * 100 + third.thread_rank();
  y[t * 12 + i++] = cg::reduce(half, t, cg::greater<int>());
  y[t * 12 + i++] = cg::inclusive_scan(tile, t, cg::plus<int>());
  y[t * 12 + i++] = cg::exclusive_scan(tile, t);
  y[t * 12 + i++] = tile.match_any(t / 2);
  y[t * 12 + i++] = tile.match_all(t / 8, same) + same;
  y[t * 12 + i++] = cg::tiled_partition(block, 16).thread_rank() + 100 * tile.meta_group_rank();
  y[t * 12 + i++] = cg::invoke_one_broadcast(tile, [&] { return t; });
  if (t % 4 == 1) y[t * 12 + i] = cg::coalesced_threads().size();
  ++i;
  cg::sync(block);
  y[t * 12 + i++] = cg::this_grid().thread_rank() + cg::this_grid().block_index().x;
}
__global__ void whole(int* y, int n) {
  cg::grid_group grid = cg::this_grid();
  for (int step = 0; step < 3; ++step) {
    const int left = y[(grid.thread_rank() + 1) % n];
    grid.sync();
    y[grid.thread_rank()] += left;
    grid.sync();
  }
}

__global__ void objects(int* y) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> shared;
  if (threadIdx.x == 0) new (&shared) cuda::atomic<int, cuda::thread_scope_block>(0);
  __syncthreads();
  shared.fetch_add(2, cuda::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_device> sum(y[0]), most(y[1]);
  sum.fetch_add(int(threadIdx.x), cuda::std::memory_order_relaxed);
  most.fetch_max(int(threadIdx.x));
  int expected = 0;
  cuda::atomic_ref<int>(y[2]).compare_exchange_strong(expected, int(threadIdx.x) + 1);
  __syncthreads();
  if (threadIdx.x == 0) y[3] = shared.load(cuda::memory_order_acquire);
}

#define ONE(name, kernel, T, ...)                                       \
  extern "C" int name(const T* x, T* y, cudaStream_t s) {               \
    kernel<<<1, 32, 0, s>>>(__VA_ARGS__);                               \
    return cudaGetLastError();                                          \
  }
ONE(run_matrices, matrices, uint32_t, x, y)
ONE(run_copies, copies, uint32_t, x, y)
ONE(run_objects, objects, int, y)
extern "C" int run_memory(uint32_t* y, float* f, unsigned long long* wide, cudaStream_t s) {
  memory<<<1, 32, 0, s>>>(y, f, wide);
  return cudaGetLastError();
}
extern "C" int run_groups(int* y, cudaStream_t s) {
  groups<<<2, 64, 0, s>>>(y);
  return cudaGetLastError();
}
extern "C" int run_whole(int* y, int64_t n, cudaStream_t s) {
  int count = n;
  void* arguments[] = {&y, &count};
  return cudaLaunchCooperativeKernel((void*)whole, dim3(n / 32), dim3(32), arguments, 0, s);
}

template <class T> __global__ void scaled(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
// The host API: every call has to succeed, and `x` to be doubled, tripled and brought back through pitched memory.
extern "C" int run_host(float* x, int64_t rows, int64_t columns, cudaStream_t) {
  const int n = rows * columns;
  cudaStream_t s;
  cudaEvent_t e;
  float* p;
  char* wide;
  size_t pitch;
  cudaMemPool_t pool;
  int value = 0;
#define OK(...) if (const cudaError_t error = (__VA_ARGS__)) return error * 1000 + __LINE__ % 1000
  OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  OK(cudaMallocFromPoolAsync((void**)&p, n * sizeof(float), pool, s));
  OK(cudaMallocPitch((void**)&wide, &pitch, columns * sizeof(float), rows));
  OK(cudaMemcpy2DAsync(wide, pitch, x, columns * sizeof(float), columns * sizeof(float), rows, cudaMemcpyHostToDevice, s));
  OK(cudaMemcpy2D(p, columns * sizeof(float), wide, pitch, columns * sizeof(float), rows, cudaMemcpyDeviceToDevice));
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t asked = {};
  asked.gridDim = dim3((n + 63) / 64), asked.blockDim = dim3(64), asked.stream = s, asked.attrs = attribute, asked.numAttrs = 1;
  OK(cudaLaunchKernelEx(&asked, scaled<float>, p, 2.0f, n));
  float by = 3;
  int count = n;
  void* arguments[] = {&p, &by, &count};
  OK(cudaLaunchKernel((const void*)scaled<float>, asked.gridDim, asked.blockDim, arguments, 0, s));
  OK(cudaEventRecord(e, s));
  OK(cudaStreamWaitEvent(s, e));
  OK(cudaMemcpyAsync(x, p, n * sizeof(float), cudaMemcpyDeviceToHost, s));
  OK(cudaLaunchHostFunc(s, [](void* data) { static_cast<float*>(data)[0] += 1; }, x));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, scaled<float>, 1024, 0));
  if (value != 2) return -1;
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxGridDimY, 0));
  if (value != 65535) return -2;
  if (strcmp(cudaGetErrorName(cudaErrorLaunchTimeout), "cudaErrorLaunchTimeout") != 0) return -3;
  scaled<<<1, 2048, 0, s>>>(p, by, count);
  if (cudaPeekAtLastError() != cudaErrorInvalidConfiguration || cudaGetLastError() != cudaErrorInvalidConfiguration) return -4;
  if (cudaMemcpy2D(p, 4, wide, pitch, 8, 1, cudaMemcpyDefault) != cudaErrorInvalidPitchValue || cudaGetLastError() == cudaSuccess) return -5;
  OK(cudaFreeAsync(p, s));
  OK(cudaFree(wide));
  OK(cudaStreamDestroy(s));
  return cudaGetLastError();
}
