"""Signatures against what the tools print today: each script makes real errors, one log for each."""

import shutil
import subprocess
import sys

import pytest

from kgrade.harness.failures import classify

SEPARATOR = "=====next====="
HEAD = f"""
import sys, traceback
def attempt(function):
    try:
        function()
    except Exception:
        traceback.print_exc(file=sys.stdout)
    print({SEPARATOR!r})
"""

TORCH = [
    ("torch.ones(3) + torch.ones(4)", "shape", "The size of tensor a"),
    ("torch.ones(2, 3) @ torch.ones(2, 3)", "shape", "mat1 and mat2 shapes"),
    ("torch.ones(2, 3).t().view(6)", "shape", "view size is not compatible"),
    ("torch.ones(6).view(4)", "shape", "is invalid for input of size"),
    ("torch.ones(2, 3) @ torch.ones(3, 2).half()", "shape", "to have the same dtype"),
    ("torch.ones(3)[5]", "shape", "is out of bounds for dimension"),
    ("torch.cat([torch.ones(2, 3), torch.ones(3, 4)])", "shape", "Sizes of tensors must match"),
    ("torch.stack([torch.ones(2), torch.ones(3)])", "shape", "stack expects each tensor"),
    ("torch.ones(3).expand(4)", "shape", "The expanded size of the tensor"),
    ("torch.ones(3).sum(2)", "shape", "Dimension out of range"),
    ("torch.nn.Linear(2, 2).load_state_dict({'weight': torch.ones(3, 2)})", "shape", "Missing key(s)"),
    ("torch.nn.functional.conv1d(torch.ones(1, 2, 5), torch.ones(1, 3, 3))", "shape", "Given groups=1"),
    ("torch.testing.assert_close(torch.ones(3), torch.zeros(3))", "accuracy", "Tensor-likes are not close!"),
    ("torch.testing.assert_close(torch.ones(3), torch.ones(4))", "shape", "The values for attribute 'shape'"),
    ("torch.empty(1 << 46)", "memory", "can't allocate memory"),
    ("torch.testing.assert_close(torch.ones(3), torch.ones(3).double())", "shape", "The values for attribute 'dtype'"),
    (
        "torch.testing.assert_close(torch.ones(2, 3), torch.ones(3, 2).t(), check_stride=True)",
        "shape",
        "The values for attribute 'stride()'",
    ),
    (
        "torch.nn.Linear(2, 2).load_state_dict({'weight': torch.ones(3, 2), 'bias': torch.ones(2)})",
        "shape",
        "size mismatch for",
    ),
]
JAX = [
    ("jnp.ones(3) + jnp.ones(4)", "compile", "incompatible shapes for broadcasting"),
    ("jax.jit(lambda x: 1 if x > 0 else 2)(1.0)", "compile", "TracerBoolConversionError"),
    ("jax.jit(lambda n: jnp.ones(n))(3)", "compile", "Shapes must be 1D"),
    ("jax.jit(lambda x, n: x, static_argnums=1)(1.0, [2])", "compile", "Non-hashable static arguments"),
    ("call(copy)(jnp.ones(8))", "environment", "Only interpret mode is supported"),
    ("call(lambda x, o: 3, interpret=True)(jnp.ones(8))", "compile", "should return None"),
    ("call(lambda x, o: o.__setitem__(..., jnp.ones(9)), interpret=True)(jnp.ones(8))", "compile", "Invalid shape"),
    (
        "call(lambda x, o: o.__setitem__(..., jnp.ones(8, jnp.int32)), interpret=True)(jnp.ones(8))",
        "compile",
        "Invalid dtype",
    ),
    (
        "call(lambda x, o: o.__setitem__(..., x[...] + constant), interpret=True)(jnp.ones(8))",
        "compile",
        "captures constants",
    ),
    (
        "call(copy, in_specs=[pl.BlockSpec((8,), lambda: 0)] * 2, interpret=True)(jnp.ones(8))",
        "compile",
        "Pytree for `in_specs`",
    ),
    (
        "call(copy, in_specs=[pl.BlockSpec((4, 2), lambda: (0, 0))], interpret=True)(jnp.ones(8))",
        "compile",
        "must have the same number of dimensions as the",
    ),
    (
        "call(copy, in_specs=[pl.BlockSpec((8,), lambda: (0, 0))], interpret=True)(jnp.ones(8))",
        "compile",
        "must return",
    ),
    (
        "jax.lax.dot_general(jnp.ones((2, 3)), jnp.ones((2, 3)), (((1,), (0,)), ((), ())))",
        "compile",
        "dot_general requires contracting dimensions",
    ),
    ("on_tpu(copy, (64, 100), (8, 50))", "compile", "last two dimensions of your block shape are divisible"),
    ("on_tpu(lambda x, o: o.__setitem__((0, 0), 1.0), (8, 128), (8, 128))", "compile", "Cannot store scalars to VMEM"),
    (
        "on_tpu(lambda x, o: o.__setitem__(..., jnp.linalg.cholesky(x[...])), (8, 8), (8, 8))",
        "compile",
        "Unimplemented primitive in Pallas TPU lowering",
    ),
]
TRITON = [
    ("tl.arange(0, 100)", "arange's range must be a power of 2"),
    ("undefined_name + 1", "is not defined"),
    ("tl.zeros((2048, 1024), tl.float32)", "exceeds triton maximum tensor numel"),
    ("tl.zeros((16, 8), tl.float32) + tl.zeros((8, 8), tl.float32)", "Cannot make_shape_compatible"),
    ("[i for i in range(3) if i]", "CompilationError: at"),
    ("tl.arange(0, tl.program_id(0))", "arange's arguments must be of type tl.constexpr"),
    ("tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float32))", "Both operands must be same dtype"),
    ("tl.dot(tl.zeros((16, 2), tl.float16), tl.zeros((2, 16), tl.float16))", "Input shapes should have M >="),
    ("tl.zeros((16,), tl.float32)[3]", "unsupported tensor index"),
    ("tl.static_assert(1 == 2)", "CompileTimeAssertionFailure"),
    ("{'a': 1 for a in (1, 2)}", "unsupported AST node type"),
    ("print.__name__", "CompilationError: at"),
]  # fmt: skip


