"""What CPU emulation cannot run: each construct by the name under which it is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Headers whose content the runtime brings along, so that the `#include` itself has nothing to do.
PROVIDED_HEADERS = re.compile(
    rb"(?:cuda_runtime|cuda_runtime_api|cuda|device_launch_parameters|device_functions|device_atomic_functions"
    rb"|vector_types|vector_functions|driver_types|builtin_types|host_defines|math_constants|math_functions"
    rb"|cuda_fp16|cuda_bf16|cuda_fp8|mma|cooperative_groups|cooperative_groups/[a-z_]+"
    rb"|cuda_pipeline|cuda_pipeline_primitives|sm_[0-9]+_intrinsics|sm_[0-9]+_atomic_functions"
    rb"|cuda_profiler_api|nvtx3?/nvToolsExt|nvToolsExt"
    rb"|cuda/barrier|cuda/pipeline|cuda/std/[a-z_]+|cuda/atomic|cuda/functional"
    rb"|cub/(?:cub|util_type|block/block_(?:reduce|scan|load|store)|warp/warp_(?:reduce|scan)"
    rb"|thread/thread_operators)"
    rb"|torch/(?:extension|types|all|torch|python|library)|c10/cuda/[A-Za-z0-9_]+"
    rb"|ATen/cuda/(?:CUDAContext|CUDAContextLight|Exceptions|Atomic|CUDAApplyUtils|CUDAUtils|CUDAEvent)"
    rb"|ATen/cuda/detail/[A-Za-z]+|THC/[A-Za-z]+)(?:\.h|\.hpp|\.cuh)?"
)

_REFUSED_HEADERS = (
    (rb"cub/", "CUB"),
    (rb"thrust/", "Thrust"),
    (rb"cutlass/", "CUTLASS"),
    (rb"cute/", "CuTe"),
    (rb"cublas", "cuBLAS"),
    (rb"cudnn", "cuDNN"),
    (rb"cufft", "cuFFT"),
    (rb"cusparse", "cuSPARSE"),
    (rb"cusolver", "cuSOLVER"),
    (rb"curand", "cuRAND"),
    (rb"nccl", "NCCL"),
    (rb"cuda/ptx", "cuda::ptx"),
    (rb"cuda/annotated_ptr", "cuda::annotated_ptr"),
    (rb"cudaTypedefs", "the driver API's entry points (tensor maps for TMA)"),
    (rb"cuda_fp4|cuda_fp6", "4 and 6 bit floating point types"),
)

# Identifiers that stand for something the machine does not have.
_REFUSED_NAMES = {
    b"CUtensorMap": "TMA (CUtensorMap)",
    b"cuTensorMapEncodeTiled": "TMA (cuTensorMapEncodeTiled)",
    b"__cluster_dims__": "thread block clusters (__cluster_dims__)",
    b"this_cluster": "thread block clusters (this_cluster)",
    b"cluster_group": "thread block clusters (cluster_group)",
    b"cudaLaunchAttributeClusterDimension": "thread block clusters (cudaLaunchAttributeClusterDimension)",
    b"getCurrentCUDABlasHandle": "cuBLAS (getCurrentCUDABlasHandle)",
    b"cudaTextureObject_t": "textures (cudaTextureObject_t)",
    b"cudaSurfaceObject_t": "surfaces (cudaSurfaceObject_t)",
    b"tex1Dfetch": "textures (tex1Dfetch)",
    b"tex2D": "textures (tex2D)",
    b"cudaGraphCreate": "graphs that are not captured from a stream (cudaGraphCreate)",
    b"cudaGraphExecUpdate": "graphs that change (cudaGraphExecUpdate)",
    b"cudaGraphExecKernelNodeSetParams": "graphs that change (cudaGraphExecKernelNodeSetParams)",
    b"__shfl": "shuffles without a mask (__shfl), which sm_70 and later do not have",
    b"__shfl_down": "shuffles without a mask (__shfl_down), which sm_70 and later do not have",
    b"__shfl_xor": "shuffles without a mask (__shfl_xor), which sm_70 and later do not have",
    b"__ballot": "votes without a mask (__ballot), which sm_70 and later do not have",
}

_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)


class CannotRun(Exception):
    """A construct that CPU emulation does not run: its name, and the file and line where it stands."""

    def __init__(self, construct: str, path: str, line: int) -> None:
        super().__init__(f"CPU emulation does not run {construct} ({path}:{line})")
        self.construct = construct
        self.path = path
        self.line = line


def line_of(source: bytes, offset: int) -> int:
    """Return the line, counted from 1, on which byte `offset` of `source` stands."""
    return source.count(b"\n", 0, offset) + 1


def includes(source: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield start and end of every `#include` line, and the header that it names."""
    for found in _INCLUDE.finditer(source):
        yield found.start(), found.end(), found.group(1)


def refused_header(header: bytes) -> str | None:
    """Return the library that `header` belongs to when nothing stands for it here, or None."""
    if PROVIDED_HEADERS.fullmatch(header):
        return None
    return next((name for start, name in _REFUSED_HEADERS if re.match(start, header)), None)


def refused_name(identifier: bytes) -> str | None:
    """Return what is refused where `identifier` is used, or None."""
    return _REFUSED_NAMES.get(identifier)
