"""What the names of libraries mean: which calls do main work, allocate, view, read data, patch, spawn or hide."""

from __future__ import annotations

# The family of a library operation by the last part of its name; a task that forbids one name forbids its family.
FAMILIES = {
    **dict.fromkeys(
        [
            "matmul",
            "mm",
            "bmm",
            "addmm",
            "baddbmm",
            "addbmm",
            "mv",
            "addmv",
            "dot",
            "einsum",
            "tensordot",
            "linear",
            "_int_mm",
            "_scaled_mm",
            "scaled_mm",
            "inner",
            "vdot",
            "matmul_out",
            "mm_out",
            "addmm_out",
            "bmm_out",
            "linear_out",
            "dot_general",
            "chain_matmul",
            "multi_dot",
            "__matmul__",
            "__rmatmul__",
            "Linear",
            "Bilinear",
            "bilinear",
            "_grouped_mm",
        ],
        "matmul",
    ),
    **dict.fromkeys(
        [
            "softmax",
            "log_softmax",
            "_softmax",
            "_log_softmax",
            "Softmax",
            "LogSoftmax",
            "softmin",
            "logsumexp",
            "_safe_softmax",
        ],
        "softmax",
    ),
    **dict.fromkeys(
        [
            "layer_norm",
            "native_layer_norm",
            "LayerNorm",
            "rms_norm",
            "RMSNorm",
            "group_norm",
            "GroupNorm",
            "batch_norm",
            "BatchNorm1d",
            "BatchNorm2d",
            "native_batch_norm",
            "instance_norm",
            "native_layer_norm_backward",
            "native_group_norm",
            "_fused_rms_norm",
        ],
        "norm",
    ),
    **dict.fromkeys(
        [
            "scaled_dot_product_attention",
            "multi_head_attention_forward",
            "MultiheadAttention",
            "dot_product_attention",
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_efficient_attention",
            "_flash_attention_forward",
            "flex_attention",
        ],
        "attention",
    ),
    **dict.fromkeys(["sort", "topk", "argsort", "kthvalue", "msort", "top_k", "unique", "lexsort"], "sort"),
    **dict.fromkeys(
        ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "associative_scan", "cumulative_sum"], "scan"
    ),
    **dict.fromkeys(["histc", "bincount", "histogram", "histogramdd"], "histogram"),
    **dict.fromkeys(
        [
            "conv1d",
            "conv2d",
            "conv3d",
            "conv_transpose2d",
            "convolution",
            "Conv1d",
            "Conv2d",
            "Conv3d",
            "conv_general_dilated",
            "_convolution",
        ],
        "convolution",
    ),
    **dict.fromkeys(["fft", "rfft", "ifft", "irfft", "fft2", "ifft2", "fftn"], "fft"),
    **dict.fromkeys(
        [
            "cross_entropy",
            "nll_loss",
            "CrossEntropyLoss",
            "softmax_cross_entropy_with_integer_labels",
            "cross_entropy_loss",
        ],
        "loss",
    ),
    **dict.fromkeys(["gelu", "GELU", "silu", "SiLU", "mish"], "activation"),
    **dict.fromkeys(["grad", "backward"], "autograd"),
    **dict.fromkeys(["index_add", "scatter_add", "scatter_reduce", "segment_sum"], "scatter"),
    **dict.fromkeys(["max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "MaxPool2d", "AvgPool2d"], "pooling"),
}
LIBRARIES = ("torch.", "jax.", "numpy.", "tensor.", "cupy.", "scipy.", "optax.", "flax.", "tensorflow.", "@")
# Packages whose purpose is to be called instead of writing the kernel.
KERNEL_PACKAGES = (
    "flash_attn", "flash_attn_interface", "xformers", "apex", "vllm", "sglang", "sgl_kernel", "flashinfer",
    "liger_kernel", "transformer_engine", "deep_gemm", "bitsandbytes", "fla", "mamba_ssm", "causal_conv1d", "cuml",
    "tensorrt", "onnxruntime", "triton_kernels", "kernels", "unsloth", "cudnn", "nvmath", "torchao", "optax",
)  # fmt: skip
COMPILERS = {
    "torch.compile", "torch.jit.script", "torch.jit.trace", "torch._inductor.compile", "torch._dynamo.optimize",
    "torch._inductor.compile_fx.compile_fx", "torch.export.export", "torch.fx.experimental.proxy_tensor.make_fx",
    "torch._inductor.aoti_compile_and_package", "torch_tensorrt.compile", "jax.jit", "jax.pmap", "jax.make_jaxpr",
}  # fmt: skip
LIBRARY_SORTS = {
    "triton.language.sort": "sort", "triton.language.topk": "sort", "triton.language.standard.sort": "sort",
    "triton.language.argsort": "sort", "triton.language.standard.topk": "sort", "triton.language.softmax": "softmax",
    "triton.language.standard.softmax": "softmax", "triton.language.histogram": "histogram",
    "triton.language.cumsum": "scan", "triton.language.associative_scan": "scan",
    "neuronxcc.nki.language.rms_norm": "norm", "neuronxcc.nki.language.softmax": "softmax",
}  # fmt: skip
ALLOCATE_EMPTY = {"empty", "empty_like", "new_empty", "empty_strided", "empty_permuted", "ndarray", "new_empty_strided"}
ALLOCATE_CONSTANT = {
    "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "new_zeros", "new_ones", "new_full",
    "scalar_tensor",
}  # fmt: skip
VIEWS = {
    "view", "reshape", "t", "transpose", "permute", "contiguous", "squeeze", "unsqueeze", "expand", "flatten", "detach",
    "T", "mT", "data", "view_as", "narrow", "as_strided", "ravel", "cuda", "unflatten", "expand_as", "movedim",
    "requires_grad_", "swapaxes", "H", "real", "select", "alias", "block_until_ready",
}  # fmt: skip
SHAPES = {"shape", "size", "numel", "stride", "ndim", "dim", "nelement", "element_size", "is_contiguous", "nbytes",
          "storage_offset", "itemsize", "__len__"}  # fmt: skip
KINDS = {"dtype": "dtype", "device": "device", "is_cuda": "device", "layout": "dtype", "requires_grad": "dtype",
         "type": "dtype", "is_floating_point": "dtype", "is_cpu": "device", "get_device": "device"}  # fmt: skip
LAYER_SIZES = {"in_features", "out_features", "in_channels", "out_channels", "num_features", "normalized_shape"}
# Methods of a layer that do its work.
FORWARDS = {"forward", "__call__", "_call_impl", "_conv_forward", "_slow_forward", "_wrapped_call_impl"}
POINTERS = {"data_ptr": "pointer", "_version": "version", "untyped_storage": "pointer", "storage": "pointer",
            "__array_interface__": "pointer", "unsafe_buffer_pointer": "pointer", "_cdata": "pointer",
            "__cuda_array_interface__": "pointer"}  # fmt: skip
# A host value read from a tensor's contents.
READS = {"item", "tolist", "numpy", "tobytes", "__float__", "__int__", "__bool__"}
DATA_TESTS = {"equal", "allclose", "isclose", "any", "all", "array_equal", "is_nonzero", "count_nonzero"}
ARITHMETIC_INPLACE = {
    "add_", "mul_", "sub_", "div_", "zero_", "fill_", "copy_", "clamp_", "normal_", "uniform_", "neg_", "exp_",
    "masked_fill_", "index_fill_", "addcmul_", "addmm_", "relu_", "sigmoid_", "tanh_", "scatter_", "index_copy_",
    "index_put_", "set_", "resize_", "random_", "abs_", "sqrt_", "pow_", "round_", "index_add_", "nan_to_num_",
}  # fmt: skip
TIMERS = (
    "torch.cuda.Event", "torch.cuda.synchronize", "torch.Event", "time.", "triton.testing", "timeit.",
    "torch.utils.benchmark", "torch.cuda.current_stream", "torch.cuda.default_stream", "torch.cuda.stream",
    "torch.cuda.streams", "torch.cuda.Stream", "datetime.", "torch.accelerator.synchronize", "jax.block_until_ready",
)  # fmt: skip
VALIDATORS = (
    "allclose", "isclose", "assert_close", "assert_allclose", "isnan", "isinf", "isfinite", "equal", "array_equal",
    "assert_array_equal", "assert_equal", "assert_array_almost_equal", "max_abs_diff", "eq", "ne", "assertEqual",
)  # fmt: skip
GLOBAL_STATE = {
    "torch.set_default_dtype", "torch.set_default_device", "torch.set_default_tensor_type", "torch.manual_seed",
    "torch.cuda.manual_seed", "torch.cuda.manual_seed_all", "torch.seed", "torch.set_float32_matmul_precision",
    "torch.use_deterministic_algorithms", "torch.set_num_threads", "torch.set_grad_enabled", "numpy.random.seed",
    "random.seed", "torch.set_rng_state", "torch.cuda.set_rng_state", "jax.config.update", "numpy.seterr",
    "torch.set_printoptions", "torch.backends.cuda.enable_flash_sdp", "torch.backends.cuda.enable_math_sdp",
    "torch.set_flush_denormal", "torch.cuda.set_per_process_memory_fraction", "torch.random.set_rng_state",
    "torch.cuda.memory.change_current_allocator", "torch.backends.cuda.preferred_linalg_library",
    "torch._C._set_cublas_allow_tf32", "torch._C._set_math_sdp_enabled", "torch.cuda.set_sync_debug_mode",
}  # fmt: skip
QUIET_STATE = {"torch.set_printoptions", "jax.config.update", "torch.set_grad_enabled"}
STATE_ATTRIBUTES = (
    "torch.backends.",
    "jax.config.",
    "torch._dynamo.config.",
    "torch._inductor.config.",
    "torch.default",
)
# Variables of the environment that change what every library of the process computes, or how fast.
STATE_VARIABLES = ("NVIDIA_TF32", "TORCH_ALLOW_TF32", "CUDA_LAUNCH_BLOCKING", "CUBLAS_", "CUDNN_", "OMP_NUM_THREADS",
                   "MKL_", "TORCH_CUDNN_", "TORCH_BLAS_", "DISABLE_ADDMM", "XLA_FLAGS", "JAX_DEFAULT",
                   "CUDA_DEVICE_MAX_CONNECTIONS", "TORCHINDUCTOR_")  # fmt: skip
SPAWNING = {"run_in_executor", "apply_async", "map_async", "starmap_async", "call_soon_threadsafe",
            "run_coroutine_threadsafe", "create_task", "submit"}  # fmt: skip
SPAWNERS = {
    "threading.Thread", "threading.Timer", "multiprocessing.Process", "multiprocessing.Pool", "os.fork",
    "_thread.start_new_thread",
    "concurrent.futures.ThreadPoolExecutor", "concurrent.futures.ProcessPoolExecutor", "torch.multiprocessing.spawn",
    "torch.multiprocessing.Process", "asyncio.create_task", "asyncio.ensure_future", "multiprocessing.pool.ThreadPool",
    "os.posix_spawn", "asyncio.run", "multiprocessing.dummy.Pool", "torch.multiprocessing.Pool",
    "asyncio.get_event_loop", "asyncio.new_event_loop", "asyncio.run_coroutine_threadsafe", "asyncio.to_thread",
}  # fmt: skip
WAITS = {"wait_stream", "wait_event", "synchronize", "join", "result", "record_stream", "block_until_ready", "wait"}
DECODERS = {
    "base64.b64decode", "base64.b85decode", "base64.a85decode", "base64.b32decode", "base64.b16decode",
    "zlib.decompress",
    "base64.decodebytes", "base64.urlsafe_b64decode", "binascii.unhexlify", "binascii.a2b_base64", "marshal.loads",
    "codecs.decode", "bytes.fromhex", "lzma.decompress", "bz2.decompress", "gzip.decompress", "pickle.loads",
    "base64.standard_b64decode", "builtins.bytes.fromhex", "binascii.a2b_hex", "dill.loads", "cloudpickle.loads",
}  # fmt: skip
EXECUTORS = {"builtins.exec", "builtins.eval", "builtins.compile", "code.InteractiveInterpreter.runsource",
             "types.FunctionType", "types.CodeType", "runpy.run_path"}  # fmt: skip
NETWORK = ("socket.", "urllib.", "requests.", "http.client", "httpx.", "aiohttp.", "ftplib.", "huggingface_hub.",
           "torch.hub.", "paramiko.", "wget.", "pip.")  # fmt: skip
COMMANDS = {"os.system", "os.popen", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.Popen",
            "subprocess.check_output", "subprocess.getoutput", "os.execv", "os.execvp", "os.spawnv",
            "pty.spawn"}  # fmt: skip
CALLERS = {
    "sys._getframe", "inspect.stack", "inspect.currentframe", "traceback.extract_stack", "traceback.format_stack",
    "inspect.getouterframes", "sys.argv", "sys.modules", "inspect.trace", "traceback.print_stack",
    "sys._current_frames",
    "inspect.getframeinfo", "sys.orig_argv", "psutil.Process", "os.getppid", "traceback.walk_stack", "sys.gettrace",
    "sys.getprofile", "threading.current_thread", "multiprocessing.current_process",
}  # fmt: skip
FRAME_ATTRIBUTES = {
    "f_globals",
    "f_locals",
    "f_back",
    "f_code",
    "tb_frame",
    "__code__",
    "f_builtins",
    "gi_frame",
    "f_trace",
}
WATCHERS = {
    "sys.settrace", "sys.setprofile", "threading.settrace", "threading.setprofile", "sys.addaudithook",
    "sys.meta_path.insert", "sys.meta_path.append", "sys.path_hooks.insert", "sys.monitoring.register_callback",
    "torch.overrides.enable_reentrant_dispatch", "atexit._run_exitfuncs",
}  # fmt: skip
FRAMES = {"f_globals", "f_locals", "f_back", "tb_frame", "f_builtins", "gi_frame", "ag_frame", "cr_frame"}
LOADERS = {
    "torch.load", "numpy.load", "pickle.load", "joblib.load", "numpy.fromfile", "numpy.memmap", "numpy.loadtxt",
    "safetensors.torch.load_file", "safetensors.safe_open", "torch.from_file", "shelve.open", "h5py.File",
    "jax.numpy.load", "numpy.genfromtxt", "torch.jit.load", "mmap.mmap", "dill.load", "torch.UntypedStorage.from_file",
    "json.load", "yaml.safe_load",
}  # fmt: skip
EXITS = {"os._exit", "sys.exit", "os.abort", "os.kill", "builtins.exit", "builtins.quit", "atexit.register",
         "builtins.SystemExit", "signal.raise_signal", "os.killpg", "signal.signal"}  # fmt: skip
# Calls that count as made where their name is handed to something else, to be called later.
HANDED = {"os._exit", "os.abort", "os.kill", "sys.exit", "gc.get_objects", "gc.get_referrers", "sys._getframe"}
FORGERS = {"os.dup2", "os.write", "os.dup", "os.writev", "sys.stdout", "sys.stderr", "sys.__stdout__", "os.fdopen",
           "os.pwrite"}  # fmt: skip
RANDOM = {"randn", "rand", "randint", "randn_like", "rand_like", "normal", "uniform", "randperm", "randint_like",
          "default_rng", "bernoulli"}  # fmt: skip
BUILDERS = {
    "torch.utils.cpp_extension.load_inline", "torch.utils.cpp_extension.load", "cupy.RawKernel", "cupy.RawModule",
    "pycuda.compiler.SourceModule", "torch.cuda._compile_kernel", "cupy.ElementwiseKernel", "torch.cuda.jiterator",
    "cuda.bindings.nvrtc.nvrtcCreateProgram", "cupy.ReductionKernel",
}  # fmt: skip
JITS = {"triton.jit", "triton.runtime.jit", "triton.runtime.jit.jit", "numba.cuda.jit", "cutlass.cute.kernel",
        "tilelang.jit", "helion.kernel", "triton.experimental.gluon.jit", "warp.kernel"}  # fmt: skip
NKI_JITS = {"neuronxcc.nki.jit", "nki.jit", "neuronxcc.nki.baremetal", "neuronxcc.nki.benchmark", "neuronxcc.nki.trace"}
PALLAS_CALLS = {
    "jax.experimental.pallas.pallas_call",
    "jax.experimental.pallas.core_map",
    "jax.experimental.pallas.kernel",
    "jax.experimental.pallas.mosaic_gpu.kernel",
}
# What hands back the function that it is given, with the same work behind it.
TRANSFORMS = {
    "jax.vmap", "jax.custom_vjp", "jax.custom_jvp", "jax.checkpoint", "jax.remat", "jax.named_call",
    "jax.shard_map", "jax.experimental.shard_map.shard_map", "jax._src.shard_map.shard_map",
    "jax.custom_batching.custom_vmap", "jax.custom_batching.sequential_vmap",
}  # fmt: skip
LOW_PRECISION = {
    "half": "float16", "bfloat16": "bfloat16", "float16": "float16", "float8_e4m3fn": "float8", "float8_e5m2": "float8",
    "float8e4nv": "float8", "float8e5": "float8", "float8_e4m3fnuz": "float8",
}  # fmt: skip

QUANTISED = {"int8", "uint8", "int4", "char"}
CASTS = {"to", "float", "double", "type", "astype", "int", *LOW_PRECISION}


def family(name: str) -> str | None:
    """The family of main work that the library call `name` (`torch.nn.functional.linear`, `@`) belongs to, or None."""
    if name == "@":
        return "matmul"
    if not name.startswith(LIBRARIES):
        return None
    last = name.rpartition(".")[2]
    parts = name.split(".")
    if parts[:3] == ["torch", "ops", "aten"] and len(parts) > 4:
        last = parts[3]
    found = FAMILIES.get(last)
    if found == "autograd" and not name.startswith(("torch.autograd", "jax.", "tensor.")):
        return None
    if name.startswith("numpy.") and found in ("histogram", "sort"):
        return None
    return found


def forbidden_families(names: list[str]) -> set[str]:
    """The families that the names of a task's `forbidden` list stand for."""
    found = {LIBRARY_SORTS.get(name) or family(name) for name in names}
    return {each for each in found if each}
