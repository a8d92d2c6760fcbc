"""What torch, its extensions, Triton, JAX and Pallas raise on a machine without a GPU."""

from __future__ import annotations

from tests.harness.failure_logs.making import Recipe

_TORCH = [
    ("sizes", "shape", "The size of tensor a", "torch.ones(3) + torch.ones(4)"),
    ("matmul-shapes", "shape", "mat1 and mat2 shapes", "torch.ones(2, 3) @ torch.ones(2, 3)"),
    ("view-strides", "shape", "view size is not compatible", "torch.ones(2, 3).t().view(6)"),
    ("view-size", "shape", "is invalid for input of size", "torch.ones(6).view(4)"),
    ("matmul-dtypes", "shape", "to have the same dtype", "torch.ones(2, 3) @ torch.ones(3, 2).half()"),
    ("index", "shape", "is out of bounds for dimension", "torch.ones(3)[5]"),
    ("cat", "shape", "Sizes of tensors must match", "torch.cat([torch.ones(2, 3), torch.ones(3, 4)])"),
    ("stack", "shape", "stack expects each tensor", "torch.stack([torch.ones(2), torch.ones(3)])"),
    ("expand", "shape", "The expanded size of the tensor", "torch.ones(3).expand(4)"),
    ("dimension", "shape", "Dimension out of range", "torch.ones(3).sum(2)"),
    (
        "missing-key",
        "shape",
        "Missing key(s)",
        "torch.nn.Linear(2, 2).load_state_dict({'weight': torch.ones(3, 2)})",
    ),
    (
        "size-mismatch",
        "shape",
        "size mismatch for",
        "torch.nn.Linear(2, 2).load_state_dict({'weight': torch.ones(3, 2), 'bias': torch.ones(2)})",
    ),
    (
        "groups",
        "shape",
        "Given groups=1",
        "torch.nn.functional.conv1d(torch.ones(1, 2, 5), torch.ones(1, 3, 3))",
    ),
    ("close", "accuracy", "Tensor-likes are not close!", "torch.testing.assert_close(torch.ones(3), torch.zeros(3))"),
    (
        "equal",
        "accuracy",
        "Tensor-likes are not equal!",
        "torch.testing.assert_close(torch.ones(3, dtype=torch.int), torch.zeros(3, dtype=torch.int))",
    ),
    (
        "shape",
        "shape",
        "The values for attribute 'shape'",
        "torch.testing.assert_close(torch.ones(3), torch.ones(4))",
    ),
    (
        "dtype",
        "shape",
        "The values for attribute 'dtype'",
        "torch.testing.assert_close(torch.ones(3), torch.ones(3).double())",
    ),
    (
        "stride",
        "shape",
        "The values for attribute 'stride()'",
        "torch.testing.assert_close(torch.ones(2, 3), torch.ones(3, 2).t(), check_stride=True)",
    ),
    ("memory", "memory", "can't allocate memory", "torch.empty(1 << 46)"),
    ("devices", "shape", "is not on the expected device", "torch.ones(3, device='meta') + torch.ones(3)"),
    ("no-cuda", "environment", "", "torch.ones(3, device='cuda')"),
    ("no-such-submodule", "compile", "No module named 'torch.", "import torch.nothing_here"),
]
_EXTENSION = "import torch\nfrom torch.utils import cpp_extension\n"
_NOWHERE = (("PATH", "/nowhere"), ("CUDA_HOME", ""), ("CUDA_PATH", ""))
_EXTENSIONS = [
    (
        "build",
        "compile",
        "error: expected",
        ("torch", "ninja", "g++"),
        'cpp_extension.load_inline("broken", "int f() { return 1 }", functions=["f"], build_directory=".")',
        (),
    ),
    (
        "ninja",
        "environment",
        "Ninja is required to load C++ extensions",
        ("torch",),
        "cpp_extension.verify_ninja_availability()",
        _NOWHERE,
    ),
    (
        "cuda-home",
        "environment",
        "CUDA_HOME environment variable is not set",
        ("torch",),
        "cpp_extension.CUDA_HOME = None\ncpp_extension._join_cuda_home('bin', 'nvcc')",
        _NOWHERE,
    ),
    (
        "architecture",
        "compile",
        "Unknown CUDA arch (",
        ("torch",),
        "cpp_extension._get_cuda_arch_flags()",
        (("TORCH_CUDA_ARCH_LIST", "9.9z"),),
    ),
    (
        "no-architecture",
        "environment",
        "IndexError: list index out of range",
        ("torch",),
        "cpp_extension._get_cuda_arch_flags()",
        (("TORCH_CUDA_ARCH_LIST", ""),),
    ),
]
_JAX_HEAD = """\
import jax
import jax.export
import jax.numpy as jnp
from jax.experimental import pallas as pl
constant = jnp.arange(8.0)
def copy(x, o): o[...] = x[...]
def call(f, **k): return pl.pallas_call(f, out_shape=jax.ShapeDtypeStruct((8,), jnp.float32), **k)
def on(platform, f, shape, block, dtype=jnp.float32, **how):
    spec = pl.BlockSpec(block, lambda: tuple(0 for _ in block))
    made = pl.pallas_call(f, out_shape=jax.ShapeDtypeStruct(shape, dtype), in_specs=[spec], out_specs=spec, **how)
    jax.export.export(jax.jit(made), platforms=[platform])(jax.ShapeDtypeStruct(shape, dtype))
"""
_JAX = [
    ("broadcast", "incompatible shapes for broadcasting", "jnp.ones(3) + jnp.ones(4)"),
    ("traced-bool", "TracerBoolConversionError", "jax.jit(lambda x: 1 if x > 0 else 2)(1.0)"),
    ("traced-shape", "Shapes must be 1D", "jax.jit(lambda n: jnp.ones(n))(3)"),
    ("static", "Non-hashable static arguments", "jax.jit(lambda x, n: x, static_argnums=1)(1.0, [2])"),
    (
        "contraction",
        "dot_general requires contracting dimensions",
        "jax.lax.dot_general(jnp.ones((2, 3)), jnp.ones((2, 3)), (((1,), (0,)), ((), ())))",
    ),
]
_PALLAS = [
    ("returns", "should return None", "call(lambda x, o: 3, interpret=True)(jnp.ones(8))"),
    ("shape", "Invalid shape", "call(lambda x, o: o.__setitem__(..., jnp.ones(9)), interpret=True)(jnp.ones(8))"),
    (
        "dtype",
        "Invalid dtype",
        "call(lambda x, o: o.__setitem__(..., jnp.ones(8, jnp.int32)), interpret=True)(jnp.ones(8))",
    ),
    (
        "constants",
        "captures constants",
        "call(lambda x, o: o.__setitem__(..., x[...] + constant), interpret=True)(jnp.ones(8))",
    ),
    (
        "in-specs",
        "Pytree for `in_specs`",
        "call(copy, in_specs=[pl.BlockSpec((8,), lambda: 0)] * 2, interpret=True)(jnp.ones(8))",
    ),
    (
        "block-rank",
        "must have the same number of dimensions as the",
        "call(copy, in_specs=[pl.BlockSpec((4, 2), lambda: (0, 0))], interpret=True)(jnp.ones(8))",
    ),
    (
        "index-map",
        "must return",
        "call(copy, in_specs=[pl.BlockSpec((8,), lambda: (0, 0))], interpret=True)(jnp.ones(8))",
    ),
    (
        "slice",
        "Out of bound slice:",
        "call(lambda x, o: o.__setitem__(slice(0, 4), x[pl.ds(6, 4)]), interpret=True)(jnp.ones(8))",
    ),
    ("tpu-block", "last two dimensions of your block shape are divisible", "on('tpu', copy, (64, 100), (8, 50))"),
    (
        "tpu-scalar",
        "Cannot store scalars to VMEM",
        "on('tpu', lambda x, o: o.__setitem__((0, 0), 1.0), (8, 128), (8, 128))",
    ),
    (
        "tpu-primitive",
        "Unimplemented primitive in Pallas TPU lowering",
        "on('tpu', lambda x, o: o.__setitem__(..., jnp.linalg.cholesky(x[...])), (8, 8), (8, 8))",
    ),
    (
        "gpu-power",
        "The Pallas Triton lowering currently requires that all",
        "from jax.experimental.pallas import triton as plt\n"
        "on('cuda', copy, (24,), (24,), compiler_params=plt.CompilerParams())",
    ),
    (
        "gpu-primitive",
        "Unimplemented primitive in Pallas Triton lowering",
        "from jax.experimental.pallas import triton as plt\n"
        "on('cuda', lambda x, o: o.__setitem__(..., jnp.linalg.cholesky(x[...])), (8, 8), (8, 8),"
        " compiler_params=plt.CompilerParams())",
    ),
]
_TPU_ENVIRONMENT = (
    ("TPU_SKIP_MDS_QUERY", "1"),
    ("TPU_ACCELERATOR_TYPE", "v5litepod-1"),
    ("TPU_WORKER_HOSTNAMES", "localhost"),
)
_TPU = """\
from jax.experimental import topologies
from jax.experimental.pallas import tpu as pltpu
chip = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2x1").devices[0]
def room(x, o, scratch):
    scratch[...] = jnp.zeros_like(scratch)
    o[...] = x[...]
shape = jax.ShapeDtypeStruct((8, 128), jnp.float32, sharding=jax.sharding.SingleDeviceSharding(chip))
made = pl.pallas_call(room, out_shape=shape, scratch_shapes=[pltpu.VMEM((65536, 1024), jnp.float32)])
jax.jit(made).trace(shape).lower().compile()
"""
_TRITON_HEAD = "import triton\nimport triton.language as tl\n"
_COMPILED = """\
@triton.jit
def k(x):
    {body}

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
triton.compile(ASTSource(k, {{"x": "*fp32"}}), target=GPUTarget("cuda", {arch}, 32))
"""
_TRITON = [
    ("power-of-2", "arange's range must be a power of 2", "y = tl.arange(0, 100)"),
    ("undefined", "is not defined", "y = undefined_name + 1"),
    ("numel", "exceeds triton maximum tensor numel", "y = tl.zeros((2048, 1024), tl.float32)"),
    ("shapes", "Cannot make_shape_compatible", "y = tl.zeros((16, 8), tl.float32) + tl.zeros((8, 8), tl.float32)"),
    ("comprehension", "CompilationError: at", "y = [i for i in range(3) if i]"),
    ("constexpr", "arange's arguments must be of type tl.constexpr", "y = tl.arange(0, tl.program_id(0))"),
    (
        "dot-dtypes",
        "Both operands must be same dtype",
        "y = tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float32))",
    ),
    (
        "dot-shapes",
        "Input shapes should have M >=",
        "y = tl.dot(tl.zeros((16, 2), tl.float16), tl.zeros((2, 16), tl.float16))",
    ),
    ("index", "unsupported tensor index", "y = tl.zeros((16,), tl.float32)[3]"),
    ("static-assertion", "CompileTimeAssertionFailure", "tl.static_assert(1 == 2)"),
    ("syntax", "unsupported AST node type", "y = {'a': 1 for a in (1, 2)}"),
    ("attribute", "CompilationError: at", "y = print.__name__"),
    ("setitem", "__setitem__ is not supported in triton", "y = tl.zeros((16,), tl.float32)\n    y[0] = 1.0"),
    (
        "loop-carried",
        "Loop-carried variable",
        "y = tl.zeros((16,), tl.float32)\n    for i in range(tl.program_id(0)):\n"
        "        y = tl.zeros((32,), tl.float32)",
    ),
    ("fp8", "not supported in this architecture", "y = tl.load(x).to(tl.float8e4b8)"),
    ("boolean", "Boolean value of Tensor", "y = tl.arange(0, 16)\n    if y > 3:\n        tl.store(x, 1.0)"),
    ("function", "Unsupported function referenced:", "y = ASTSource.hash(x)"),
    (
        "ptxas",
        "Not a name of any known instruction",
        'y = tl.inline_asm_elementwise("nosuch.b32 $0, $1;", "=r,r", [tl.arange(0, 128)], tl.int32, True, 1)\n'
        "    tl.store(x + tl.arange(0, 128), y)",
    ),
]
_TUNED = """\
@triton.autotune([{configs}], key=[], {how})
@triton.jit
def k(x, B: tl.constexpr):
    tl.store(x, 1.0)

k[(1,)]({arguments})
"""
_ONE, _TWO = 'triton.Config({"B": 16})', 'triton.Config({"B": 32})'
_HOST = [
    ("no-driver", "environment", "0 active drivers", "triton.runtime.driver.active.get_current_device()", ()),
    (
        "conflict",
        "compile",
        "Conflicting meta-parameters:",
        _TUNED.format(configs=f"{_ONE}, {_TWO}", how="do_bench=print", arguments="1, B=16"),
        (),
    ),
    (
        "pruned",
        "compile",
        "No valid autotuner configs after pruning.",
        _TUNED.format(
            configs=f"{_ONE}, {_TWO}",
            how='do_bench=print, prune_configs_by={"early_config_prune": lambda *a, **k: []}',
            arguments="1",
        ),
        (),
    ),
    (
        "top-k",
        "compile",
        "top_k must be either 1)",
        _TUNED.format(
            configs=f"{_ONE}, {_TWO}",
            how='do_bench=print, prune_configs_by={"perf_model": lambda **k: 1.0, "top_k": "all"}',
            arguments="1",
        ),
        (),
    ),
    (
        "interpreter",
        "shape",
        "InterpreterError:",
        "import torch\n@triton.jit\ndef k(x):\n    tl.load(3)\nk[(1,)](torch.ones(4))\n",
        (("TRITON_INTERPRET", "1"),),
    ),
    (
        "interpreter-name",
        "compile",
        "is not defined",
        "import torch\n@triton.jit\ndef k(x):\n    tl.store(x, undefined_name)\nk[(1,)](torch.ones(4))\n",
        (("TRITON_INTERPRET", "1"),),
    ),
    (
        "interpreter-assembly",
        "environment",
        "inline_asm not supported in interpreter mode",
        "import torch\n@triton.jit\ndef k(x):\n"
        '    tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tl.arange(0, 4)], tl.int32, True, 1)\n'
        "k[(1,)](torch.ones(4))\n",
        (("TRITON_INTERPRET", "1"),),
    ),
]

