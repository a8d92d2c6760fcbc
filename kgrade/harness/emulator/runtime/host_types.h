// Types and constants of the CUDA runtime API, as host code names them. Values are those of the toolkit.
#pragma once
#include <cstddef>

#include "launch.h"

// Each error with its number and its words.
#define EMU_ERRORS(each) \
  each(cudaSuccess, 0, "no error") \
  each(cudaErrorInvalidValue, 1, "invalid argument") \
  each(cudaErrorMemoryAllocation, 2, "out of memory") \
  each(cudaErrorInitializationError, 3, "initialization error") \
  each(cudaErrorCudartUnloading, 4, "driver shutting down") \
  each(cudaErrorInvalidConfiguration, 9, "invalid configuration argument") \
  each(cudaErrorInvalidPitchValue, 12, "invalid pitch argument") \
  each(cudaErrorInvalidSymbol, 13, "invalid device symbol") \
  each(cudaErrorInvalidDevicePointer, 17, "invalid device pointer") \
  each(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy") \
  each(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version") \
  each(cudaErrorInvalidDeviceFunction, 98, "invalid device function") \
  each(cudaErrorNoDevice, 100, "no CUDA-capable device is detected") \
  each(cudaErrorInvalidDevice, 101, "invalid device ordinal") \
  each(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid") \
  each(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device") \
  each(cudaErrorInvalidResourceHandle, 400, "invalid resource handle") \
  each(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state") \
  each(cudaErrorSymbolNotFound, 500, "named symbol not found") \
  each(cudaErrorNotReady, 600, "device not ready") \
  each(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered") \
  each(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch") \
  each(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated") \
  each(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled") \
  each(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled") \
  each(cudaErrorAssert, 710, "device-side assert triggered") \
  each(cudaErrorHostMemoryAlreadyRegistered, 712, "part or all of the requested memory range is already mapped") \
  each(cudaErrorMisalignedAddress, 716, "misaligned address") \
  each(cudaErrorLaunchFailure, 719, "unspecified launch failure") \
  each(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch") \
  each(cudaErrorNotPermitted, 800, "operation not permitted") \
  each(cudaErrorNotSupported, 801, "operation not supported") \
  each(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
  each(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture") \
  each(cudaErrorUnknown, 999, "unknown error")
enum cudaError {
#define EMU_ERROR(name, number, words) name = number,
  EMU_ERRORS(EMU_ERROR)
#undef EMU_ERROR
};
using cudaError_t = cudaError;

enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
};
enum cudaSharedCarveout { cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxL1 = 0, cudaSharedmemCarveoutMaxShared = 100 };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
// What may be asked for of a device by number, and the property that answers it.
#define EMU_ATTRIBUTES(each) \
  each(cudaDevAttrMaxThreadsPerBlock, 1, p.maxThreadsPerBlock) \
  each(cudaDevAttrMaxBlockDimX, 2, p.maxThreadsDim[0]) \
  each(cudaDevAttrMaxBlockDimY, 3, p.maxThreadsDim[1]) \
  each(cudaDevAttrMaxBlockDimZ, 4, p.maxThreadsDim[2]) \
  each(cudaDevAttrMaxGridDimX, 5, p.maxGridSize[0]) \
  each(cudaDevAttrMaxGridDimY, 6, p.maxGridSize[1]) \
  each(cudaDevAttrMaxGridDimZ, 7, p.maxGridSize[2]) \
  each(cudaDevAttrMaxSharedMemoryPerBlock, 8, p.sharedMemPerBlock) \
  each(cudaDevAttrTotalConstantMemory, 9, p.totalConstMem) \
  each(cudaDevAttrWarpSize, 10, p.warpSize) \
  each(cudaDevAttrMaxRegistersPerBlock, 12, p.regsPerBlock) \
  each(cudaDevAttrMultiProcessorCount, 16, p.multiProcessorCount) \
  each(cudaDevAttrIntegrated, 18, p.integrated) \
  each(cudaDevAttrCanMapHostMemory, 19, p.canMapHostMemory) \
  each(cudaDevAttrConcurrentKernels, 31, p.concurrentKernels) \
  each(cudaDevAttrL2CacheSize, 38, p.l2CacheSize) \
  each(cudaDevAttrMaxThreadsPerMultiProcessor, 39, p.maxThreadsPerMultiProcessor) \
  each(cudaDevAttrUnifiedAddressing, 41, p.unifiedAddressing) \
  each(cudaDevAttrComputeCapabilityMajor, 75, p.major) \
  each(cudaDevAttrComputeCapabilityMinor, 76, p.minor) \
  each(cudaDevAttrStreamPrioritiesSupported, 78, p.streamPrioritiesSupported) \
  each(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 81, p.sharedMemPerMultiprocessor) \
  each(cudaDevAttrMaxRegistersPerMultiprocessor, 82, p.regsPerMultiprocessor) \
  each(cudaDevAttrManagedMemory, 83, p.managedMemory) \
  each(cudaDevAttrCooperativeLaunch, 95, p.cooperativeLaunch) \
  each(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97, p.sharedMemPerBlockOptin) \
  each(cudaDevAttrMaxBlocksPerMultiprocessor, 106, p.maxBlocksPerMultiProcessor) \
  each(cudaDevAttrMaxPersistingL2CacheSize, 108, p.persistingL2CacheMaxSize) \
  each(cudaDevAttrReservedSharedMemoryPerBlock, 111, p.reservedSharedMemPerBlock) \
  each(cudaDevAttrMemoryPoolsSupported, 115, p.memoryPoolsSupported)
enum cudaDeviceAttr {
#define EMU_ATTRIBUTE(name, number, property) name = number,
  EMU_ATTRIBUTES(EMU_ATTRIBUTE)
#undef EMU_ATTRIBUTE
};

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor, totalConstMem;
  int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock, maxThreadsPerMultiProcessor;
  int maxBlocksPerMultiProcessor, maxThreadsDim[3], maxGridSize[3], major, minor, multiProcessorCount;
  int l2CacheSize, persistingL2CacheMaxSize, concurrentKernels, cooperativeLaunch, unifiedAddressing, managedMemory;
  size_t reservedSharedMemPerBlock, memPitch, textureAlignment, accessPolicyMaxWindowSize;
  int asyncEngineCount, canMapHostMemory, integrated, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, isMultiGpuBoard;
  int streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported, concurrentManagedAccess;
  int computePreemptionSupported, memoryPoolsSupported, pageableMemoryAccess, hostNativeAtomicSupported;
  int clockRate, memoryClockRate, memoryBusWidth;  // 0: an emulation has no clock
};

struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
};

struct CUevent_st;
using cudaEvent_t = CUevent_st*;
struct CUgraphNode_st;
using cudaGraphNode_t = CUgraphNode_st*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive, cudaStreamCaptureStatusInvalidated };

struct cudaMemPool_st;
using cudaMemPool_t = cudaMemPool_st*;
enum cudaMemPoolAttr { cudaMemPoolReuseFollowEventDependencies = 1, cudaMemPoolAttrReleaseThreshold = 4 };
enum cudaLimit {
  cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize, cudaLimitPersistingL2CacheSize = 6, cudaLimitMaxL2FetchGranularity = 5,
};
enum cudaAccessProperty { cudaAccessPropertyNormal, cudaAccessPropertyStreaming, cudaAccessPropertyPersisting };
struct cudaAccessPolicyWindow {
  void* base_ptr;
  size_t num_bytes;
  float hitRatio;
  cudaAccessProperty hitProp, missProp;
};
// Attributes of a launch or a stream that change when or how fast something runs, and nothing else.
enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8,
};
union cudaLaunchAttributeValue {
  cudaAccessPolicyWindow accessPolicyWindow;
  int cooperative, programmaticStreamSerializationAllowed, priority;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
using cudaStreamAttrValue = cudaLaunchAttributeValue;
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
using cudaHostFn_t = void (*)(void*);
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);

constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4;
constexpr unsigned cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2;
constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaOccupancyDefault = 0;
constexpr unsigned cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceScheduleYield = 2, cudaDeviceMapHost = 8;
#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)
