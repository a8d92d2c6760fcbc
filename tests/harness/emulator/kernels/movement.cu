#include <cuda_runtime.h>
#include <cstdint>

// 1: an elementwise function with a lambda passed to the kernel.
template <typename F>
__global__ void apply(const float* x, float* y, int64_t n, F f) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = f(x[i]);
}
extern "C" int gelu(const float* x, float* y, int64_t n, cudaStream_t stream) {
  apply<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, [] __device__(float v) { return 0.5f * v * (1.0f + erff(v * 0.70710678f)); });
  return cudaGetLastError();
}

// 2: vectors of four with a tail.
__global__ void axpy(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i + 3 < n) {
    const float4 u = reinterpret_cast<const float4*>(x)[i];
    float4 v = reinterpret_cast<float4*>(y)[i];
    v = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
    __stcs(reinterpret_cast<float4*>(y) + i, v);
  } else {
    for (int k = 4 * i; k < n; ++k) y[k] += a * x[k];
  }
}
extern "C" int saxpy(const float* x, float* y, int64_t n, cudaStream_t stream) {
  axpy<<<(n / 4 + 1 + 127) / 128, 128, 0, stream>>>(2.5f, x, y, n);
  return cudaGetLastError();
}

// 3: a transpose through a padded tile, launched by a macro.
#define LAUNCH(kernel, grid, block, ...) \
  do {                                   \
    kernel<<<grid, block>>>(__VA_ARGS__); \
  } while (0)
template <int kTile, int kRows>
__global__ void transpose_tile(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  int c = blockIdx.x * kTile + threadIdx.x, r = blockIdx.y * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows) {
    if (r + k < rows && c < columns) tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * columns + c];
  }
  __syncthreads();
  c = blockIdx.y * kTile + threadIdx.x;
  r = blockIdx.x * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows) {
    if (r + k < columns && c < rows) y[(r + k) * rows + c] = tile[threadIdx.x][threadIdx.y + k];
  }
}
extern "C" int transpose(const float* x, float* y, int64_t rows, int64_t columns, cudaStream_t) {
  auto kernel = transpose_tile<32, 8>;
  LAUNCH(kernel, dim3((columns + 31) / 32, (rows + 31) / 32), dim3(32, 8), x, y, rows, columns);
  return cudaGetLastError();
}

// 4: an 8 x 8 transpose of registers between lanes, by shuffles.
__global__ void transpose_lanes(const int* x, int* y) {
  const int lane = threadIdx.x;
  for (int i = 0; i < 32; ++i) {
    const int source = (lane + i) % 32;
    const int got = __shfl_sync(~0u, x[lane * 32 + (lane - i + 32) % 32], source);
    y[lane * 32 + source] = got;
  }
}
extern "C" int transpose_warp(const int* x, int* y, cudaStream_t) {
  transpose_lanes<<<1, 32>>>(x, y);
  return cudaGetLastError();
}

// 5: gather of embedding rows, and 6: its backward pass with atomics.
__global__ void gather(const float* table, const int64_t* ids, float* out, int width) {
  for (int c = threadIdx.x; c < width; c += blockDim.x) out[blockIdx.x * width + c] = table[ids[blockIdx.x] * width + c];
}
__global__ void scatter(const float* grad, const int64_t* ids, float* table, int width) {
  for (int c = threadIdx.x; c < width; c += blockDim.x) atomicAdd(&table[ids[blockIdx.x] * width + c], grad[blockIdx.x * width + c]);
}
extern "C" int embedding(const float* table, const int64_t* ids, float* out, int64_t n, int64_t width, cudaStream_t) {
  gather<<<n, 64>>>(table, ids, out, width);
  return cudaGetLastError();
}
extern "C" int embedding_backward(const float* grad, const int64_t* ids, float* table, int64_t rows, int64_t n, int64_t width, cudaStream_t stream) {
  cudaMemsetAsync(table, 0, rows * width * sizeof(float), stream);
  scatter<<<n, 64, 0, stream>>>(grad, ids, table, width);
  return cudaGetLastError();
}

