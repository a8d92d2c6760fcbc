// The CUDA runtime API that launchers use. Everything happens in order and at once, so every stream is always idle.
#pragma once
#include "host_types.h"

cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);

cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind);
cudaError_t cudaMemset(void* to, int value, size_t bytes);
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);

inline cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) { return cudaMalloc(pointer, bytes); }
inline cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned = 1) { return cudaMalloc(pointer, bytes); }
inline cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned = 0) { return cudaMalloc(pointer, bytes); }
inline cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) { return cudaMalloc(pointer, bytes); }
template <class T> cudaError_t cudaMalloc(T** p, size_t n) { return cudaMalloc(reinterpret_cast<void**>(p), n); }
template <class T> cudaError_t cudaMallocAsync(T** p, size_t n, cudaStream_t) { return cudaMalloc(reinterpret_cast<void**>(p), n); }
template <class T> cudaError_t cudaMallocManaged(T** p, size_t n, unsigned = 1) { return cudaMalloc(reinterpret_cast<void**>(p), n); }
template <class T> cudaError_t cudaMallocHost(T** p, size_t n, unsigned = 0) { return cudaMalloc(reinterpret_cast<void**>(p), n); }
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
inline cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t = nullptr) {
  if (emu::captured([=] { cudaMemcpy(to, from, bytes, kind); })) return cudaSuccess;
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t tp, const void* from, size_t fp, size_t w, size_t h, cudaMemcpyKind k,
                                     cudaStream_t = nullptr) {
  if (emu::captured([=] { cudaMemcpy2D(to, tp, from, fp, w, h, k); })) return cudaSuccess;
  return cudaMemcpy2D(to, tp, from, fp, w, h, k);
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t = nullptr) {
  if (emu::captured([=] { cudaMemset(to, value, bytes); })) return cudaSuccess;
  return cudaMemset(to, value, bytes);
}
inline cudaError_t cudaMemset2DAsync(void* to, size_t p, int v, size_t w, size_t h, cudaStream_t = nullptr) {
  if (emu::captured([=] { cudaMemset2D(to, p, v, w, h); })) return cudaSuccess;
  return cudaMemset2D(to, p, v, w, h);
}
// A pool is the memory of the device.
inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) { *pool = nullptr; return cudaSuccess; }
inline cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int) { *pool = nullptr; return cudaSuccess; }
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
template <class T> cudaError_t cudaMallocFromPoolAsync(T** p, size_t n, cudaMemPool_t, cudaStream_t) { return cudaMalloc(p, n); }
// Host and device share one memory.
inline cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
template <class T> cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) { *device = static_cast<T*>(host); return cudaSuccess; }
inline cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) { return cudaMemcpy(to, from, bytes, cudaMemcpyDefault); }
inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream = nullptr) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}
inline cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }

namespace emu {
cudaError_t copy_symbol(void* to, const void* from, size_t bytes, size_t room);
}
// A symbol is the variable itself: constants and device globals are variables of the object.
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice) {
  return emu::copy_symbol((char*)&symbol + offset, from, bytes, offset <= sizeof(T) ? sizeof(T) - offset : 0);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = nullptr) {
  T* const address = &symbol;
  if (emu::captured([=] { cudaMemcpyToSymbol(*address, from, bytes, offset, kind); })) return cudaSuccess;
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  if (offset + bytes > sizeof(T)) return cudaErrorInvalidValue;
  return emu::copy_symbol(to, (const char*)&symbol + offset, bytes, bytes);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t = nullptr) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** pointer, T& symbol) {
  *pointer = (void*)&symbol;
  return cudaSuccess;
}

template <class T> cudaError_t cudaGetSymbolSize(size_t* bytes, const T&) { *bytes = sizeof(T); return cudaSuccess; }
template <class P, class T> cudaError_t cudaGetSymbolAddress(P** pointer, T& symbol) { return cudaGetSymbolAddress((void**)pointer, symbol); }

cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaDriverGetVersion(int* version) { *version = CUDART_VERSION; return cudaSuccess; }
inline cudaError_t cudaRuntimeGetVersion(int* version) { *version = CUDART_VERSION; return cudaSuccess; }
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
inline cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) { *lowest = 0, *highest = -5; return cudaSuccess; }
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { *can = 0; return cudaSuccess; }
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }

