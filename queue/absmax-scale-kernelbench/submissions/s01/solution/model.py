import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__global__ void absmax_scale_kernel(const float* __restrict__ x, const float* __restrict__ gain, float* __restrict__ y,
                                    int64_t width, float floor) {
  __shared__ float largest[kWarps];
  const float* row = x + blockIdx.x * width;
  float own = floor;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) {
    own = fmaxf(own, fabsf(row[i]));
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    own = fmaxf(own, __shfl_xor_sync(0xffffffffu, own, offset));
  }
  if (threadIdx.x % 32 == 0) {
    largest[threadIdx.x / 32] = own;
  }
  __syncthreads();
  float most = floor;
  for (int warp = 0; warp < kWarps; ++warp) {
    most = fmaxf(most, largest[warp]);
  }
  for (int64_t i = threadIdx.x; i < width; i += kThreads) {
    y[blockIdx.x * width + i] = row[i] / most * gain[i];
  }
}

torch::Tensor absmax_scale(torch::Tensor x, torch::Tensor gain, double floor) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x must be a contiguous CUDA tensor");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  const c10::cuda::CUDAGuard guard(x.device());
  auto y = torch::empty_like(x);
  const int64_t width = x.size(-1);
  const int64_t rows = x.numel() / width;
  absmax_scale_kernel<<<rows, kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), gain.data_ptr<float>(), y.data_ptr<float>(), width, static_cast<float>(floor));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""
extension = load_inline(
    name="absmax_scale_rows",
    cpp_sources="torch::Tensor absmax_scale(torch::Tensor x, torch::Tensor gain, double floor);",
    cuda_sources=CUDA,
    functions=["absmax_scale"],
)


class ModelNew(nn.Module):
    def __init__(self, width: int, floor: float):
        super(ModelNew, self).__init__()
        self.gain = nn.Parameter(torch.rand(width) + 0.5)
        self.floor = floor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.absmax_scale(x.contiguous(), self.gain, self.floor)
