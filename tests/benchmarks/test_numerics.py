"""Error figures beside what torch needs to say less: their time, and their memory above the two arrays."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

from kgrade.harness.numerics.judge import judge
from kgrade.records.evidence import ToleranceUsed
from tests.benchmarks.measuring import Measured, compared, interleaved

pytestmark = pytest.mark.alone

MILLION = 1 << 20
MEMORY = """
import sys
import numpy as np
from kgrade.harness.numerics.judge import judge
from kgrade.records.evidence import ToleranceUsed
def figures(got, oracle):
    used = ToleranceUsed(atol=1e-6, rtol=1e-6)
    found = judge("y", got, oracle, None, "float32", used, "match", None, None)
    assert found.figures.elements == oracle.size and found.status == "passed", found.reason
def inputs(size):
    generator = np.random.default_rng(20261103)
    oracle = np.empty(size)
    generator.standard_normal(out=oracle)
    got = np.empty(size, np.float32)
    for start in range(0, size, 1 << 18):
        got[start:start + (1 << 18)] = oracle[start:start + (1 << 18)] + 1e-7
    return got, oracle
figures(*inputs(1000))
made = inputs(int(sys.argv[1]))
def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))
before = kilobytes("VmRSS:")
figures(*made)
print((kilobytes("VmHWM:") - before) / 1024)
"""


@pytest.mark.parametrize("millions", [1, pytest.param(64, marks=pytest.mark.long)])
def test_error_figures_take_less_than_a_comparison_and_a_sort(keep: Callable[[Measured], None], millions: int) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    generator = np.random.default_rng(20261103)
    oracle = generator.standard_normal(millions * MILLION)
    got = oracle.astype(np.float32)
    got *= 1 + np.float32(1e-7) * generator.standard_normal(got.size, dtype=np.float32)
    expected = torch.from_numpy(oracle.astype(np.float32))
    other = torch.from_numpy(got)
    used = ToleranceUsed(atol=1e-5, rtol=1e-5)

    def ours() -> float:
        begin = time.perf_counter()
        found = judge("y", got, oracle, None, "float32", used, "match", None, None)
        taken = time.perf_counter() - begin
        assert found.figures is not None
        assert 0 < float(found.figures.ulp.p50) < float(found.figures.ulp.p999) < float(found.figures.ulp.max)
        return taken

    def theirs() -> float:
        begin = time.perf_counter()
        torch.testing.assert_close(other, expected, rtol=1e-5, atol=1e-5)
        torch.sort((other - expected).abs())
        return time.perf_counter() - begin

    pairs = interleaved(ours, theirs)
    because = "the bound is set for 64 M elements" if millions < 64 else ""
    keep(compared(f"error figures of {millions} M float32 over assert_close and a sort", pairs, 0.7), because)


@pytest.mark.parametrize("millions", [4, pytest.param(64, marks=pytest.mark.long)])
def test_memory_above_the_inputs_is_bounded(keep: Callable[[Measured], None], millions: int) -> None:
    def grown() -> float:
        command = [sys.executable, "-c", MEMORY, str(millions * MILLION)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    peak = grown()
    name = f"memory above the inputs for {millions} M elements"
    keep(Measured(name, "MiB", 256, 1, peak, peak, peak, "one process, its largest resident size"))
