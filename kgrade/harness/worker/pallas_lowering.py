"""Pallas kernels for a device that is not here: traced on shapes alone, lowered, and compiled where libtpu is at hand.

Lowering to Mosaic (TPU) or to Triton or Mosaic GPU (CUDA) needs no device and finds what the device's compiler refuses
by form. With libtpu a description of the chip's topology is enough to compile in full.
"""

from __future__ import annotations

import math
import os
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

import jax
import jax.numpy as jnp

from .calls import Caller
from .wire import Request

MOST_CALLS = 24


class PallasAhead:
    """Serves the requests about Pallas kernels."""

    def __init__(self, device: Dict[str, Any], caller: Caller) -> None:
        self.platform = str(device["backend"])
        self.topology: Optional[str] = device.get("topology")
        self.caller = caller
        self.chip: Any = None
        self.lacking = ""
        if self.topology is not None:
            self._describe(self.topology)

    def _describe(self, topology: str) -> None:
        """Ask libtpu for a chip that is not here; keep why it cannot be had."""
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
        os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-1")
        os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
        os.environ.setdefault("TPU_LIBRARY_PATH", _libtpu() or "")
        if not os.environ["TPU_LIBRARY_PATH"]:
            self.lacking = "libtpu is not installed"
            return
        from jax.experimental import topologies

        try:
            described = topologies.get_topology_desc(platform="tpu", topology_name=topology)
            self.chip = described.devices[0]
        except Exception as error:  # noqa: BLE001 (whatever libtpu raises is the reason)
            self.lacking = "libtpu describes no {}: {}".format(topology, error)[:300]

    def capture(self, request: Request, function: Callable[..., Any]) -> Dict[str, Any]:
        """Trace, lower and compile one case; each step that fails says so, and those before it keep their results."""
        from .ahead import stopping

        said: Dict[str, Any] = {"calls": [], "lacking": self.lacking, "seconds": 0.0}
        begin = time.perf_counter()
        step = "trace"
        try:
            traced = self._traced(request, function)
            said["calls"] = [_described(call) for call in list(_pallas_calls(traced.jaxpr.jaxpr))[:MOST_CALLS]]
            step = "lower"
            traced.lower(lowering_platforms=(self.platform,))
            if self.chip is not None:
                step = "compile"
                said["compiled"] = self._compiled(request, function)
        except BaseException as error:  # noqa: BLE001 (the code under test may raise anything)
            said.update(step=step, stopped=stopping(error))
        said["seconds"] = time.perf_counter() - begin
        return said

    def _traced(self, request: Request, function: Callable[..., Any], sharding: Any = None) -> Any:
        """Trace a call on shapes; numbers are constants, as they are in a plain call."""
        specs = request.message["inputs"]
        numbers = {spec["name"]: spec["value"] for spec in specs if "value" in spec}
        shapes = {
            spec["name"]: jax.ShapeDtypeStruct(tuple(spec["shape"]), jnp.dtype(spec["dtype"]), sharding=sharding)
            for spec in specs
            if "value" not in spec
        }
        names = request.message.get("gradients")

        def called(arrays: Dict[str, Any]) -> Any:
            if not names:
                return function(**arrays, **numbers)
            result, pull = self.caller.arrays.gradients(function, dict(arrays, **numbers), names)
            values = jax.tree_util.tree_leaves(result)
            return result, pull(values, [jnp.ones_like(value) for value in values])

        return jax.jit(called).trace(shapes)

    def _compiled(self, request: Request, function: Callable[..., Any]) -> Dict[str, Any]:
        traced = self._traced(request, function, jax.sharding.SingleDeviceSharding(self.chip))
        compiled = traced.lower().compile()
        memory = compiled.memory_analysis()
        return {
            "chip": str(self.chip.device_kind),
            "code_bytes": int(getattr(memory, "generated_code_size_in_bytes", 0)),
            "temporary_bytes": int(getattr(memory, "temp_size_in_bytes", 0)),
        }


def _libtpu() -> Optional[str]:
    """Return where libtpu's library lies, or None. It is not loaded here."""
    import importlib.util

    found = importlib.util.find_spec("libtpu")
    for folder in (found.submodule_search_locations or []) if found else []:
        path = os.path.join(folder, "libtpu.so")
        if os.path.exists(path):
            return path
    return None


def _pallas_calls(program: Any) -> Iterator[Any]:
    """Yield every `pallas_call` of a traced program, those inside of loops, conditions and inner jits too."""
    for equation in program.eqns:
        if equation.primitive.name == "pallas_call":
            yield equation
            continue
        for value in equation.params.values():
            for each in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(each, "jaxpr", each)
                if hasattr(inner, "eqns"):
                    yield from _pallas_calls(inner)


def _described(call: Any) -> Dict[str, Any]:
    """Return name, types, grid, blocks and the VMEM that blocks and scratch take."""
    mapping = call.params["grid_mapping"]
    blocks: List[str] = []
    size = 0
    for block in mapping.block_mappings:
        shape = [_size(each) for each in block.block_shape]
        dtype = block.array_aval.dtype
        blocks.append("{}[{}]".format(dtype, ",".join(str(each) for each in shape)))
        size += 2 * math.prod(shape) * jnp.dtype(dtype).itemsize
    scratch = 0
    for each in mapping.scratch_avals:
        inner = getattr(each, "inner_aval", each)
        dtype = getattr(inner, "dtype", None)
        if dtype is not None and "sem" not in str(dtype):
            scratch += math.prod(inner.shape) * jnp.dtype(dtype).itemsize
    return {
        "kernel": str(_name(call))[:80],
        "grid": [each if isinstance(each, int) else -1 for each in mapping.grid][:4],
        "blocks": blocks[:12],
        "vmem_bytes": size + scratch,
    }


def _name(call: Any) -> str:
    name = call.params.get("name")
    info = getattr(call.params["jaxpr"], "debug_info", None)
    return name or getattr(info, "func_name", None) or "pallas_call"


def _size(block: Any) -> int:
    size = getattr(block, "block_size", block)
    return size if isinstance(size, int) else 1
