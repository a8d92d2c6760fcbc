"""CUB: what its primitives are misused for is found, and what of it does not run is named with its line."""

# ruff: noqa: E501 (lines of kernels)
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kgrade.harness.emulator import CannotRun, translate
from kgrade.harness.emulator.compiler import Compiler
from kgrade.harness.emulator.complaints import why_not
from tests.harness.emulator.planted import INDEX, Planted, findings, named

pytestmark = pytest.mark.xdist_group("emulator")

SUMS = "using Reduce = cub::BlockReduce<float, 64>;\n__shared__ Reduce::TempStorage temp;\n"
PLANTED = [
    Planted("a storage used again without a barrier", "race",
            INDEX + SUMS + "float a = Reduce(temp).Sum(x[i]);\n@\na += Reduce(temp).Sum(x[i]); //!\nif (t == 0) y[blockIdx.x] = a;",
            "", "__syncthreads();", access="of temp"),
    Planted("a reduction for more threads than there are", "shared-uninitialised",
            INDEX + "using Reduce = cub::BlockReduce<float, @>;\n__shared__ Reduce::TempStorage temp;\n"
            "const float a = Reduce(temp).Sum(x[i]); //!\nif (t == 0) y[blockIdx.x] = a;", "128", "64", access="read of 4 bytes"),
    Planted("a scan that half the threads reach", "divergent-barrier",
            INDEX + "using Scan = cub::BlockScan<float, 64>;\n__shared__ Scan::TempStorage temp; float a = 0;\n"
            "if (t < @) Scan(temp).InclusiveSum(x[i], a); //!\nif (i < n) y[i] = a;", "32", "64"),
    Planted("a load past the input", "global-out-of-bounds",
            INDEX + "using Load = cub::BlockLoad<float, 64, 2>;\n__shared__ Load::TempStorage temp; float a[2];\n"
            "if (blockIdx.x == 0) Load(temp).Load(x, a, @, 0.0f); //!\nif (i < n) y[i] = blockIdx.x ? 0 : a[0] + a[1];", "128", "n", n=100, access="read of 4 bytes"),
]  # fmt: skip
HEAD = (
    "#include <cub/block/block_reduce.cuh>\n#include <cub/block/block_scan.cuh>\n#include <cub/block/block_load.cuh>\n"
)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_misuse_is_named_with_its_line(load: Any, planted: Planted) -> None:
    found, marked = findings(load, PLANTED, planted, wrong=True, head=HEAD)
    assert named(planted, found, marked), (marked, [finding.sentence() for finding in found])


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_without_it_nothing_is_found(load: Any, planted: Planted) -> None:
    found, _ = findings(load, PLANTED, planted, wrong=False, head=HEAD)
    assert [finding.sentence() for finding in found] == []


@pytest.mark.parametrize("header", ["cub/device/device_reduce.cuh", "cub/block/block_radix_sort.cuh", "cub/grid/x.cuh"])
def test_a_header_of_what_does_not_run_is_refused(header: str) -> None:
    with pytest.raises(CannotRun) as refused:
        translate({"a.cu": f"#include <cuda_runtime.h>\n#include <{header}>\n".encode()})
    assert (refused.value.construct, refused.value.path, refused.value.line) == ("CUB", "a.cu", 2)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("cub::DeviceReduce", "void f(float* x) { size_t n = 0;\ncub::DeviceReduce::Sum(nullptr, n, x, x, 4); }"),
        ("cub::BlockRadixSort", "__global__ void k() {\nusing Sort = cub::BlockRadixSort<int, 64, 4>; }"),
    ],
)
def test_what_the_whole_header_would_bring_is_named(compiler: Compiler, tmp_path: Path, name: str, use: str) -> None:
    source = f"#include <cub/cub.cuh>\n{use}\n"
    (tmp_path / "a.cu").write_bytes(translate({"a.cu": source.encode()})["a.cu"])
    compiled = compiler.compile(tmp_path, tmp_path, False)
    assert compiled.shared is None
    assert why_not(compiled.log, ["a.cu"]) == f"CPU emulation does not run {name} (a.cu:3)"
