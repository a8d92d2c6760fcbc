"""CUDA builds with the real compiler: figures of each kernel, warnings, and failures of each kind."""

import os
import shutil
from pathlib import Path

import pytest

from kgrade.harness.build import build
from kgrade.harness.build.cubin import NotCubinError, load_cubin, read_cubin
from kgrade.harness.build.ptxas import read_usage, read_warnings
from kgrade.harness.build.toolkit import NOT_FOUND, find_toolkit

GOOD = """
#include <cstdint>
extern "C" __global__ void __launch_bounds__(256) add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
template <class T> __global__ void scale(T *x, T s) { x[blockIdx.x * blockDim.x + threadIdx.x] *= s; }
template __global__ void scale<float>(float *, float);
__constant__ float table[64];
__global__ void tile(float *p) {
  __shared__ float q[1000];
  q[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = q[999 - threadIdx.x] * table[threadIdx.x % 64];
}
__global__ void __launch_bounds__(1024, 2) tight(float *p) {
  float a[64];
  for (int i = 0; i < 64; i++) a[i] = p[i * threadIdx.x];
  __syncthreads();
  float s = 0;
  for (int i = 0; i < 64; i++) for (int j = 0; j < 64; j++) s += a[i] * a[j] * p[j];
  p[0] = s;
  int unused;
}
"""


@pytest.fixture(autouse=True)
def compiler():
    if find_toolkit() is None:
        pytest.skip("nvcc is not installed")


@pytest.fixture
def built(tmp_path, run, task_of):
    def make(source, targets=("sm_90",), **fields):
        folder, out = tmp_path / "solution", tmp_path / "out"
        folder.mkdir()
        out.mkdir()
        for name, text in (source if isinstance(source, dict) else {"kernel.cu": source}).items():
            (folder / name).write_text(text)
        return build(folder, task_of(**fields), list(targets), out, run, task_folder=tmp_path)

    return make


def test_every_kernel_of_every_target_has_its_figures(built, run, tmp_path):
    result = built(GOOD, ["sm_80", "sm_90", "cpu"])
    assert result.status == "passed"
    assert [(target.target, target.status) for target in result.targets] == [
        ("sm_80", "passed"), ("sm_90", "passed"), ("cpu", "not-run"),
    ]  # fmt: skip
    assert "nvcc does not build for cpu" in result.targets[2].reason
    for target in ("sm_80", "sm_90"):
        kernels = {kernel.kernel.split("(")[0]: kernel for kernel in result.kernels if kernel.target == target}
        assert kernels.keys() == {"add", "scale<float>", "tile", "tight"}
        assert 4 <= kernels["add"].registers <= 32
        assert kernels["add"].occupancy.block_threads == 256
        assert kernels["add"].occupancy.active_warps == kernels["add"].occupancy.max_warps == 64
        assert kernels["tile"].shared_bytes == 4000
        assert kernels["tile"].occupancy.block_threads == 1024
        assert kernels["tight"].registers == 32
        assert kernels["tight"].spill_store_bytes > 0
        assert kernels["tight"].spill_load_bytes > 0
        assert kernels["tight"].stack_bytes > 0
        assert all(kernel.constant_bytes >= 300 for kernel in kernels.values())
    assert any('warning #177-D: variable "unused"' in text for text in result.targets[0].warnings)
    assert result.targets[0].seconds > 0
    facts = "\n".join(result.facts)
    assert "add on sm_90: occupancy for blocks of 256 threads (its launch bound)" in facts
    assert "on sm_90: occupancy for blocks of 1024 threads (no launch bound is stated" in facts
    assert "256 bytes of __constant__ data" in facts
    log = (tmp_path / "out" / result.log).read_text()
    assert log.count("$ ") == 2
    assert "Used 32 registers" in log


def test_hopper_is_built_for_its_own_instructions(built):
    source = '__global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }'
    result = built(source, ["sm_80", "sm_90"])
    assert [target.status for target in result.targets] == ["failed", "passed"]
    assert "not supported on .target 'sm_80'" in result.targets[0].failure.line
    assert "-arch=sm_90a" in result.targets[1].command
    assert result.status == "failed"
    assert result.reason.startswith("sm_80: ")


def test_names_are_demangled(built):
    if not (shutil.which("c++filt") or shutil.which("cu++filt")):
        pytest.skip("neither cu++filt nor c++filt is installed")
    names = {kernel.kernel for kernel in built(GOOD).kernels}
    assert "scale<float>(float*, float)" in names
    assert "tile(float*)" in names


@pytest.mark.parametrize(
    ("source", "kind", "words"),
    [
        ("__global__ void k() { int x = foo; }", "compile", 'identifier "foo" is undefined'),
        ("#include <no_such_header.cuh>", "compile", "no_such_header.cuh"),
        ("__global__ void k(float *p) { __shared__ float a[70000]; a[threadIdx.x] = *p; *p = a[7]; }", "compile",
         "too much shared data"),
        ("__device__ int f(int); __global__ void k(int *p) { *p = f(*p); }", "compile", "Unresolved extern function"),
    ],
)  # fmt: skip
def test_what_does_not_compile_is_failed_with_the_line_that_says_why(built, source, kind, words):
    result = built(source)
    target = result.targets[0]
    assert (result.status, target.status, target.failure.kind) == ("failed", "failed", kind)
    assert words in target.failure.line
    assert target.failure.fault == "submission"
    assert not result.kernels