def logs_of(script, module):
    pytest.importorskip(module, reason=f"{module} is not installed")
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False)
    assert ended.stdout.count(SEPARATOR) > 0, ended.stderr
    return ended.stdout.split(SEPARATOR)


def assert_classified(log, kind, words):
    failure = classify(log)
    assert failure is not None, log
    assert failure.kind == kind, log
    if words:
        assert words in failure.line


def test_torch():
    script = HEAD + "import torch\n" + "".join(f"attempt(lambda: {code})\n" for code, *_ in TORCH)
    for log, (_, kind, words) in zip(logs_of(script, "torch"), TORCH, strict=False):
        assert_classified(log, kind, words)


def test_torch_without_a_driver():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if torch.cuda.is_available():
        pytest.skip("a GPU is present")
    script = HEAD + "import torch\nattempt(lambda: torch.ones(3, device='cuda'))\n"
    assert_classified(logs_of(script, "torch")[0], "environment", None)


def test_jax():
    script = (
        HEAD
        + "import jax, jax.numpy as jnp\nfrom jax.experimental import pallas as pl\n"
        + "def copy(x, o): o[...] = x[...]\n"
        + "def call(f, **k): return pl.pallas_call(f, out_shape=jax.ShapeDtypeStruct((8,), jnp.float32), **k)\n"
        + "constant = jnp.arange(8.0)\n"
        + "def on_tpu(f, shape, block):\n"
        + "    spec = pl.BlockSpec(block, lambda: (0, 0))\n"
        + "    call = pl.pallas_call(f, out_shape=jax.ShapeDtypeStruct(shape, jnp.float32), in_specs=[spec],"
        + " out_specs=spec)\n"
        + "    jax.export.export(jax.jit(call), platforms=['tpu'])(jax.ShapeDtypeStruct(shape, jnp.float32))\n"
        + "import jax.export\n"
        + "".join(f"attempt(lambda: {code})\n" for code, *_ in JAX)
    )
    for log, (_, kind, words) in zip(logs_of(script, "jax"), JAX, strict=False):
        assert_classified(log, kind, words)


def test_triton(tmp_path):
    kernels = "".join(f"@triton.jit\ndef k{n}(x):\n    y = {code}\n\n" for n, (code, _) in enumerate(TRITON))
    (tmp_path / "kernels.py").write_text("import triton, triton.language as tl\n" + kernels)
    script = (
        HEAD
        + f"sys.path.insert(0, {str(tmp_path)!r})\n"
        + f"import os\nos.environ['TRITON_CACHE_DIR'] = {str(tmp_path / 'cache')!r}\n"
        + "import triton, kernels\nfrom triton.compiler import ASTSource\n"
        + "from triton.backends.compiler import GPUTarget\n"
        + f"for n in range({len(TRITON)}):\n"
        + "    source = ASTSource(getattr(kernels, f'k{n}'), {'x': '*fp32'})\n"
        + "    attempt(lambda: triton.compile(source, target=GPUTarget('cuda', 80, 32)))\n"
    )
    for log, (_, words) in zip(logs_of(script, "triton"), TRITON, strict=False):
        assert_classified(log, "compile", words)


