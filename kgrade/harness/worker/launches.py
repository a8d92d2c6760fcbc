"""How often each kernel is launched: counted where the interpreter starts one, whatever the host code calls it."""

from __future__ import annotations

import functools
import sys
from typing import Any, Dict


class Launches:
    """Counts by kernel, as `file:line name`, since the last `clear`."""

    def __init__(self) -> None:
        self.counts: Dict[str, int] = {}
        self.watched = False

    def clear(self, retrace: bool) -> None:
        """Begin again at nothing; `retrace` has JAX forget what it compiled, for it traces nothing twice."""
        self.counts.clear()
        if retrace and "jax" in sys.modules:
            sys.modules["jax"].clear_caches()

    def add(self, function: Any) -> None:
        """Count one launch of the kernel that `function` is."""
        while isinstance(function, functools.partial):
            function = function.func
        code = getattr(function, "__code__", None)
        where = "{}:{}".format(code.co_filename, code.co_firstlineno) if code is not None else "?:0"
        key = "{} {}".format(where, getattr(function, "__name__", "kernel"))
        self.counts[key] = self.counts.get(key, 0) + 1

    def watch(self) -> None:
        """Count from now on, where a Triton or Pallas interpreter is there; `watched` says whether one is."""
        interpreter = sys.modules.get("triton.runtime.interpreter")
        pallas = sys.modules.get("jax.experimental.pallas")
        if self.watched or (interpreter is None and pallas is None):
            return
        self.watched = True
        if interpreter is not None:
            _around(interpreter.InterpretedFunction, "run", lambda kernel: self.add(kernel.fn), skip="warmup")
        if pallas is not None:
            _before(pallas, "pallas_call", self.add)


def _around(owner: Any, name: str, told: Any, skip: str) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def counted(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if not keywords.get(skip):
            told(self)
        return original(self, *arguments, **keywords)

    setattr(owner, name, counted)


def _before(owner: Any, name: str, told: Any) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def counted(kernel: Any, *arguments: Any, **keywords: Any) -> Any:
        started = original(kernel, *arguments, **keywords)

        @functools.wraps(started)
        def launch(*operands: Any, **more: Any) -> Any:
            told(kernel)
            return started(*operands, **more)

        return launch

    setattr(owner, name, counted)
