// What ATen/cuda and c10/cuda offer to an extension: one device that is the CPU, and streams that are always done.
#pragma once
#include <optional>

#include "atomics.h"
#include "host.h"

namespace c10::cuda {

class CUDAStream {
 public:
  operator cudaStream_t() const { return nullptr; }
  cudaStream_t stream() const { return nullptr; }
  void synchronize() const {}
  bool query() const { return true; }
  DeviceIndex device_index() const { return 0; }
};

inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) { return {}; }
inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) { return {}; }
inline CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1) { return {}; }
inline void setCurrentCUDAStream(CUDAStream) {}
inline DeviceIndex current_device() { return 0; }
inline DeviceIndex device_count() { return 1; }
inline void set_device(DeviceIndex) {}
inline void device_synchronize() {}

struct CUDAGuard {
  explicit CUDAGuard(DeviceIndex) {}
  explicit CUDAGuard(Device) {}
  void set_device(Device) {}
  void set_index(DeviceIndex) {}
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device>) {}
  explicit OptionalCUDAGuard(std::optional<DeviceIndex>) {}
  void set_device(Device) {}
  void set_index(DeviceIndex) {}
};
struct CUDAStreamGuard {
  explicit CUDAStreamGuard(CUDAStream) {}
};

inline void check(cudaError_t error, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::string said = std::string("CUDA error: ") + cudaGetErrorString(error);
  if (error == cudaErrorLaunchOutOfResources) said += std::string(" (") + emu::refused_launch() + ")";
  throw Error({"", file, static_cast<uint32_t>(line)}, said);
}

}  // namespace c10::cuda

namespace at::cuda {

using namespace c10::cuda;
inline cudaDeviceProp* getDeviceProperties(c10::DeviceIndex) {
  static cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  return &properties;
}
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(0); }
inline int warp_size() { return warpSize; }
inline bool is_available() { return true; }

}  // namespace at::cuda

namespace torch::cuda {
inline void synchronize(int64_t = -1) {}
inline bool is_available() { return true; }
inline int64_t device_count() { return 1; }
}  // namespace torch::cuda

#define C10_CUDA_CHECK(...) c10::cuda::check((__VA_ARGS__), __FILE__, __LINE__)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define C10_CUDA_ERROR_HANDLED(...) (__VA_ARGS__)
#define AT_CUDA_CHECK(...) C10_CUDA_CHECK(__VA_ARGS__)
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_KERNEL_LAUNCH_CHECK()

#define CUDA_KERNEL_LOOP_TYPE(i, n, type)                                                          \
  for (type i = type(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); i += type(blockDim.x) * gridDim.x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int64_t)

namespace at::cuda::detail {
constexpr int CUDA_NUM_THREADS = 1024;
inline int GET_BLOCKS(int64_t n, int64_t threads = CUDA_NUM_THREADS) { return int((n + threads - 1) / threads); }
}  // namespace at::cuda::detail

// The atomics that ATen/cuda/Atomic.cuh adds, for the types that the runtime's own take; c10's halves are CUDA's.
template <class T>
inline T gpuAtomicAdd(T* to, T value) {
  if constexpr (std::is_same_v<T, c10::Half>) {
    return T(__half2float(atomicAdd(reinterpret_cast<__half*>(to), __float2half(float(value)))));
  } else if constexpr (std::is_same_v<T, c10::BFloat16>) {
    return T(__bfloat162float(atomicAdd(reinterpret_cast<__nv_bfloat16*>(to), __float2bfloat16(float(value)))));
  } else {
    return atomicAdd(to, value);
  }
}
template <class T>
inline void gpuAtomicAddNoReturn(T* to, T value) { gpuAtomicAdd(to, value); }
inline c10::Half atomicAdd(c10::Half* to, c10::Half value) { return gpuAtomicAdd(to, value); }
inline c10::BFloat16 atomicAdd(c10::BFloat16* to, c10::BFloat16 value) { return gpuAtomicAdd(to, value); }
inline int64_t atomicAdd(int64_t* to, int64_t value) {
  return int64_t(atomicAdd(reinterpret_cast<unsigned long long*>(to), (unsigned long long)value));
}
