"""Tensors without data: what a problem makes and what host code launches can be learned at any size for nothing."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, List

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

# One for the whole process: what host code keeps from one call must fit what it is given in the next.
_MODE = FakeTensorMode(allow_non_fake_inputs=True)


@contextlib.contextmanager
def without_data() -> Iterator[None]:
    """Let tensors have shape, dtype and strides but no elements, so that any size costs nothing."""
    upstream = torch.nn.Module._apply
    torch.nn.Module._apply = _moved
    try:
        with _MODE:
            yield
    finally:
        torch.nn.Module._apply = upstream


def _moved(module: Any, change: Callable[[Any], Any], recurse: bool = True) -> Any:
    """Stand for `Module._apply`, which swaps parameters in place: those without data cannot be swapped, so they are
    replaced."""
    if recurse:
        for child in module.children():
            child._apply(change)
    with torch.no_grad():
        for name, value in module._parameters.items():
            if value is not None:
                module._parameters[name] = torch.nn.Parameter(change(value), value.requires_grad)
        for name, value in module._buffers.items():
            if value is not None:
                module._buffers[name] = change(value)
    return module


def empty_inputs(specs: List[Dict[str, Any]], laid_out: Callable[[Any, str], Any]) -> Dict[str, Any]:
    """Return arguments by name: numbers as they are, arrays without data in their layout."""
    made = {}
    for spec in specs:
        if "value" in spec:
            made[spec["name"]] = spec["value"]
            continue
        tensor = torch.empty(spec["shape"], dtype=getattr(torch, spec["dtype"]))
        made[spec["name"]] = laid_out(tensor, spec.get("layout", "contiguous"))
    return made
