"""The worker's side: a task's launcher is called as task.yaml gives its arguments, and says what went wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgrade.harness.emulator.findings import read_findings
from kgrade.harness.worker.interfaces.cuda_emulated import Emulated, KernelFailed

pytestmark = pytest.mark.xdist_group("emulator")

SOURCE = r"""
#include <cuda_runtime.h>
#include <cstdint>
__global__ void scale(const float* x, float a, float* y, int64_t n) {
  const int64_t i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
extern "C" int scaled(const float* x, float a, float* y, int64_t N, cudaStream_t stream) {
  scale<<<(N + 63) / 64, 64, 0, stream>>>(x, a, y, N);
  return cudaGetLastError();
}
"""


def _arguments(n: int) -> tuple[list[tuple[str, str, Any]], list[tuple[str, Any]]]:
    x = np.arange(n, dtype=np.float32)
    return [("x", "float32", x), ("a", "float32", 3.0)], [("y", np.full(n, np.nan, np.float32))]


def test_inputs_scalars_outputs_and_symbols_arrive(load: Any) -> None:
    inputs, outputs = _arguments(100)
    Emulated(str(load(SOURCE).path), "scaled").call(inputs, outputs, [100])
    np.testing.assert_array_equal(outputs[0][1], 3 * inputs[0][2])


def test_an_access_outside_an_argument_is_named_by_it(load: Any) -> None:
    loaded = load(SOURCE, True)
    emulated = Emulated(str(loaded.path), "scaled")
    inputs, outputs = _arguments(100)
    with pytest.raises(KernelFailed, match="700: scale: an illegal memory access"):
        emulated.call(inputs, outputs, [101])
    (finding,) = read_findings(emulated.findings(), loaded.path, loaded.sources, loaded.run)
    assert (finding.kind, finding.line) == ("global-out-of-bounds", 6)
    assert "x (400 bytes)" in finding.what
    assert (finding.block, finding.thread) == ((1, 0, 0), (36, 0, 0))


def test_a_refused_launch_is_an_error(load: Any) -> None:
    inputs, outputs = _arguments(1)
    with pytest.raises(KernelFailed, match="CUDA error 9"):
        Emulated(str(load(SOURCE).path), "scaled").call(inputs, outputs, [0])


def test_an_array_with_strides_is_not_taken(load: Any) -> None:
    inputs, outputs = _arguments(10)
    inputs[0] = ("x", "float32", np.zeros(20, np.float32)[::2])
    with pytest.raises(ValueError, match="x is not contiguous"):
        Emulated(str(load(SOURCE).path), "scaled").call(inputs, outputs, [10])
