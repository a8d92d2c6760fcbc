"""What the harness costs beside the code it runs: a worker's whole life against a bare import of its framework.

Compiling and running are no overhead: the seconds of the import and of the call, as the worker tells them, are taken
off the wall time from the start of the worker to its end.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kgrade.harness.arguments import Argument
from kgrade.harness.run import Machine
from kgrade.harness.watchdog import Limits
from kgrade.harness.workers import Worker
from tests.benchmarks.measuring import compared, interleaved

pytestmark = pytest.mark.alone

BOUND = 2.0
MINUTE = 60.0
PLAIN = "def doubled(x):\n    return x + x\n"
TRITON = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + place, 2 * tl.load(x + place, mask=place < n), mask=place < n)


def doubled(x):
    y = torch.empty_like(x)
    kernel[(1,)](x, y, x.numel(), BLOCK=64)
    return y
"""
PALLAS = """\
import jax
from jax.experimental import pallas as pl


def kernel(x, y):
    y[...] = 2 * x[...]


def doubled(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
"""
LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("framework", "stand_in", "imported", "source"),
    [
        ("numpy", None, ("numpy",), PLAIN),
        pytest.param("torch", None, ("torch",), PLAIN, marks=LONG),
        pytest.param("torch", "torch", ("torch",), PLAIN, marks=LONG),
        pytest.param("torch", "triton", ("torch", "triton"), TRITON, marks=LONG),
        pytest.param("jax", "pallas", ("jax", "jax.experimental.pallas"), PALLAS, marks=LONG),
    ],
    ids=["numpy", "torch", "torch for a GPU", "triton", "pallas"],
)
def test_a_worker_costs_no_more_than_twice_the_bare_import_of_its_framework(
    tmp_path: Path,
    keep: Callable[..., None],
    framework: str,
    stand_in: str | None,
    imported: tuple[str, ...],
    source: str,
) -> None:
    for module in imported:
        pytest.importorskip(module, reason=f"{module} is not installed")
    machine = Machine.here()
    tmp_path.chmod(0o755)
    (tmp_path / "kernel.py").write_text(source)
    values = np.arange(60, dtype=np.float32)

    def worker_s() -> float:
        worker = Worker(machine.wall, machine.interpreter, tmp_path, framework, stand_in, Limits())
        begin = time.perf_counter()
        worker.start()
        apart = worker.load({"doubled": ("kernel.py", "doubled")}, MINUTE)
        returned = worker.call("doubled", [Argument("x", values)], {"y": values.nbytes}, MINUTE)
        worker.finish()
        taken = time.perf_counter() - begin
        assert (returned.arrays["y"] == 2 * values).all()
        return taken - apart - returned.seconds

    def import_s() -> float:
        command = [machine.interpreter.executable, "-I", "-B", "-c", f"import {', '.join(imported)}"]
        begin = time.perf_counter()
        subprocess.run(command, check=True, timeout=MINUTE, cwd="/")
        return time.perf_counter() - begin

    keep(compared(f"a worker beside import {', '.join(imported)}", interleaved(worker_s, import_s), BOUND))