// 7: rotary position embedding, pairs of halves of a head.
__global__ void rope_kernel(const float* x, float* y, int heads, int width) {
  const int position = blockIdx.x, head = blockIdx.y, half_width = width / 2;
  const size_t base = ((size_t)position * heads + head) * width;
  for (int i = threadIdx.x; i < half_width; i += blockDim.x) {
    const float angle = position * powf(10000.0f, -2.0f * i / width);
    float s, c;
    sincosf(angle, &s, &c);
    const float a = x[base + i], b = x[base + i + half_width];
    y[base + i] = a * c - b * s;
    y[base + i + half_width] = a * s + b * c;
  }
}
extern "C" int rope(const float* x, float* y, int64_t positions, int64_t heads, int64_t width, cudaStream_t stream) {
  rope_kernel<<<dim3(positions, heads), 32, 0, stream>>>(x, y, heads, width);
  return cudaGetLastError();
}

// 8: a five-point stencil with a halo in shared memory.
__global__ void stencil_kernel(const float* x, float* y, int rows, int columns) {
  __shared__ float t[18][18];
  const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  auto at = [&](int i, int j) { return i < 0 || j < 0 || i >= rows || j >= columns ? 0.0f : x[i * columns + j]; };
  t[threadIdx.y + 1][threadIdx.x + 1] = at(r, c);
  if (threadIdx.y == 0) t[0][threadIdx.x + 1] = at(r - 1, c);
  if (threadIdx.y == 15) t[17][threadIdx.x + 1] = at(r + 1, c);
  if (threadIdx.x == 0) t[threadIdx.y + 1][0] = at(r, c - 1);
  if (threadIdx.x == 15) t[threadIdx.y + 1][17] = at(r, c + 1);
  __syncthreads();
  const int i = threadIdx.y + 1, j = threadIdx.x + 1;
  if (r < rows && c < columns) y[r * columns + c] = 4 * t[i][j] - t[i - 1][j] - t[i + 1][j] - t[i][j - 1] - t[i][j + 1];
}
extern "C" int stencil(const float* x, float* y, int64_t rows, int64_t columns, cudaStream_t stream) {
  stencil_kernel<<<dim3((columns + 15) / 16, (rows + 15) / 16), dim3(16, 16), 0, stream>>>(x, y, rows, columns);
  return cudaGetLastError();
}

// 9: a one-dimensional convolution with its weights in constant memory.
__constant__ float weights[9];
__global__ void convolve_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 9; ++k) {
    const int j = i + k - 4;
    if (j >= 0 && j < n) sum += weights[k] * x[j];
  }
  y[i] = sum;
}
extern "C" int convolve(const float* x, const float* w, float* y, int64_t n, cudaStream_t stream) {
  const cudaError_t error = cudaMemcpyToSymbolAsync(weights, w, sizeof(weights), 0, cudaMemcpyDeviceToDevice, stream);
  if (error != cudaSuccess) return error;
  convolve_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}

// 10: int4 weights, two to a byte, with a scale for each group of 32.
__global__ void dequantise_kernel(const uint8_t* packed, const float* scales, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i >= n) return;
  const uint8_t byte = packed[i];
  const float scale = scales[2 * i / 32];
  out[2 * i] = ((byte & 0xf) - 8) * scale;
  out[2 * i + 1] = ((byte >> 4) - 8) * scale;
}
extern "C" int dequantise(const uint8_t* packed, const float* scales, float* out, int64_t n, cudaStream_t stream) {
  dequantise_kernel<<<(n / 2 + 63) / 64, 64, 0, stream>>>(packed, scales, out, n);
  return cudaGetLastError();
}

// 11: a pitched copy through the host API, two streams and an event.
extern "C" int copy_pitched(const float* x, float* y, int64_t rows, int64_t columns, cudaStream_t) {
  cudaStream_t streams[2];
  cudaEvent_t done;
  for (auto& s : streams) cudaStreamCreate(&s);
  cudaEventCreate(&done);
  float* pitched;
  size_t pitch;
  cudaMallocPitch((void**)&pitched, &pitch, columns * sizeof(float), rows);
  cudaMemcpy2DAsync(pitched, pitch, x, columns * sizeof(float), columns * sizeof(float), rows, cudaMemcpyDeviceToDevice, streams[0]);
  cudaEventRecord(done, streams[0]);
  cudaStreamWaitEvent(streams[1], done, 0);
  cudaMemcpy2DAsync(y, columns * sizeof(float), pitched, pitch, columns * sizeof(float), rows, cudaMemcpyDeviceToDevice, streams[1]);
  for (auto& s : streams) cudaStreamSynchronize(s), cudaStreamDestroy(s);
  cudaEventDestroy(done);
  cudaFree(pitched);
  return cudaGetLastError();
}