CUDA = [
    ("__global__ void k(){ int x = foo; }", "compile", "identifier"),
    ("__global__ void k(){ int x = 1 }", "compile", "expected a"),
    ("__global__ void k(float *p){ int *q = p; }", "compile", "entity of type"),
    ("void h(){}\n__global__ void k(){ h(); }", "compile", "calling a __host__ function"),
    ("constexpr int h(int a){ return a; }\n__global__ void k(int *p){ *p = h(*p); }",
     "compile", "calling a constexpr __host__ function"),
    ("#include <nothing_here.h>\n", "compile", "No such file or directory"),
    ("static_assert(sizeof(int) == 8, \"wide\");", "compile", "static assertion failed"),
    ("int host; __global__ void k(int *p){ *p = host; }", "compile", "undefined in device code"),
    ("__global__ void k(float *p){ __shared__ float a[20000]; a[threadIdx.x] = *p; *p = a[1]; }",
     "compile", "uses too much shared data"),
    ("__global__ void k(){ asm volatile(\"nosuch.f32 %f1, %f2;\"); }",
     "compile", "Not a name of any known instruction"),
    ("__global__ void k(){ asm volatile(\"wgmma.fence.sync.aligned;\"); }", "compile", "not supported on .target"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "kind", "words"), CUDA)
def test_nvcc(tmp_path, source, kind, words):
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    file = tmp_path / "k.cu"
    file.write_text(source)
    command = [nvcc, "-cubin", "-arch=sm_80", "-o", str(tmp_path / "k.cubin"), str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode != 0
    assert_classified(ended.stdout + ended.stderr, kind, words)


@pytest.mark.parametrize(
    ("flags", "kind", "fault"),
    [(["-arch=sm_999"], "environment", "environment"), (["--no-such-option"], "compile", "task")],
)
def test_nvcc_flags(tmp_path, flags, kind, fault):
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    (tmp_path / "k.cu").write_text("__global__ void k(){}\n")
    command = [nvcc, "-cubin", *flags, "-o", str(tmp_path / "k.cubin"), str(tmp_path / "k.cu")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    failure = classify(ended.stderr)
    assert (failure.kind, failure.fault) == (kind, fault), ended.stderr


def ptx(body, head=".version 8.0\n.target sm_80\n.address_size 64\n"):
    return f"{head}{body}\n"


def kernel(body, declared=""):
    return ptx(f"{declared}.visible .entry k() {{ .reg .b32 %r<4>; {body} ret; }}")


PTXAS = [
    (kernel("nosuch.b32 %r1, %r2;"), [], "compile", "Not a name of any known instruction"),
    (kernel("add.nosuch.s32 %r1, %r2, %r3;"), [], "compile", "Unknown modifier '"),
    (kernel("wgmma.fence.sync.aligned;"), [], "compile", "not supported on .target '"),
    (kernel("call f;", ".extern .func f;\n"), [], "compile", "Unresolved extern function '"),
    (kernel("mov.u32 %r1, s;", ".shared .align 4 .b8 s[200000];\n"), [], "compile", "uses too much shared data"),
    (ptx(".const .align 4 .b8 c[70000];"), [], "compile", "File uses too much global constant data"),
    (ptx("", ".version 99.0\n.target sm_80\n"), [], "environment", "Unsupported .version"),
    (kernel(""), ["-arch=sm_999"], "environment", "is not defined for option 'gpu-name'"),
]


def ptxas_on(tmp_path, source, *flags):
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    (tmp_path / "k.ptx").write_text(source)
    command = [ptxas, *(flags or ["-arch=sm_80"]), "-o", str(tmp_path / "k.cubin"), str(tmp_path / "k.ptx")]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(("source", "flags", "kind", "words"), PTXAS, ids=lambda each: None)
def test_ptxas(tmp_path, source, flags, kind, words):
    ended = ptxas_on(tmp_path, source, *flags)
    assert ended.returncode != 0
    assert_classified(ended.stdout + ended.stderr, kind, words)


def test_what_ptxas_says_of_a_sound_kernel_is_no_failure(tmp_path):
    ended = ptxas_on(tmp_path, kernel(""), "-v", "-arch=sm_80")
    assert "Used" in ended.stderr
    assert ended.returncode == 0
    assert classify(ended.stderr) is None


def test_the_linker_and_the_loader(tmp_path):
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    (tmp_path / "k.c").write_text("void f(void);\nint main(void) { f(); return 0; }\n")
    linked = subprocess.run([gcc, "k.c", "-o", "k"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert_classified(linked.stderr, "link", "undefined reference to")
    subprocess.run([gcc, "-shared", "-fPIC", "k.c", "-o", "k.so"], cwd=tmp_path, check=True)
    script = "import ctypes\nctypes.CDLL('./k.so', mode=2)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert_classified(loaded.stderr, "link", "undefined symbol:")
