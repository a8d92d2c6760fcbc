#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cstdint>

template <class F>
__device__ float over_block(float v, F fold, float* s) {
  for (int o = 16; o > 0; o >>= 1) v = fold(v, __shfl_xor_sync(~0u, v, o));
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = s[0];
  for (int w = 1; w < (int)blockDim.x / 32; ++w) v = fold(v, s[w]);
  __syncthreads();
  return v;
}
struct Add { __device__ float operator()(float a, float b) const { return a + b; } };
struct Larger { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };

// 1: softmax in three passes.
__global__ void softmax_kernel(const float* x, float* y, int n) {
  __shared__ float s[8];
  const float* row = x + blockIdx.x * n;
  float m = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, row[i]);
  m = over_block(m, Larger(), s);
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += __expf(row[i] - m);
  sum = over_block(sum, Add(), s);
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = __expf(row[i] - m) / sum;
}
extern "C" int softmax(const float* x, float* y, int64_t rows, int64_t n, cudaStream_t st) {
  softmax_kernel<<<rows, 256, 0, st>>>(x, y, n);
  return cudaGetLastError();
}

// 2: softmax in one pass over pairs of maximum and sum, one warp a row.
__global__ void online_kernel(const float* x, float* y, int n) {
  const float* row = x + blockIdx.x * n;
  float m = -INFINITY, d = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    const float larger = fmaxf(m, row[i]);
    d = d * expf(m - larger) + expf(row[i] - larger);
    m = larger;
  }
  for (int o = 16; o; o >>= 1) {
    const float om = __shfl_xor_sync(~0u, m, o), od = __shfl_xor_sync(~0u, d, o), larger = fmaxf(m, om);
    d = (m == -INFINITY ? 0 : d * expf(m - larger)) + (om == -INFINITY ? 0 : od * expf(om - larger));
    m = larger;
  }
  for (int i = threadIdx.x; i < n; i += 32) y[blockIdx.x * n + i] = expf(row[i] - m) / d;
}
extern "C" int softmax_online(const float* x, float* y, int64_t rows, int64_t n, cudaStream_t st) {
  online_kernel<<<rows, 32, 0, st>>>(x, y, n);
  return cudaGetLastError();
}

// 3: layer norm, and 4: its gradient with respect to the input.
__global__ void layernorm_kernel(const float* x, const float* w, const float* b, float* y, int n) {
  extern __shared__ float s[];
  const float* row = x + blockIdx.x * n;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
  const float mean = over_block(sum, Add(), s) / n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
  const float r = rsqrtf(over_block(squares, Add(), s) / n + 1e-5f);
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = (row[i] - mean) * r * w[i] + b[i];
}
extern "C" int layernorm(const float* x, const float* w, const float* b, float* y, int64_t rows, int64_t n, cudaStream_t st) {
  layernorm_kernel<<<rows, 128, 4 * sizeof(float), st>>>(x, w, b, y, n);
  return cudaGetLastError();
}
__global__ void layernorm_backward_kernel(const float* x, const float* g, const float* w, float* dx, int n) {
  __shared__ float s[4];
  const int base = blockIdx.x * n;
  float sum = 0, squares = 0, gw = 0, gwx = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[base + i];
  const float mean = over_block(sum, Add(), s) / n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) squares += (x[base + i] - mean) * (x[base + i] - mean);
  const float r = rsqrtf(over_block(squares, Add(), s) / n + 1e-5f);
  for (int i = threadIdx.x; i < n; i += blockDim.x) gw += g[base + i] * w[i], gwx += g[base + i] * w[i] * (x[base + i] - mean) * r;
  gw = over_block(gw, Add(), s) / n;
  gwx = over_block(gwx, Add(), s) / n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) dx[base + i] = r * (g[base + i] * w[i] - gw - (x[base + i] - mean) * r * gwx);
}
extern "C" int layernorm_backward(const float* x, const float* g, const float* w, float* dx, int64_t rows, int64_t n, cudaStream_t st) {
  layernorm_backward_kernel<<<rows, 128, 0, st>>>(x, g, w, dx, n);
  return cudaGetLastError();
}

// 5: RMS norm in half, a template over the type.
template <typename T>
__global__ void rmsnorm_kernel(const T* __restrict__ x, const T* __restrict__ w, T* __restrict__ y, int n) {
  __shared__ float s[4];
  float squares = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float v = static_cast<float>(x[blockIdx.x * n + i]);
    squares += v * v;
  }
  const float r = rsqrtf(over_block(squares, Add(), s) / n + 1e-6f);
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = static_cast<T>(static_cast<float>(x[blockIdx.x * n + i]) * r * static_cast<float>(w[i]));
}
extern "C" int rmsnorm_half(const half* x, const half* w, half* y, int64_t rows, int64_t n, cudaStream_t st) {
  rmsnorm_kernel<half><<<rows, 128, 0, st>>>(x, w, y, n);
  return cudaGetLastError();
}
extern "C" int rmsnorm_bf16(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, int64_t rows, int64_t n, cudaStream_t st) {
  rmsnorm_kernel<<<rows, 128, 0, st>>>(x, w, y, static_cast<int>(n));
  return cudaGetLastError();
}

