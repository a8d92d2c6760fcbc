"""Kernels of a profile are linked to the sources that define them, by name."""

from __future__ import annotations

import pytest

from kgrade.harness.profiles.authorship import base_name, linked
from kgrade.records.profile import KernelProfile, Profile

CUDA = b"""#include <cuda.h>
template <typename T, int N>
__global__ void __launch_bounds__(256)
rows(const T* x, T* y) { }
extern "C" __global__ void plain(float* x) {}
__device__ float helper(float x) { return x; }
"""
PYTHON = b"""import triton
SOURCE = '''
__global__ void inlined(float* x) {}
'''

@triton.jit
def softmax(x_ptr, BLOCK: tl.constexpr):
    pass
"""


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("void ns::(anonymous namespace)::rows<float, 128>(float const*, float*)", "rows"),
        ("void rows<at::native::Op<int>, (int)4>(T1)", "rows"),
        ("softmax_0d1d2de", "softmax_0d1d2de"),
        ("rows.kd", "rows"),
        ("init_array(double*, unsigned long)", "init_array"),
        ("", ""),
        (">>>(((", ""),
    ],
)
def test_the_function_s_own_name(name: str, base: str) -> None:
    assert base_name(name) == base


def test_what_the_submission_defines_is_linked_to_its_line() -> None:
    names = [
        "void rows<float, 2>(float const*, float*)", "plain(float*)", "inlined(float*)", "softmax_0d1d2de",
        "void cutlass::Kernel2<gemm>(Params)", "helper(float)",
    ]  # fmt: skip
    profile = Profile(source="ncu", kernels=[KernelProfile(name=name, launches=1, total_us=2.0) for name in names])
    found = linked(profile, {"k.cu": CUDA, "launch.py": PYTHON})
    places = [f"{each.authored.path}:{each.authored.line}" if each.authored else "" for each in found.kernels]
    assert places == ["solution/k.cu:4", "solution/k.cu:5", "solution/launch.py:3", "solution/launch.py:7", "", ""]
    assert (found.authored_us, found.total_us) == (8.0, 12.0)


def test_operators_of_a_cpu_are_nobody_s_kernels() -> None:
    profile = Profile(source="torch.profiler", unit="operator", kernels=[KernelProfile(name="softmax", launches=1)])
    assert linked(profile, {"launch.py": PYTHON}) == profile


@pytest.mark.parametrize("letter", "wk1")
def test_a_name_of_any_length_takes_no_time_to_speak_of(letter: str) -> None:
    long = f"k_{letter * 300_000}A"
    profile = Profile(source="ncu", kernels=[KernelProfile(name=long, launches=1, total_us=2.0)])
    assert linked(profile, {"k.cu": CUDA}) == profile
    assert [base_name(name) for name in (long, f"{long}-", f"{long} k(")] == [long, "", "k"]
