"""Out-of-bounds accesses in Triton's interpreter: every lane that is not masked off must lie in a known tensor.

The interpreter itself reads and writes whatever address a kernel computes; small overruns go unnoticed there, and on
a device they read a neighbour's data.
"""

from __future__ import annotations

import gc
from typing import Any, List, Set, Tuple

import numpy as np
import torch
from triton.runtime import interpreter as upstream


class OutOfBounds(IndexError):
    """A kernel touched memory that belongs to no tensor."""


class Ranges:
    """The address ranges of the tensors that a launch may touch."""

    def __init__(self) -> None:
        self._ranges: Set[Tuple[int, int]] = set()
        self._starts = np.zeros(0, np.uint64)
        self._ends = np.zeros(0, np.uint64)

    def reset(self, values: Any) -> None:
        """Know the tensors among a launch's arguments, and only those."""
        self._ranges = set()
        self._add(_tensors(values))

    def _add(self, tensors: List[torch.Tensor]) -> None:
        for tensor in tensors:
            storage = tensor.untyped_storage()
            self._ranges.add((storage.data_ptr(), storage.data_ptr() + storage.nbytes()))
        ordered = sorted(self._ranges)
        self._starts = np.array([start for start, _ in ordered], np.uint64)
        self._ends = np.array([end for _, end in ordered], np.uint64)

    def check(self, handle: Any, mask: np.ndarray, action: str) -> None:
        """Raise OutOfBounds when a lane of `handle` that is not masked off lies outside every tensor."""
        size = max(1, handle.get_element_ty().primitive_bitwidth // 8)
        pointers, active = np.broadcast_arrays(handle.data, mask)
        addresses = pointers[active.astype(bool)].astype(np.uint64)
        if addresses.size == 0 or self._inside(addresses, size).all():
            return
        # A kernel may load pointers from memory: before it is accused, every tensor that is alive counts.
        self._add([thing for thing in gc.get_objects() if isinstance(thing, torch.Tensor)])
        inside = self._inside(addresses, size)
        if not inside.all():
            raise OutOfBounds(self._described(addresses[~inside], addresses.size, action))

    def _inside(self, addresses: np.ndarray, size: int) -> np.ndarray:
        place = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        if not len(self._starts):
            return np.zeros(addresses.shape, bool)
        within: np.ndarray = (place >= 0) & (addresses + np.uint64(size) <= self._ends[np.maximum(place, 0)])
        return within

    def _described(self, outside: np.ndarray, lanes: int, action: str) -> str:
        first = int(outside[0])
        below = [end for _, end in self._ranges if end <= first]
        distance = "{} bytes past the end of a tensor".format(first - max(below)) if below else "before every tensor"
        where = "program {}".format(upstream.interpreter_builder.grid_idx)
        return "out-of-bounds {}: {}, {} of {} lanes, the first {}".format(action, where, outside.size, lanes, distance)


def _tensors(value: Any) -> List[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _tensors(item)]
    if isinstance(value, dict):
        return _tensors(list(value.values()))
    base = getattr(value, "base", None)  # a tensor descriptor, or a tensor seen under another type
    return [base] if isinstance(base, torch.Tensor) else []


def install() -> None:
    """Check every load, store and atomic of every launch from now on."""
    known = Ranges()
    builder = type(upstream.interpreter_builder)
    launch = upstream.GridExecutor.__call__

    def launched(self: Any, *arguments: Any, **keywords: Any) -> Any:
        known.reset([arguments, keywords])
        return launch(self, *arguments, **keywords)

    class Checked(builder):  # type: ignore[valid-type,misc]
        """The interpreter's builder with its memory accesses checked first."""

        def create_masked_load(self, ptrs, mask, *rest, **named):  # type: ignore[no-untyped-def]
            known.check(ptrs, np.asarray(getattr(mask, "data", mask)), "load")
            return super().create_masked_load(ptrs, mask, *rest, **named)

        def create_masked_store(self, ptrs, value, mask, *rest, **named):  # type: ignore[no-untyped-def]
            known.check(ptrs, np.asarray(getattr(mask, "data", mask)), "store")
            return super().create_masked_store(ptrs, value, mask, *rest, **named)

        def create_atomic_rmw(self, operation, ptr, val, mask, *rest, **named):  # type: ignore[no-untyped-def]
            known.check(ptr, np.asarray(mask.data), "atomic")
            return super().create_atomic_rmw(operation, ptr, val, mask, *rest, **named)

        def create_atomic_cas(self, ptr, *rest, **named):  # type: ignore[no-untyped-def]
            known.check(ptr, np.ones(1, bool), "atomic")
            return super().create_atomic_cas(ptr, *rest, **named)

    upstream.GridExecutor.__call__ = launched
    upstream.interpreter_builder.__class__ = Checked
