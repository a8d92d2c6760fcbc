#include "host.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "findings.h"
#include "grid.h"
#include "observer.h"
#include "storage.h"

namespace emu {

Observer observer;

namespace {

// What the target admits; sm_90 until `kgrade_emulator_target` says otherwise.
struct Target {
  int capability = 90;
  int multiprocessors = 132;
  size_t shared_per_block = 227 * 1024;
  size_t shared_per_multiprocessor = 228 * 1024;
  int threads_per_multiprocessor = 2048;
  int blocks_per_multiprocessor = 32;
};
Target target;

cudaError_t last_error = cudaSuccess;
cudaError_t sticky_error = cudaSuccess;  // a fault in a kernel: every later call fails, as on the device
std::string sticky_why;
std::string refused_why;  // which kernel found too few registers, and for how many threads

std::map<const void*, size_t> allocations;
std::map<const void*, size_t> allowed_by_address;
std::map<std::string, size_t> allowed_by_name;
std::map<std::string, unsigned long> most_threads;  // of a block, by the kernel's name, where registers are known

cudaError_t failed(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

size_t allowed_dynamic_shared(const Kernel& kernel) {
  size_t allowed = kSharedStaticLimit;
  const auto by_address = allowed_by_address.find(kernel.address);
  if (kernel.address != nullptr && by_address != allowed_by_address.end()) allowed = std::max(allowed, by_address->second);
  const auto by_name = allowed_by_name.find(kernel.name);
  if (by_name != allowed_by_name.end()) allowed = std::max(allowed, by_name->second);
  return allowed;
}

// A launch through a pointer has no name in the source: the symbol has one.
const char* name_of(const Kernel& kernel) {
  Dl_info info;
  if (*kernel.name != 0 || dladdr(kernel.address, &info) == 0 || info.dli_sname == nullptr) return kernel.name;
  static std::string name;
  int status = 0;
  char* readable = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  name = readable != nullptr ? readable : info.dli_sname;
  free(readable);
  name = name.substr(0, name.find('('));
  return name.c_str();
}

cudaError_t why_refused(const Configuration& c, const Kernel& kernel) {
  const unsigned long threads = static_cast<unsigned long>(c.block.x) * c.block.y * c.block.z;
  if (threads == 0 || threads > kMaxThreads || c.block.z > 64) return cudaErrorInvalidConfiguration;
  const auto most = most_threads.find(name_of(kernel));
  if (most != most_threads.end() && threads > most->second) {
    refused_why = most->first + ": a block of " + std::to_string(threads) + " threads, and its registers or its launch bound " +
                  "leave room for " + std::to_string(most->second);
    return cudaErrorLaunchOutOfResources;
  }
  if (c.grid.x == 0 || c.grid.y == 0 || c.grid.z == 0) return cudaErrorInvalidConfiguration;
  if (c.grid.x > 0x7fffffffu || c.grid.y > 65535 || c.grid.z > 65535) return cudaErrorInvalidConfiguration;
  if (c.shared > target.shared_per_block || c.shared > allowed_dynamic_shared(kernel)) return cudaErrorInvalidValue;
  if (c.cooperative) {
    int resident = 0;
    occupancy(&resident, static_cast<int>(threads), c.shared);
    const unsigned long blocks = static_cast<unsigned long>(c.grid.x) * c.grid.y * c.grid.z;
    if (blocks > static_cast<unsigned long>(resident) * target.multiprocessors) return cudaErrorCooperativeLaunchTooLarge;
  }
  return cudaSuccess;
}

}  // namespace

int multiprocessors() { return target.multiprocessors; }

const char* refused_launch() { return refused_why.c_str(); }

bool admit(const Configuration& configuration, const Kernel& kernel) {
  if (sticky_error != cudaSuccess) {
    last_error = sticky_error;
    return false;
  }
  const cudaError_t refused = why_refused(configuration, kernel);
  if (refused != cudaSuccess) {
    last_error = refused;
    return false;
  }
  gridDim = configuration.grid;
  blockDim = configuration.block;
  machine.dynamic_bytes = static_cast<unsigned>(configuration.shared);
  grid.kernel = name_of(kernel);
  grid.state = grid.seed;
  return true;
}

void execute(void (*run_threads)(const void*), const void* body, bool cooperative) {
  if (observer.launch_begins) observer.launch_begins();
  const int error = run_grid(run_threads, body, cooperative);
  if (observer.launch_ends) observer.launch_ends();
  if (error != 0) {
    sticky_error = static_cast<cudaError_t>(error);
    sticky_why = std::string(grid.kernel) + ": " + (grid.why != nullptr ? grid.why : "fault");
    last_error = sticky_error;
  }
}

void fence() { current()->fenced = true; }

cudaError_t copy_symbol(void* to, const void* from, size_t bytes, size_t room) {
  if (bytes > room) return failed(cudaErrorInvalidValue);
  memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t allow_dynamic_shared(Kernel kernel, int bytes) {
  if (bytes < 0 || static_cast<size_t>(bytes) > target.shared_per_block) return failed(cudaErrorInvalidValue);
  if (kernel.address != nullptr) allowed_by_address[kernel.address] = bytes;
  if (kernel.name != nullptr) allowed_by_name[kernel.name] = bytes;
  return cudaSuccess;
}

// Threads, blocks and dynamic shared memory; registers are ptxas' to know, and static shared memory the compiler's.
cudaError_t occupancy(int* blocks, int block_threads, size_t dynamic_shared) {
  if (block_threads <= 0 || block_threads > static_cast<int>(kMaxThreads)) return failed(cudaErrorInvalidValue);
  const int warps = (block_threads + 31) / 32;
  const int by_threads = target.threads_per_multiprocessor / (warps * 32);
  const int by_shared = static_cast<int>(target.shared_per_multiprocessor / (dynamic_shared + 1024));
  *blocks = std::min({by_threads, by_shared, target.blocks_per_multiprocessor});
  return cudaSuccess;
}

}  // namespace emu

using namespace emu;

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = sticky_error;
  return error;
}

cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define EMU_ERROR(name, number, words) case name: return #name;
    EMU_ERRORS(EMU_ERROR)
#undef EMU_ERROR
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define EMU_ERROR(name, number, words) case name: return words;
    EMU_ERRORS(EMU_ERROR)
#undef EMU_ERROR
  }
  return "unrecognized error code";
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  // 256 bytes: the alignment that the runtime promises. Bytes behind the end belong to nobody.
  void* made = aligned_alloc(256, (bytes + 2 * 256 + 255) / 256 * 256);
  if (made == nullptr) return failed(cudaErrorMemoryAllocation);
  memset(made, 0xcd, bytes);
  allocations[made] = bytes;
  if (observer.allocated) observer.allocated(made, bytes, "cudaMalloc", false);
  *pointer = made;
  return sticky_error;
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return sticky_error;
  const auto found = allocations.find(pointer);
  if (found == allocations.end()) return failed(cudaErrorInvalidValue);
  allocations.erase(found);
  if (observer.freed) {
    observer.freed(pointer);  // kept, so that a use after it is seen
  } else {
    free(pointer);
  }
  return sticky_error;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (sticky_error != cudaSuccess) return sticky_error;
  if (observer.host_access && !(observer.host_access(from, bytes, false, "cudaMemcpy") &&
                                observer.host_access(to, bytes, true, "cudaMemcpy"))) {
    return failed(cudaErrorInvalidValue);
  }
  memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return failed(cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = cudaMemcpy((char*)to + row * to_pitch, (const char*)from + row * from_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (sticky_error != cudaSuccess) return sticky_error;
  if (observer.host_access && !observer.host_access(to, bytes, true, "cudaMemset")) return failed(cudaErrorInvalidValue);
  memset(to, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = cudaMemset((char*)to + row * pitch, value, width);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(pointer, *pitch * height);
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  *total = *free_bytes = size_t(80) << 30;
  for (const auto& [address, bytes] : allocations) *free_bytes -= bytes;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) { *device = 0; return sticky_error; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? sticky_error : failed(cudaErrorInvalidDevice); }
cudaError_t cudaGetDeviceCount(int* count) { *count = 1; return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return sticky_error; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device != 0) return failed(cudaErrorInvalidDevice);
  *p = {};
  snprintf(p->name, sizeof p->name, "CPU emulation of sm_%d", target.capability);
  p->totalGlobalMem = size_t(80) << 30;
  p->sharedMemPerBlock = kSharedStaticLimit;
  p->sharedMemPerBlockOptin = target.shared_per_block;
  p->sharedMemPerMultiprocessor = target.shared_per_multiprocessor;
  p->totalConstMem = 64 * 1024;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = kMaxThreads;
  p->maxThreadsPerMultiProcessor = target.threads_per_multiprocessor;
  p->maxBlocksPerMultiProcessor = target.blocks_per_multiprocessor;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->major = target.capability / 10;
  p->minor = target.capability % 10;
  p->multiProcessorCount = target.multiprocessors;
  p->l2CacheSize = 50 << 20;
  p->reservedSharedMemPerBlock = target.capability >= 80 ? 1024 : 0;
  p->memPitch = 0x7fffffff;
  p->textureAlignment = 512;
  p->streamPrioritiesSupported = p->memoryPoolsSupported = p->canMapHostMemory = p->asyncEngineCount = 1;
  p->concurrentKernels = p->cooperativeLaunch = p->unifiedAddressing = p->managedMemory = 1;
  return sticky_error;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  const cudaError_t error = cudaGetDeviceProperties(&p, device);
  switch (attribute) {
#define EMU_ATTRIBUTE(name, number, property) case name: *value = static_cast<int>(property); break;
    EMU_ATTRIBUTES(EMU_ATTRIBUTE)
#undef EMU_ATTRIBUTE
    default: return failed(cudaErrorInvalidValue);
  }
  return error;
}

// What the caller of the object may ask. The only names that an object exports beside the task's entry.
#define EMU_EXPORT extern "C" __attribute__((visibility("default")))

EMU_EXPORT void kgrade_emulator_target(int capability, int multiprocessors, long shared_per_block, long shared, int threads,
                                       int blocks) {
  target = {capability, multiprocessors, size_t(shared_per_block), size_t(shared), threads, blocks};
}

// The most threads that a block of a kernel may have for its registers, or for its launch bound.
EMU_EXPORT void kgrade_emulator_bound(const char* kernel, int threads) { most_threads[kernel] = threads; }

// 0: blocks and threads in order. Any other seed: a random order of its own, the same every time.
EMU_EXPORT void kgrade_emulator_seed(unsigned long long seed) { grid.seed = seed; }

// Tells the checks about memory that the caller lends; `initialised` is false for outputs.
EMU_EXPORT void kgrade_emulator_lend(const void* address, unsigned long bytes, const char* name, int initialised) {
  if (observer.allocated) observer.allocated(address, bytes, name, initialised != 0);
}

// What ended the last kernel that failed, or why its registers forbade it, or an empty text.
EMU_EXPORT const char* kgrade_emulator_fault() { return (sticky_why.empty() ? refused_why : sticky_why).c_str(); }

// The error that nobody has asked for yet, in words, or an empty text; it is forgotten unless it is sticky.
EMU_EXPORT const char* kgrade_emulator_pending() {
  static std::string words;
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return "";
  words = std::string("CUDA error: ") + cudaGetErrorString(error);
  const std::string& why = error == cudaErrorLaunchOutOfResources ? refused_why : sticky_why;
  if (!why.empty()) words += " (" + why + ")";
  return words.c_str();
}

// Forgets a fault, so that the next call starts clean; a device would need a new process.
EMU_EXPORT void kgrade_emulator_reset() {
  sticky_error = last_error = cudaSuccess;
  sticky_why.clear();
  refused_why.clear();
#ifdef EMU_CHECKS
  clear_checks();
#endif
}

// What the checks have found since the last reset: one JSON object a line; empty in an object without checks.
EMU_EXPORT const char* kgrade_emulator_findings() {
#ifdef EMU_CHECKS
  return findings_text();
#else
  return "";
#endif
}