def test_a_flag_that_the_task_gets_wrong_is_no_fault_of_the_submission(built):
    result = built(GOOD, flags=["--no-such-flag"])
    assert (result.status, result.targets[0].failure.fault) == ("error", "task")


def test_the_tasks_includes_and_flags_reach_the_compiler(built, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "given.cuh").write_text("#define SIZE 4\n")
    source = '#include "given.cuh"\n#ifndef FAST\n#error not fast\n#endif\n__global__ void k(int *p) { *p = SIZE; }'
    result = built(source, include=["shared"], flags=["-DFAST"])
    assert result.status == "passed"


def test_a_build_past_its_limit_is_stopped_and_named(built):
    target = built(GOOD, build_s=0.01).targets[0]
    assert (target.status, target.failure.kind) == ("failed", "timeout")
    assert "0.01 s are over" in target.reason


def test_several_sources_make_several_cubins(built, tmp_path):
    source = "__global__ void {}(int *p) {{ *p = 1; }}"
    result = built({"a.cu": source.format("a"), "b.cu": source.format("b")})
    assert {kernel.kernel for kernel in result.kernels} == {"a(int*)", "b(int*)"}
    assert sorted(path.name for path in (tmp_path / "out" / "compiled").glob("*.cubin")) == [
        "a.sm_90.cubin",
        "b.sm_90.cubin",
    ]


def test_the_runner_is_told_what_the_compiler_reads(built, run, tmp_path):
    built("__global__ void k() {}")
    assert tmp_path / "solution" in run.readable[0]
    assert find_toolkit().root in run.readable[0]


def test_a_solution_without_cuda_sources_fails(built):
    result = built({"kernel.txt": "nothing"})
    assert (result.status, result.reason) == ("failed", "the solution holds no .cu file")


def test_without_nvcc_it_is_not_run(built, monkeypatch):
    monkeypatch.setattr("kgrade.harness.build.nvcc.find_toolkit", lambda: None)
    result = built(GOOD)
    assert (result.status, result.reason) == ("not-run", NOT_FOUND)


def test_nvcc_is_found_in_wheels(tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    for wheel in ("cuda_nvcc/bin", "cuda_nvcc/include", "cuda_runtime/include", "cudnn/include"):
        (site / "nvidia" / wheel).mkdir(parents=True)
    (site / "nvidia" / "cuda_nvcc" / "bin" / "nvcc").write_text("")
    (site / "nvidia" / "cuda_runtime" / "include" / "cuda_runtime.h").write_text("")
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.path", [str(site)])
    toolkit = find_toolkit()
    assert toolkit.nvcc == site / "nvidia/cuda_nvcc/bin/nvcc"
    assert [path.parent.name for path in toolkit.includes] == ["cuda_nvcc", "cuda_runtime"]
    monkeypatch.setenv("CUDA_HOME", str(site / "nvidia" / "cuda_nvcc"))
    assert find_toolkit().root == site / "nvidia/cuda_nvcc"


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 200, b"MZ" + b"\0" * 100])
def test_what_is_no_cubin_is_refused(data):
    with pytest.raises(NotCubinError):
        read_cubin(data)


def test_a_damaged_cubin_is_refused_or_read_but_never_breaks(built, tmp_path):
    built(GOOD)
    data = (tmp_path / "out" / "compiled" / "kernel.sm_90.cubin").read_bytes()
    for place in range(0, len(data), max(1, len(data) // 300)):
        for damaged in (data[:place], data[:place] + b"\xff" + data[place + 1 :]):
            try:
                image = read_cubin(damaged)
            except NotCubinError:
                continue
            assert all(kernel.constant_bytes <= len(data) for kernel in image.kernels.values())


def test_only_regular_files_are_read_as_cubins(built, tmp_path):
    built(GOOD)
    real = tmp_path / "out" / "compiled" / "kernel.sm_90.cubin"
    assert len(load_cubin(real).kernels) == 4
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(real)
    os.mkfifo(pipe)
    for path in (link, pipe, tmp_path, tmp_path / "missing"):
        with pytest.raises(NotCubinError):
            load_cubin(path)


def test_the_log_lies_where_the_compiler_cannot_write(built, run, tmp_path):
    built(GOOD)
    assert run.writable[0] == [tmp_path / "out" / "compiled"]
    assert (tmp_path / "out" / "build.log").is_file()


def test_device_functions_beside_a_kernel_do_not_count_as_its_frame():
    log = """ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for helper
    400 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Function properties for k
    8 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 8 bytes cumulative stack size, 4000+16 bytes smem, 360 bytes cmem[0]
"""
    usage = read_usage(log)[0]
    assert (usage.registers, usage.stack, usage.spill_stores, usage.spill_loads) == (40, 8, 0, 4)
    assert usage.shared == 4000


def test_warnings_are_listed_once_and_without_the_source_they_echo():
    log = """k.cu(2): warning #177-D: variable "x" was declared but never referenced
    int x; // warning: not this
        ^
k.cu(2): warning #177-D: variable "x" was declared but never referenced
Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"
ptxas warning : Registers are spilled to local memory in function 'k', 12 bytes spill stores
"""
    assert read_warnings(log) == [
        'k.cu(2): warning #177-D: variable "x" was declared but never referenced',
        "ptxas warning : Registers are spilled to local memory in function 'k', 12 bytes spill stores",
    ]


def test_outputs_stay_in_the_folder_for_them(built, tmp_path):
    built({"a.cu": "__global__ void k() {}"})
    assert {path.name for path in Path(tmp_path / "solution").iterdir()} == {"a.cu"}
