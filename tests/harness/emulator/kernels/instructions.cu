#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstdint>
namespace cg = cooperative_groups;

__device__ __forceinline__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n" ::"r"(shared_address(to)), "l"(from));
}
__device__ __forceinline__ void load4(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)));
}
__device__ __forceinline__ void load2_transposed(uint32_t (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)));
}
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// 1: mma.sync fed by ldmatrix from tiles that cp.async brings, two stages.
__global__ void mma_kernel(const half* a, const half* b, float* c, int n, int k) {
  __shared__ __align__(16) half ta[2][16][24], tb[2][16][8];
  const int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 8;
  auto fetch = [&](int stage, int t) {
    copy16(&ta[stage][lane / 2][lane % 2 * 8], a + (row + lane / 2) * k + t + lane % 2 * 8);
    if (lane < 16) copy16(&tb[stage][lane][0], b + (t + lane) * n + column);
    asm volatile("cp.async.commit_group;\n" ::);
  };
  float d[4] = {};
  fetch(0, 0);
  for (int t = 0, stage = 0; t < k; t += 16, stage ^= 1) {
    if (t + 16 < k) {
      fetch(stage ^ 1, t + 16);
      asm volatile("cp.async.wait_group %0;\n" ::"n"(1));
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    uint32_t fa[4], fb[2];
    load4(fa, &ta[stage][lane % 16][lane / 16 * 8]);
    load2_transposed(fb, &tb[stage][lane % 16][0]);
    multiply(d, fa, fb);
    __syncthreads();
  }
  const int g = lane / 4, i = lane % 4 * 2;
  *reinterpret_cast<float2*>(&c[(row + g) * n + column + i]) = make_float2(d[0], d[1]);
  *reinterpret_cast<float2*>(&c[(row + g + 8) * n + column + i]) = make_float2(d[2], d[3]);
}
extern "C" int gemm_mma(const half* a, const half* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t s) {
  mma_kernel<<<dim3(n / 8, m / 16), 32, 0, s>>>(a, b, c, n, k);
  return cudaGetLastError();
}

// 2: int8 and 3: tf32 products straight from global memory.
__global__ void s8_kernel(const int8_t* a, const int8_t* b, int* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const uint32_t* ra = reinterpret_cast<const uint32_t*>(a);
  const uint32_t* rb = reinterpret_cast<const uint32_t*>(b);
  int d[4] = {0, 0, 0, 0};
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(ra[g * 8 + t]), "r"(ra[(g + 8) * 8 + t]), "r"(ra[g * 8 + t + 4]), "r"(ra[(g + 8) * 8 + t + 4]), "r"(rb[g * 8 + t]),
        "r"(rb[g * 8 + t + 4]), "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3]));
  for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}
extern "C" int mma_int8(const int8_t* a, const int8_t* b, int* c, cudaStream_t s) {
  s8_kernel<<<1, 32, 0, s>>>(a, b, c);
  return cudaGetLastError();
}
__global__ void tf32_kernel(const float* a, const float* b, float* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  uint32_t ra[4], rb[2];
  const float va[4] = {a[g * 8 + t], a[(g + 8) * 8 + t], a[g * 8 + t + 4], a[(g + 8) * 8 + t + 4]};
  for (int i = 0; i < 4; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(ra[i]) : "f"(va[i]));
  for (int i = 0; i < 2; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rb[i]) : "f"(b[(t + 4 * i) * 8 + g]));
  float d[4] = {};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}
extern "C" int mma_tf32(const float* a, const float* b, float* c, cudaStream_t s) {
  tf32_kernel<<<1, 32, 0, s>>>(a, b, c);
  return cudaGetLastError();
}

