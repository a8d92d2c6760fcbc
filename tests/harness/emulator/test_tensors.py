"""Tensors under the checks: what an extension's allocator tells about them, without PyTorch."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from kgrade.harness.emulator.extension import read
from kgrade.harness.emulator.findings import Finding, Unreadable, told_findings
from tests.harness.emulator.running import Loaded

pytestmark = pytest.mark.xdist_group("emulator")

SOURCE = r"""
#include <cuda_runtime.h>
#include <cstdint>
__global__ void copied(const float* x, float* y, int64_t first) {
  const int64_t i = first + threadIdx.x;
  y[threadIdx.x] = x[i];
}
__global__ void added(const float* x, float* y) {
  y[threadIdx.x] += x[threadIdx.x];
}
extern "C" int add(const float* x, float* y, int64_t launches, cudaStream_t) {
  for (int64_t i = 0; i < launches; ++i) added<<<1, 32>>>(x, y);
  return cudaGetLastError();
}
extern "C" int copy(const float* x, float* y, int64_t first, cudaStream_t) {
  copied<<<1, 32>>>(x, y, first);
  return cudaGetLastError();
}
"""
GUARD = 1 << 14  # floats
ALLOCATED, FREED, FORGOTTEN = 0, 1, 2


def told(loaded: Loaded, array: np.ndarray, what: int) -> None:
    loaded.shared.kgrade_emulator_tensor(
        ctypes.c_void_p(array.ctypes.data), ctypes.c_ulong(array.nbytes), ctypes.c_int(what)
    )


@pytest.fixture
def tensor() -> np.ndarray:
    """Thirty-two floats with a guard on both sides, as the allocator lays them out."""
    return np.zeros(2 * GUARD + 32, np.float32)[GUARD : GUARD + 32]


@pytest.fixture
def loaded(load: Callable[..., Loaded], tensor: np.ndarray) -> Iterator[Loaded]:
    made = load(SOURCE, True)
    made.shared.kgrade_emulator_reset()
    told(made, tensor, ALLOCATED)
    yield made
    told(made, tensor, FORGOTTEN)


def found(loaded: Loaded, tensor: np.ndarray, first: int) -> list[Finding]:
    """Copy 32 floats of the tensor into memory that the checks do not know, after a reset as before every call."""
    y = np.full(32, np.nan, np.float32)
    loaded.shared.kgrade_emulator_reset()
    loaded.shared.copy(
        ctypes.c_void_p(tensor.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_int64(first), ctypes.c_void_p()
    )
    return loaded.findings


def test_a_tensor_is_known_after_a_reset_and_memory_of_others_is_left_alone(loaded: Loaded, tensor: np.ndarray) -> None:
    assert found(loaded, tensor, 0) == []


@pytest.mark.parametrize("first", [1, -1, GUARD // 2, -GUARD // 2])
def test_an_access_beside_a_tensor_is_named(loaded: Loaded, tensor: np.ndarray, first: int) -> None:
    (finding,) = found(loaded, tensor, first)
    assert (finding.kind, finding.kernel, finding.line) == ("global-out-of-bounds", "copied", 6)
    assert "a tensor (128 bytes)" in finding.what


def test_a_tensor_that_was_freed_is_named_until_its_memory_is_given_back(loaded: Loaded, tensor: np.ndarray) -> None:
    y = np.zeros(32, np.float32)
    loaded.shared.kgrade_emulator_reset()
    told(loaded, tensor, FREED)
    arguments = (tensor.ctypes.data, y.ctypes.data)
    loaded.shared.copy(*map(ctypes.c_void_p, arguments), ctypes.c_int64(0), ctypes.c_void_p())
    (finding,) = loaded.findings
    assert (finding.kind, finding.line) == ("use-after-free", 6)
    told(loaded, tensor, FORGOTTEN)
    assert found(loaded, tensor, 0) == []


def test_one_extension_tells_another_of_its_tensors(load: Callable[..., Loaded], loaded: Loaded, tensor: Any) -> None:
    other = load(SOURCE.replace("copied", "also_copied"), True)
    loaded.shared.kgrade_emulator_tell_tensors(ctypes.cast(other.shared.kgrade_emulator_tensor, ctypes.c_void_p))
    (finding,) = found(other, tensor, 1)
    assert (finding.kind, finding.kernel) == ("global-out-of-bounds", "also_copied")
    told(other, tensor, FORGOTTEN)


def test_the_lines_of_findings_are_looked_up_beside_the_extension(loaded: Loaded, tensor: np.ndarray) -> None:
    expected = found(loaded, tensor, 1)
    text = loaded.shared.kgrade_emulator_findings().decode()
    answer = read({"findings": text, "library": str(loaded.path), "sources": loaded.sources})
    assert answer["unreadable"] is None
    assert told_findings(answer["findings"]) == expected
    assert read({"findings": "{", "library": str(loaded.path), "sources": []})["unreadable"]


@pytest.mark.parametrize("text", ["{", "[]", '{"kind": "a new one", "what": "", "kernel": ""}'])
def test_what_is_no_finding_is_not_believed(text: str) -> None:
    with pytest.raises(Unreadable):
        told_findings(text)


def unwritten(loaded: Loaded, array: np.ndarray, element: int = 4) -> None:
    """Say, after a reset as before every call, that the array has just been allocated."""
    loaded.shared.kgrade_emulator_reset()
    loaded.shared.kgrade_emulator_unwritten(
        ctypes.c_void_p(array.ctypes.data), ctypes.c_ulong(array.nbytes), ctypes.c_ulong(element)
    )


def called(loaded: Loaded, entry: str, x: np.ndarray, y: np.ndarray, number: int) -> list[Finding]:
    arrays = (ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
    getattr(loaded.shared, entry)(*arrays, ctypes.c_int64(number), ctypes.c_void_p())
    return loaded.findings


def test_an_unwritten_tensor_that_is_read_is_named(loaded: Loaded, tensor: np.ndarray) -> None:
    unwritten(loaded, tensor)
    assert np.isnan(tensor).all()
    found = called(loaded, "copy", tensor, np.zeros(32, np.float32), 0)
    assert {(each.kind, each.kernel, each.line, each.block) for each in found} == {
        ("global-uninitialised", "copied", 6, (0, 0, 0))
    }
    assert (found[0].thread, found[0].what) == ((0, 0, 0), "read of 4 bytes of a tensor at byte 0, never written")


def test_a_tensor_that_adds_to_what_it_does_not_hold_is_named(loaded: Loaded, tensor: np.ndarray) -> None:
    unwritten(loaded, tensor)
    found = called(loaded, "add", np.zeros(32, np.float32), tensor, 1)
    assert {(each.kind, each.kernel, each.line) for each in found} == {("global-uninitialised", "added", 9)}


def test_a_tensor_that_a_kernel_has_written_may_be_read(loaded: Loaded, tensor: np.ndarray) -> None:
    unwritten(loaded, tensor)
    filled = np.array(tensor)  # what is written equals what was there
    called(loaded, "copy", filled, tensor, 0)
    assert called(loaded, "add", np.zeros(32, np.float32), tensor, 2) == []


def test_what_an_operation_has_written_may_be_read_and_no_more(loaded: Loaded, tensor: np.ndarray) -> None:
    unwritten(loaded, tensor)
    loaded.shared.kgrade_emulator_written(ctypes.c_void_p(tensor.ctypes.data), ctypes.c_ulong(64))
    found = called(loaded, "copy", tensor, np.zeros(32, np.float32), 0)
    assert [each.thread for each in found[:1]] == [(16, 0, 0)]
    unwritten(loaded, tensor)
    loaded.shared.kgrade_emulator_written(ctypes.c_void_p(tensor.ctypes.data), ctypes.c_ulong(128))
    assert called(loaded, "copy", tensor, np.zeros(32, np.float32), 0) == []


@pytest.mark.parametrize("element", [1, 2, 4, 8])
def test_a_write_that_is_not_seen_leaves_no_report(loaded: Loaded, tensor: np.ndarray, element: int) -> None:
    unwritten(loaded, tensor, element)
    assert called(loaded, "copy", tensor, np.zeros(32, np.float32), 0)
    unwritten(loaded, tensor, element)
    tensor[:] = 1.0
    assert called(loaded, "copy", tensor, np.zeros(32, np.float32), 0) == []


def test_memory_that_is_handed_out_again_is_written_until_it_is_told_otherwise(
    loaded: Loaded, tensor: np.ndarray
) -> None:
    unwritten(loaded, tensor)
    told(loaded, tensor, FREED)
    told(loaded, tensor, ALLOCATED)
    assert called(loaded, "copy", tensor, np.zeros(32, np.float32), 0) == []


@pytest.mark.parametrize(("dtype", "element"), [("float64", 8), ("float32", 4), ("float16", 2)])
def test_the_filling_is_no_number(loaded: Loaded, tensor: np.ndarray, dtype: str, element: int) -> None:
    unwritten(loaded, tensor, element)
    assert np.isnan(tensor.view(dtype)).all()
    whole = f"int{8 * element}"
    assert (tensor.view(whole) > np.iinfo(whole).max * 0.99).all()
