"""What nvcc, ptxas, nvlink, the host's linker and loader, the shell and Python itself refuse."""

from __future__ import annotations

from tests.harness.failure_logs.making import Recipe

_CUDA = [
    ("undefined", 'identifier "foo" is undefined', "__global__ void k(){ int x = foo; }"),
    ("semicolon", "expected a", "__global__ void k(){ int x = 1 }"),
    ("initialized", "initialize an entity of type", "__global__ void k(float *p){ int *q = p; }"),
    ("assigned", "cannot be assigned to an entity of type", "__global__ void k(float *p){ int *q; q = p; }"),
    ("host-function", "calling a __host__ function", "void h(){}\n__global__ void k(){ h(); }"),
    (
        "constexpr-host-function",
        "calling a constexpr __host__ function",
        "constexpr int h(int a){ return a; }\n__global__ void k(int *p){ *p = h(*p); }",
    ),
    ("no-such-header", "No such file or directory", "#include <nothing_here.h>\n"),
    ("static-assertion", "static assertion failed", 'static_assert(sizeof(int) == 8, "wide");'),
    ("host-variable", "undefined in device code", "int host; __global__ void k(int *p){ *p = host; }"),
    (
        "overloads",
        "no instance of overloaded function",
        "__device__ void f(int *);\n__device__ void f(float *, int);\n__global__ void k(){ f(1.0, 2, 3); }",
    ),
    (
        "templates",
        "no instance of function template",
        "template <class T> __device__ void f(T, T) {}\n__global__ void k(){ f(1, 2.0f); }",
    ),
    (
        "extended-lambda",
        "annotation on lambda requires --extended-lambda",
        "template <class F> __global__ void k(F f){ f(); }\nint main(){ k<<<1, 1>>>([=] __device__ () {}); }",
    ),
    ("some-other-error", "): error:", "__global__ void k(int x){ x[0] = 1; }"),
    (
        "shared-memory",
        "uses too much shared data",
        "__global__ void k(float *p){ __shared__ float a[20000]; a[threadIdx.x] = *p; *p = a[1]; }",
    ),
    (
        "inline-ptx",
        "Not a name of any known instruction",
        '__global__ void k(){ asm volatile("nosuch.f32 %f1, %f2;"); }',
    ),
    ("inline-wgmma", "not supported on .target", '__global__ void k(){ asm volatile("wgmma.fence.sync.aligned;"); }'),
]
_HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def _kernel(body: str, declared: str = "") -> str:
    return f"{_HEAD}{declared}.visible .entry k() {{ .reg .b32 %r<4>; .reg .b16 %h<2>; {body} ret; }}\n"


_PTX = [
    ("unknown-instruction", "Not a name of any known instruction", _kernel("nosuch.b32 %r1, %r2;")),
    ("unknown-modifier", "Unknown modifier '", _kernel("add.nosuch.s32 %r1, %r2, %r3;")),
    ("other-target", "not supported on .target '", _kernel("wgmma.fence.sync.aligned;")),
    ("feature", "requires .target sm_90", _kernel("cvt.rn.satfinite.e4m3x2.f16x2 %h1, %r1;")),
    ("unresolved", "Unresolved extern function '", _kernel("call f;", ".extern .func f;\n")),
    ("shared", "uses too much shared data", _kernel("mov.u32 %r1, s;", ".shared .align 4 .b8 s[200000];\n")),
    ("constant", "File uses too much global constant data", f"{_HEAD}.const .align 4 .b8 c[70000];\n"),
    ("arguments", "Arguments mismatch", _kernel("add.s32 %r1, %h1, %r3;")),
]
_FLAGS = [
    ("nvcc-architecture", "environment", "Unsupported gpu architecture", ("nvcc", "-cubin", "-arch=sm_999", "k.cu")),
    ("nvcc-option", "compile", "Unknown option", ("nvcc", "-cubin", "--no-such-option", "k.cu")),
]
_PROGRAMS = [
    ("python-syntax", "compile", "SyntaxError", "def f(:\n    pass\n"),
    ("python-indentation", "compile", "IndentationError", "def f():\npass\n"),
    ("python-module", "environment", "No module named 'nothing_here'", "import nothing_here\n"),
    ("python-name", "link", "cannot import name 'nothing'", "from math import nothing\n"),
    ("python-symbol", "link", "undefined symbol:", "import ctypes\nctypes.CDLL(None).nothing_here\n"),
    (
        "exit-124",
        "timeout",
        "exit status 124",
        'import subprocess\nsubprocess.run("timeout 0.1 sleep 9", shell=True, check=True)\n',
    ),
    (
        "exit-137",
        "timeout",
        "exit status 137",
        "import subprocess\nsubprocess.run(\"sh -c 'kill -KILL $$'; exit $?\", shell=True, check=True)\n",
    ),
    (
        "exit-139",
        "timeout",
        "Segmentation fault",
        "import subprocess\nsubprocess.run(\"sh -c 'kill -SEGV $$' ; exit $?\", shell=True, check=True)\n",
    ),
]