// 7: cross entropy.
__global__ void xent_kernel(const float* x, const int64_t* label, float* loss, int n) {
  __shared__ float s[4];
  const float* row = x + blockIdx.x * n;
  float m = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, row[i]);
  m = over_block(m, Larger(), s);
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - m);
  sum = over_block(sum, Add(), s);
  if (threadIdx.x == 0) loss[blockIdx.x] = logf(sum) + m - row[label[blockIdx.x]];
}
extern "C" int cross_entropy(const float* x, const int64_t* label, float* loss, int64_t rows, int64_t n, cudaStream_t st) {
  xent_kernel<<<rows, 128, 0, st>>>(x, label, loss, n);
  return cudaGetLastError();
}

// 8: attention forward, online softmax over tiles of keys in shared memory, causal.
template <int kTile, int kWidth>
__global__ void attention_kernel(const float* q, const float* k, const float* v, float* o, int n, float scale) {
  __shared__ float sk[kTile][kWidth + 1], sv[kTile][kWidth + 1];
  const int query = blockIdx.x * kTile + threadIdx.x;
  float qr[kWidth], acc[kWidth] = {}, m = -INFINITY, l = 0;
  if (query < n) for (int d = 0; d < kWidth; ++d) qr[d] = q[query * kWidth + d] * scale;
  for (int t = 0; t < n; t += kTile) {
    for (int d = 0; d < kWidth; ++d) {
      const bool inside = t + threadIdx.x < n;
      sk[threadIdx.x][d] = inside ? k[(t + threadIdx.x) * kWidth + d] : 0.0f;
      sv[threadIdx.x][d] = inside ? v[(t + threadIdx.x) * kWidth + d] : 0.0f;
    }
    __syncthreads();
    if (query < n) {
      for (int j = 0; j < kTile && t + j <= query; ++j) {
        float s = 0;
        for (int d = 0; d < kWidth; ++d) s += qr[d] * sk[j][d];
        const float larger = fmaxf(m, s), keep = expf(m - larger), p = expf(s - larger);
        l = l * keep + p;
        for (int d = 0; d < kWidth; ++d) acc[d] = acc[d] * keep + p * sv[j][d];
        m = larger;
      }
    }
    __syncthreads();
  }
  if (query < n) for (int d = 0; d < kWidth; ++d) o[query * kWidth + d] = acc[d] / l;
}
extern "C" int attention(const float* q, const float* k, const float* v, float* o, int64_t n, cudaStream_t st) {
  attention_kernel<32, 16><<<(n + 31) / 32, 32, 0, st>>>(q, k, v, o, n, 0.25f);
  return cudaGetLastError();
}

// 9: a row quantised to E4M3 with its own scale.
__global__ void quantise_kernel(const float* x, __nv_fp8_e4m3* y, float* scale, int n) {
  __shared__ float s[4];
  float m = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, fabsf(x[blockIdx.x * n + i]));
  m = over_block(m, Larger(), s);
  const float step = m / 448.0f;
  if (threadIdx.x == 0) scale[blockIdx.x] = step;
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = __nv_fp8_e4m3(x[blockIdx.x * n + i] / step);
}
extern "C" int quantise_fp8(const float* x, void* y, float* scale, int64_t rows, int64_t n, cudaStream_t st) {
  quantise_kernel<<<rows, 128, 0, st>>>(x, static_cast<__nv_fp8_e4m3*>(y), scale, n);
  return cudaGetLastError();
}

// 10: SwiGLU in bfloat16 pairs.
__global__ void swiglu_kernel(const __nv_bfloat162* gate, const __nv_bfloat162* up, __nv_bfloat162* y, int pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  const float2 g = __bfloat1622float2(gate[i]), u = __bfloat1622float2(up[i]);
  y[i] = __floats2bfloat162_rn(g.x / (1.0f + __expf(-g.x)) * u.x, g.y / (1.0f + __expf(-g.y)) * u.y);
}
extern "C" int swiglu(const void* gate, const void* up, void* y, int64_t n, cudaStream_t st) {
  swiglu_kernel<<<(n / 2 + 63) / 64, 64, 0, st>>>((const __nv_bfloat162*)gate, (const __nv_bfloat162*)up, (__nv_bfloat162*)y, n / 2);
  return cudaGetLastError();
}