FRAMEWORKS = [
    *(
        Recipe(f"torch-{name}", kind, words, ("torch",), f"import torch\n{code}\n")
        for name, kind, words, code in _TORCH
    ),
    *(
        Recipe(f"extension-{name}", kind, words, tools, f"{_EXTENSION}{code}\n", environment=environment)
        for name, kind, words, tools, code, environment in _EXTENSIONS
    ),
    *(Recipe(f"jax-{name}", "compile", words, ("jax",), f"{_JAX_HEAD}{code}\n") for name, words, code in _JAX),
    Recipe("pallas-interpret", "environment", "Only interpret mode", ("jax",), f"{_JAX_HEAD}call(copy)(jnp.ones(8))\n"),
    Recipe(
        "pallas-tpu-memory",
        "memory",
        "would exceed memory",
        ("jax", "libtpu"),
        _JAX_HEAD + _TPU,
        environment=_TPU_ENVIRONMENT,
    ),
    *(Recipe(f"pallas-{name}", "compile", words, ("jax",), f"{_JAX_HEAD}{code}\n") for name, words, code in _PALLAS),
    *(
        Recipe(
            f"triton-{name}",
            "compile",
            words,
            ("triton",),
            _TRITON_HEAD + _COMPILED.format(body=body, arch=75 if name == "fp8" else 80),
        )
        for name, words, body in _TRITON
    ),
    *(
        Recipe(f"triton-{name}", kind, words, ("triton",), f"{_TRITON_HEAD}{code}\n", environment=environment)
        for name, kind, words, code, environment in _HOST
    ),
]