COMPILERS = [
    *(
        Recipe(f"nvcc-{name}", "compile", words, ("nvcc",), code, "k.cu", ("nvcc", "-cubin", "-arch=sm_80", "k.cu"))
        for name, words, code in _CUDA
    ),
    *(
        Recipe(f"ptxas-{name}", "compile", words, ("ptxas",), code, "k.ptx", ("ptxas", "-arch=sm_80", "k.ptx"))
        for name, words, code in _PTX
    ),
    Recipe(
        "ptxas-version",
        "environment",
        "Unsupported .version",
        ("ptxas",),
        ".version 99.0\n.target sm_80\n",
        "k.ptx",
        ("ptxas", "-arch=sm_80", "k.ptx"),
    ),
    Recipe(
        "ptxas-architecture",
        "environment",
        "is not defined for option 'gpu-name'",
        ("ptxas",),
        _kernel(""),
        "k.ptx",
        ("ptxas", "-arch=sm_999", "k.ptx"),
    ),
    *(
        Recipe(name, kind, words, ("nvcc",), "__global__ void k(){}\n", "k.cu", command)
        for name, kind, words, command in _FLAGS
    ),
    Recipe(
        "nvlink-undefined",
        "link",
        "Undefined reference to '",
        ("nvcc", "g++"),
        "__device__ void f();\n__global__ void k(){ f(); }\nint main(){}\n",
        "k.cu",
        ("nvcc", "-rdc=true", "-arch=sm_80", "-o", "k", "k.cu"),
    ),
    Recipe(
        "cuda-no-driver",
        "environment",
        "CUDA error: ",
        ("nvcc", "g++"),
        "#include <cstdio>\nint main(){\n  void *p;\n  cudaError_t e = cudaMalloc(&p, 4);\n"
        '  if (e != cudaSuccess) std::printf("CUDA error: %s\\n", cudaGetErrorString(e));\n}\n',
        "k.cu",
        ("sh", "-c", "nvcc -arch=sm_80 -o k k.cu && CUDA_VISIBLE_DEVICES= ./k"),
    ),
    Recipe(
        "ld-undefined",
        "link",
        "undefined reference to",
        ("gcc",),
        "void f(void);\nint main(void) { f(); return 0; }\n",
        "k.c",
        ("gcc", "k.c", "-o", "k"),
    ),
    Recipe(
        "shell-segmentation-fault",
        "timeout",
        "Segmentation fault",
        ("bash",),
        "bash -c 'kill -SEGV $$'\ntrue\n",
        "k.sh",
        ("bash", "k.sh"),
    ),
    Recipe(
        "python-fatal",
        "timeout",
        "Fatal Python error:",
        ("python3",),
        "import ctypes\nctypes.string_at(0)\n",
        "k.py",
        ("python3", "-X", "faulthandler", "k.py"),
    ),
    *(Recipe(name, kind, words, (), code) for name, kind, words, code in _PROGRAMS),
]
