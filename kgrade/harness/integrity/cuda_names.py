"""What names in CUDA C++ mean: libraries, launches, streams, and calls that have a name of their own in Python."""

from __future__ import annotations

import re

LIBRARY = re.compile(
    r"^(cublas\w*|cudnn\w*|cusparse\w*|cufft\w*|cusolver\w*|cutensor\w*|nvinfer\w*|hipblas\w*|rocblas\w*|miopen\w*)"
)
_HOUSEKEEPING = re.compile(r"Create|Destroy|Set|Get|Workspace|Descriptor|Status|Init|Handle|_t$|Heuristic")


def works(name: str) -> bool:
    """Whether the function of a library that `name` names computes something."""
    return LIBRARY.match(name) is not None and not _HOUSEKEEPING.search(name)


def told(name: str) -> str:
    """The name of a library's function as findings say it."""
    return "cublas." + name if "blas" in name.lower() else name


SPACES = {"at": "torch", "torch": "torch", "cub": "cub", "thrust": "thrust", "cutlass": "cutlass", "hipcub": "cub"}
TENSOR_MATHS = {
    "matmul",
    "mm",
    "bmm",
    "addmm",
    "softmax",
    "linear",
    "sort",
    "topk",
    "cumsum",
    "log_softmax",
    "layer_norm",
}
CALLS = {
    "system": "os.system", "popen": "os.popen", "fork": "os.fork", "dlopen": "native.dlopen", "dlsym": "native.dlopen",
    "mprotect": "native.mprotect", "ptrace": "native.ptrace", "getenv": "os.getenv", "fopen": "native.fopen",
    "_exit": "os._exit",
    "exit": "sys.exit", "abort": "os.abort", "dup2": "os.dup2", "pthread_create": "threading.Thread",
    "atexit": "atexit.register",
    "std::thread": "threading.Thread", "std::async": "threading.Thread", "socket": "socket.socket",
    "std::getenv": "os.getenv",
    "process_vm_writev": "native.ptrace", "process_vm_readv": "native.ptrace",
    "setDefaultDtype": "torch.set_default_dtype",
    "cudaLaunchHostFunc": "threading.Thread", "std::system": "os.system", "secure_getenv": "os.getenv",
    "std::exit": "sys.exit", "std::abort": "os.abort", "manual_seed": "torch.manual_seed",
}  # fmt: skip
PERSISTING = re.compile(
    r"cudaAccessPropertyPersisting|accessPolicyWindow|PersistingL2Cache|AttributeAccessPolicyWindow|persistingL2CacheMaxSize"
    r"|CU_LIMIT_PERSISTING|ATTRIBUTE_ACCESS_POLICY_WINDOW|ACCESS_PROPERTY_PERSISTING|createpolicy\.\w+\.L2::evict_last_persist"
)
LIMITS = {"cudaDeviceSetLimit", "cuCtxSetLimit", "hipDeviceSetLimit"}
OTHER_LIMIT = re.compile(r"Stack|Printf|Malloc|DevRuntime|STACK|PRINTF|MALLOC|DEV_RUNTIME|FetchGranularity|FETCH")
BARRIER = re.compile(r"[\w:]*(barrier|pipeline_shared_state|TempStorage)")
THRUST = {
    "inclusive_scan", "exclusive_scan", "sort", "stable_sort", "sort_by_key", "reduce", "reduce_by_key", "transform",
    "transform_reduce", "copy", "unique", "inner_product", "max_element", "min_element", "inclusive_scan_by_key",
}  # fmt: skip
HALF = re.compile(
    r"^(const\s+)?(__half2?|half2?|at::Half|c10::Half|__nv_bfloat162?|__nv_bfloat16|nv_bfloat16|_Float16)$"
)
WAITS = {
    "cudaStreamWaitEvent",
    "cudaStreamSynchronize",
    "cudaDeviceSynchronize",
    "cudaEventSynchronize",
    "hipStreamSynchronize",
}
STREAMS = {
    "cudaStreamCreate",
    "cudaStreamCreateWithFlags",
    "cudaStreamCreateWithPriority",
    "hipStreamCreate",
    "getStreamFromPool",
}
LAUNCHERS = {
    "cudaLaunchKernel",
    "cudaLaunchKernelEx",
    "cudaLaunchKernelExC",
    "cudaLaunchCooperativeKernel",
    "cuLaunchKernel",
}

# Conversions to a narrower type, by name: what they round to.
ROUNDINGS = {
    **dict.fromkeys(("__float2half", "__float2half_rn", "__float2half_rz", "__floats2half2_rn", "__float22half2_rn",
                     "__float2half2_rn", "half", "__half"), "float16"),
    **dict.fromkeys(("__float2bfloat16", "__float2bfloat16_rn", "__floats2bfloat162_rn", "__float22bfloat162_rn",
                     "__nv_bfloat16", "nv_bfloat16"), "bfloat16"),
    **dict.fromkeys(("__nv_fp8_e4m3", "__nv_fp8_e5m2", "__nv_cvt_float_to_fp8", "__nv_cvt_float2_to_fp8x2"), "float8"),
    **dict.fromkeys(("__float_to_tf32", "wmma::__float_to_tf32", "nvcuda::wmma::__float_to_tf32"), "tf32"),
}  # fmt: skip
# What is lost by rounding is kept in a second part, so that both together are as exact as before.
KEEPS_THE_REST = re.compile(r"-\s*(__half2float|__bfloat162float|__low2float|float)\s*\(")