namespace emu {
cudaError_t allow_dynamic_shared(Kernel kernel, int bytes);
cudaError_t occupancy(int* blocks, int block_threads, size_t dynamic_shared);
// The translation gives template kernels whose arguments a launch deduces by name.
struct Named { const char* name; };
}
inline cudaError_t cudaFuncSetAttribute(emu::Named kernel, cudaFuncAttribute a, int v) {
  return a == cudaFuncAttributeMaxDynamicSharedMemorySize ? emu::allow_dynamic_shared({kernel.name, nullptr}, v) : cudaSuccess;
}
template <class F>
cudaError_t cudaFuncSetAttribute(F* kernel, cudaFuncAttribute a, int v) {
  return a == cudaFuncAttributeMaxDynamicSharedMemorySize ? emu::allow_dynamic_shared({nullptr, (const void*)kernel}, v) : cudaSuccess;
}
template <class F> cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) { return cudaSuccess; }
template <class F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, F) {
  *out = {};
  out->maxThreadsPerBlock = 1024;
  out->maxDynamicSharedSizeBytes = 48 * 1024;
  return cudaSuccess;  // registers need ptxas: 0 stands for unknown
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F, int block_threads, size_t dynamic_shared) {
  return emu::occupancy(blocks, block_threads, dynamic_shared);
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F, int block_threads, size_t dynamic_shared, unsigned) {
  return emu::occupancy(blocks, block_threads, dynamic_shared);
}
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, F, size_t dynamic_shared = 0, int limit = 0) {
  *block = limit > 0 && limit < 1024 ? limit : 1024;
  const cudaError_t error = emu::occupancy(grid, *block, dynamic_shared);
  int multiprocessors = 0;
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  *grid *= multiprocessors;
  return error;
}

inline cudaError_t cudaStreamCreate(cudaStream_t* s) { *s = nullptr; return cudaSuccess; }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { *s = nullptr; return cudaSuccess; }
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int) { *s = nullptr; return cudaSuccess; }
inline cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaLaunchAttributeID, const cudaStreamAttrValue*) { return cudaSuccess; }
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
  if (!emu::captured([=] { function(data); })) function(data);
  return cudaSuccess;
}
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned) {
  function(stream, cudaPeekAtLastError(), data);
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags = 0);
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t) {
  return cudaGraphInstantiate(made, graph);
}
inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiate(made, graph, flags);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
inline cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* e) { *e = nullptr; return cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { *e = nullptr; return cudaSuccess; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t = nullptr, unsigned = 0) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = __builtin_nanf("");  // an emulation yields no timing
  return cudaSuccess;
}

namespace emu {
template <class... P, size_t... I>
void call_with(void (*kernel)(P...), void** arguments, std::index_sequence<I...>, const Configuration& configuration) {
  launch(configuration, Kernel{"", (const void*)kernel}, kernel, *static_cast<std::remove_reference_t<P>*>(arguments[I])...);
}
}  // namespace emu
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, size_t shared = 0, cudaStream_t stream = nullptr) {
  emu::call_with(kernel, arguments, std::index_sequence_for<P...>{}, emu::Configuration(grid, block, shared, stream));
  return cudaPeekAtLastError();
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, size_t shared = 0, cudaStream_t stream = nullptr) {
  emu::Configuration configuration(grid, block, shared, stream);
  configuration.cooperative = true;
  emu::call_with(kernel, arguments, std::index_sequence_for<P...>{}, configuration);
  return cudaPeekAtLastError();
}

namespace emu {
inline Configuration configured(const cudaLaunchConfig_t& asked) {
  Configuration configuration(asked.gridDim, asked.blockDim, asked.dynamicSmemBytes, asked.stream);
  for (unsigned i = 0; i < asked.numAttrs; ++i) {
    if (asked.attrs[i].id == cudaLaunchAttributeCooperative) configuration.cooperative = asked.attrs[i].val.cooperative != 0;
  }
  return configuration;
}
}  // namespace emu
template <class... P, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* asked, void (*kernel)(P...), Arguments&&... arguments) {
  emu::launch(emu::configured(*asked), emu::Kernel{"", (const void*)kernel}, kernel, std::remove_const_t<P>(arguments)...);
  return cudaPeekAtLastError();
}
template <class... P>
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* asked, void (*kernel)(P...), void** arguments) {
  emu::call_with(kernel, arguments, std::index_sequence_for<P...>{}, emu::configured(*asked));
  return cudaPeekAtLastError();
}
