#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cstdint>
namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// 1: rows turned round through shared memory; arriving and waiting are apart, and the barrier is used again and again.
__global__ void turned(const float* x, float* y, int rows) {
  __shared__ float row[64];
  __shared__ block_barrier met;
  if (threadIdx.x == 0) init(&met, blockDim.x);
  __syncthreads();
  for (int r = 0; r < rows; ++r) {
    row[threadIdx.x] = x[64 * r + threadIdx.x];
    block_barrier::arrival_token token = met.arrive();
    const float own = 2 * x[64 * r + threadIdx.x];
    met.wait(std::move(token));
    y[64 * r + threadIdx.x] = own + row[63 - threadIdx.x];
    met.arrive_and_wait();
  }
}
extern "C" int barrier_object(const float* x, float* y, int64_t rows, cudaStream_t s) {
  turned<<<1, 64, 0, s>>>(x, y, (int)rows);
  return cudaGetLastError();
}

// 2: tiles copied by the block, whose arrival a barrier tells.
__global__ void barrier_copied(const float* x, float* y, int tiles) {
  __shared__ alignas(16) float tile[2][128];
  __shared__ cuda::barrier<cuda::thread_scope_block> filled[2];
  auto block = cg::this_thread_block();
  if (block.thread_rank() < 2) init(&filled[block.thread_rank()], block.size());
  block.sync();
  cuda::memcpy_async(block, tile[0], x, cuda::aligned_size_t<16>(sizeof(tile[0])), filled[0]);
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) cuda::memcpy_async(block, tile[(t + 1) % 2], x + 128 * (t + 1), sizeof(tile[0]), filled[(t + 1) % 2]);
    filled[t % 2].arrive_and_wait();
    y[128 * t + threadIdx.x] = tile[t % 2][127 - threadIdx.x];
    block.sync();
  }
}
extern "C" int barrier_copies(const float* x, float* y, int64_t tiles, cudaStream_t s) {
  barrier_copied<<<1, 128, 0, s>>>(x, y, (int)tiles);
  return cudaGetLastError();
}

// 3: sums of tiles through a pipeline of two stages that all threads fill and empty.
template <int kStages>
__global__ void staged_sums(const float* x, float* y, int tiles) {
  __shared__ alignas(16) float tile[kStages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  float sum = 0;
  for (int next = 0, t = 0; t < tiles; ++t) {
    for (; next < tiles && next < t + kStages; ++next) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[next % kStages], x + 64 * next, cuda::aligned_size_t<4>(sizeof(tile[0])), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[t % kStages][63 - threadIdx.x];
    pipe.consumer_release();
  }
  y[threadIdx.x] = sum;
}
extern "C" int pipeline_stages(const float* x, float* y, int64_t tiles, cudaStream_t s) {
  staged_sums<2><<<1, 64, 0, s>>>(x, y, (int)tiles);
  return cudaGetLastError();
}

// 4: one warp fills, the other one empties.
__global__ void handed_over(const float* x, float* y, int tiles) {
  __shared__ float tile[3][32];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
  auto block = cg::this_thread_block();
  const bool fills = threadIdx.x < 32;
  const int lane = threadIdx.x % 32;
  auto pipe = cuda::make_pipeline(block, &state, fills ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  for (int t = 0; t < tiles; ++t) {
    if (fills) {
      pipe.producer_acquire();
      cuda::memcpy_async(&tile[t % 3][lane], x + 32 * t + lane, sizeof(float), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      y[32 * t + lane] = tile[t % 3][31 - lane];
      pipe.consumer_release();
    }
  }
}
extern "C" int pipeline_roles(const float* x, float* y, int64_t tiles, cudaStream_t s) {
  handed_over<<<1, 64, 0, s>>>(x, y, (int)tiles);
  return cudaGetLastError();
}

// 5: each thread waits for its own copies alone, all but the last.
__global__ void own_copies(const float* x, float* y, int steps) {
  __shared__ float kept[2][64];
  auto pipe = cuda::make_pipeline();
  float product = 1;
  cuda::memcpy_async(&kept[0][threadIdx.x], x + threadIdx.x, sizeof(float), pipe);
  pipe.producer_commit();
  for (int step = 0; step < steps; ++step) {
    pipe.producer_acquire();
    if (step + 1 < steps) cuda::memcpy_async(&kept[(step + 1) % 2][threadIdx.x], x + 64 * (step + 1) + threadIdx.x, sizeof(float), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    product *= kept[step % 2][threadIdx.x];
    pipe.consumer_release();
  }
  y[threadIdx.x] = product;
}
extern "C" int pipeline_own(const float* x, float* y, int64_t steps, cudaStream_t s) {
  own_copies<<<1, 64, 0, s>>>(x, y, (int)steps);
  return cudaGetLastError();
}

// 6: the group's own copy, in two batches.
__global__ void group_copied(const float* x, float* y) {
  __shared__ float first[96], second[96];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, first, x, sizeof(first));
  cg::memcpy_async(block, second, x + 96, sizeof(second));
  cg::wait_prior<1>(block);
  y[threadIdx.x] = first[95 - threadIdx.x];
  cg::wait(block);
  y[threadIdx.x] += second[95 - threadIdx.x];
}
extern "C" int group_copies(const float* x, float* y, cudaStream_t s) {
  group_copied<<<1, 96, 0, s>>>(x, y);
  return cudaGetLastError();
}

// 7: a graph captured from a stream, launched three times: y = (y + x) * scale each time, from zeros.
__constant__ float scale;
__global__ void step(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (y[i] + x[i]) * scale;
}
extern "C" int captured(const float* x, float* y, int64_t n, cudaStream_t) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  float twice = 2;
  float* copy;
  cudaStreamCreate(&stream);
  cudaMalloc(&copy, n * sizeof(float));
  cudaMemset(y, 0, n * sizeof(float));
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyToSymbolAsync(scale, &twice, sizeof(twice), 0, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(copy, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  step<<<(n + 63) / 64, 64, 0, stream>>>(copy, y, (int)n);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphDestroy(graph);
  for (int i = 0; i < 3; ++i) cudaGraphLaunch(ready, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(ready);
  cudaFree(copy);
  return cudaGetLastError();
}