// 4: instructions on integers, with a predicate and a special register.
__global__ void integers(const uint32_t* x, uint32_t* y) {
  const uint32_t v = x[threadIdx.x];
  uint32_t lane, perm, logic, field, guarded = 1;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(perm) : "r"(v), "r"(~v));
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(logic) : "r"(v), "r"(0xf0f0f0f0u), "r"(lane));
  asm("bfe.u32 %0, %1, 5, 9;" : "=r"(field) : "r"(v));
  asm volatile("{\n .reg .pred p;\n setp.gt.u32 p, %1, 15;\n @p mov.u32 %0, 7;\n}\n" : "+r"(guarded) : "r"(lane));
  y[threadIdx.x * 5 + 0] = lane;
  y[threadIdx.x * 5 + 1] = perm;
  y[threadIdx.x * 5 + 2] = logic;
  y[threadIdx.x * 5 + 3] = field;
  y[threadIdx.x * 5 + 4] = guarded;
}
extern "C" int ptx_integers(const uint32_t* x, uint32_t* y, cudaStream_t s) {
  integers<<<1, 32, 0, s>>>(x, y);
  return cudaGetLastError();
}

// 5: vector loads and stores with cache hints, and a fast exponential.
__global__ void hinted(const float* x, float* y, int quads) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x + 4 * i));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(v.x) : "f"(v.x));
  asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(y + 4 * i), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}
extern "C" int ptx_vectors(const float* x, float* y, int64_t n, cudaStream_t s) {
  hinted<<<(n / 4 + 31) / 32, 32, 0, s>>>(x, y, n / 4);
  return cudaGetLastError();
}

// 6: named barriers between a producer and a consumer warp.
__global__ void handed(const float* x, float* y, int rounds) {
  __shared__ float s[32];
  const int lane = threadIdx.x % 32;
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x < 32) {
      if (r > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
      s[lane] = 2 * x[r * 32 + lane];
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      y[r * 32 + lane] = s[31 - lane];
      if (r + 1 < rounds) asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}
extern "C" int named_barriers(const float* x, float* y, int64_t rounds, cudaStream_t s) {
  handed<<<1, 64, 0, s>>>(x, y, rounds);
  return cudaGetLastError();
}

// 7: tiles of eight, reduced by the library's function, and a scan.
__global__ void tiles(const float* x, float* sums, float* scans, int n) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  const int i = block.group_index().x * block.size() + block.thread_rank();
  const float v = i < n ? x[i] : 0.0f;
  const float sum = cg::reduce(tile, v, cg::plus<float>());
  float scan = v;
  for (int o = 1; o < (int)tile.size(); o *= 2) {
    const float left = tile.shfl_up(scan, o);
    if ((int)tile.thread_rank() >= o) scan += left;
  }
  block.sync();
  if (i < n) scans[i] = scan;
  if (tile.thread_rank() == 0 && i < n) sums[i / 8] = sum;
}
extern "C" int group_tiles(const float* x, float* sums, float* scans, int64_t n, cudaStream_t s) {
  tiles<<<n / 64, 64, 0, s>>>(x, sums, scans, n);
  return cudaGetLastError();
}

// 8: the lanes that stayed count themselves with one atomic.
__global__ void stayed(const int* x, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] % 3 == 0) {
    auto active = cg::coalesced_threads();
    if (active.thread_rank() == 0) atomicAdd(count, (int)active.size());
  }
}
extern "C" int group_coalesced(const int* x, int* count, int64_t n, cudaStream_t s) {
  cudaMemsetAsync(count, 0, 4, s);
  stayed<<<(n + 127) / 128, 128, 0, s>>>(x, count, n);
  return cudaGetLastError();
}

// 9: a sum over the grid in one cooperative launch.
__global__ void whole_grid(const float* x, float* partial, float* out, int n) {
  __shared__ float s[64];
  auto grid = cg::this_grid();
  float sum = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
  s[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 64; ++k) s[0] += s[k];
    partial[blockIdx.x] = s[0];
  }
  grid.sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    float total = s[0];
    for (int b = 1; b < (int)gridDim.x; ++b) total += partial[b];
    *out = total;
  }
}
extern "C" int group_grid(const float* x, float* out, int64_t n, cudaStream_t s) {
  float* partial;
  cudaMalloc(&partial, 8 * sizeof(float));
  int count = (int)n;
  void* arguments[] = {&x, &partial, &out, &count};
  cudaError_t error = cudaLaunchCooperativeKernel(whole_grid, dim3(8), dim3(64), arguments, 0, s);
  cudaFree(partial);
  return error;
}
