"""What a submission could change around itself: names that others call, and switches of the whole process.

A snapshot is taken before the submission is imported. What differs later is said with the place where the new object
was defined, where it has one.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from typing import Any, Dict, Iterator, List, Tuple

import numpy

MODULES = (
    *("builtins", "time", "os", "json", "math", "gc", "inspect", "random", "subprocess"),
    *("numpy", "numpy.testing", "numpy.random"),
    *("torch", "torch.cuda", "torch.nn.functional", "torch.testing", "torch.linalg", "torch.random", "torch.autograd"),
    *("triton", "triton.testing", "jax", "jax.numpy", "jax.lax", "jax.nn", "jax.random"),
)
TYPES = (
    *("torch.Tensor", "torch.cuda.Event", "torch.cuda.Stream", "triton.runtime.jit.KernelInterface"),
    *("triton.runtime.interpreter.InterpretedFunction", "triton.runtime.interpreter.GridExecutor"),
)
OWN = (
    "main",
    "calls",
    "arrays",
    "clocks",
    "wire",
    "watching",
    "surroundings",
    "launches",
    "audit",
    "interfaces.function",
)
MOST = 40


class Snapshot:
    """The callables of watched modules and types, and the process's switches, as they stand now."""

    def __init__(self) -> None:
        self.held = {where: (value, _code(value)) for where, value in _watched()}
        self.state = state()

    def replaced(self) -> List[Dict[str, Any]]:
        """Name what is another object, or runs other code, than when the snapshot was taken."""
        found = []
        for where, value in _watched():
            old, code = self.held.get(where, (value, _code(value)))
            if (value is old or _same_method(value, old)) and _code(value) is code:
                continue
            found.append({"name": where, "file": _file(value), "line": _line(value)})
            if len(found) == MOST:
                break
        return found

    def moved(self) -> List[Dict[str, str]]:
        """Name the switches that stand otherwise than when the snapshot was taken."""
        now = state()
        return [
            {"name": name, "before": self.state[name], "after": now[name]}
            for name in sorted(now)
            if name in self.state and now[name] != self.state[name]
        ][:MOST]


def _watched() -> Iterator[Tuple[str, Any]]:
    for module in MODULES:
        owner = sys.modules.get(module)
        if owner is not None:
            yield from _callables(module, owner)
    for path in TYPES:
        module, _, name = path.rpartition(".")
        owner = getattr(sys.modules.get(module), name, None)
        if owner is not None:
            yield from _callables(path, owner)
    package = __name__.rpartition(".")[0]
    for name in OWN:
        owner = sys.modules.get("{}.{}".format(package, name))
        if owner is not None:
            yield from _callables("the harness: {}".format(name), owner)
            for kind in list(vars(owner).values()):
                if isinstance(kind, type) and kind.__module__ == owner.__name__:
                    yield from _callables("the harness: {}.{}".format(name, kind.__name__), kind)


def _callables(where: str, owner: Any) -> Iterator[Tuple[str, Any]]:
    for name, value in list(vars(owner).items()):
        if callable(value) or isinstance(value, (staticmethod, classmethod, property)):
            yield "{}.{}".format(where, name), value


def _same_method(value: Any, old: Any) -> bool:
    """Whether both are one function of a C type, which is wrapped anew each time that it is looked up."""
    return getattr(value, "__func__", value) is getattr(old, "__func__", old)


def _code(value: Any) -> Any:
    return getattr(getattr(value, "__func__", value), "__code__", None)


def _file(value: Any) -> str:
    code = _code(value)
    return code.co_filename if code is not None else ""


def _line(value: Any) -> int:
    code = _code(value)
    return code.co_firstlineno if code is not None else 0


def state() -> Dict[str, str]:
    """Return the switches of this process that change what other code computes, as text by name."""
    found = {
        "gc.isenabled": str(gc.isenabled()),
        "numpy.geterr": str(sorted(numpy.geterr().items())),
        "os.getcwd": os.getcwd(),
        "sys.setrecursionlimit": str(sys.getrecursionlimit()),
        "sys.gettrace": str(sys.gettrace() is not None),
        "sys.getprofile": str(sys.getprofile() is not None),
        "sys.stdout": str(type(sys.stdout)),
    }
    found.update({"os.environ[{}]".format(name): value[:80] for name, value in os.environ.items()})
    if "torch" in sys.modules:
        found.update(_of_torch(sys.modules["torch"]))
    if "jax" in sys.modules:
        found.update({"jax.config.{}".format(k): str(v) for k, v in sys.modules["jax"].config.values.items()})
    return found


def _of_torch(torch: Any) -> Dict[str, str]:
    backends = torch.backends
    return {
        "torch.get_default_dtype": str(torch.get_default_dtype()),
        "torch.get_float32_matmul_precision": torch.get_float32_matmul_precision(),
        "torch.is_grad_enabled": str(torch.is_grad_enabled()),
        "torch.are_deterministic_algorithms_enabled": str(torch.are_deterministic_algorithms_enabled()),
        "torch.get_num_threads": str(torch.get_num_threads()),
        "torch.manual_seed": _short(torch.initial_seed()),
        "torch.backends.cuda.matmul.allow_tf32": str(backends.cuda.matmul.allow_tf32),
        "torch.backends.cudnn.allow_tf32": str(backends.cudnn.allow_tf32),
        "torch.backends.cudnn.enabled": str(backends.cudnn.enabled),
        "torch.backends.cudnn.benchmark": str(backends.cudnn.benchmark),
        "torch.backends.cudnn.deterministic": str(backends.cudnn.deterministic),
        "torch.backends.mkldnn.enabled": str(getattr(backends.mkldnn, "enabled", "")),
    }


def _short(value: Any) -> str:
    """A seed is told apart, not told."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]
