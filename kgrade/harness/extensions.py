"""CUDA sources inside Python submissions (`load_inline`, `load`): how their worker makes them for CPU emulation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import kgrade
from kgrade.harness.build.targets import Architecture
from kgrade.harness.compiled import Behind
from kgrade.harness.emulator.compiler import NO_COMPILER, Compiler, find_compiler, runtime_cache
from kgrade.harness.emulator.torch_headers import NO_HEADERS, TorchHeaders
from kgrade.harness.extension_sources import makes_extensions
from kgrade.harness.launch_bounds import extension_bounds
from kgrade.harness.methods import Method
from kgrade.harness.run import Run
from kgrade.harness.sandbox import Bind, find_interpreter
from kgrade.harness.watching import REGISTERS, UNSEEN, emulated_target, launch_limits

_PROGRAM = """
import runpy, sys
sys.path[:0] = sys.argv[1:]
runpy.run_module("kgrade.harness.emulator.extension", run_name="__main__")
"""


class NotHere(Exception):
    """This machine lacks what emulating an extension takes; the message says what."""


@dataclass(frozen=True)
class Emulation:
    """How a worker makes extensions: what it is `told` (see `worker/extensions.py`), and what it must see for that.

    `bounds` are the most threads of a block by kernel, None where its registers are not known.
    """

    arch: Architecture
    told: dict[str, Any]
    binds: tuple[Bind, ...]
    compiler: Compiler
    bounds: dict[str, int] | None = None

    def described(self, method: Method) -> Method:
        """Return `method` with what emulation adds to it."""
        text = f"{method.text}; CUDA sources of extensions in CPU emulation of {self.arch.name}"
        if self.bounds is None:
            return replace(method, text=text, unseen=(*method.unseen, *UNSEEN))
        unseen = (*method.unseen, *(what for what in UNSEEN if what != REGISTERS))
        return replace(method, text=f"{text}, registers from ptxas", unseen=unseen)

    def watched(self) -> Emulation:
        """Return the same under the checks of memory, races and barriers."""
        prepared = self.compiler.prepare(checks=True)
        return replace(self, told={**self.told, "checks": True}, binds=(*self.binds, Bind(prepared, prepared)))


def emulation(run: Run) -> Emulation | None:
    """Return how the extensions of this submission are made; None where it loads none. Raises `NotHere`.

    The runtime and its precompiled header are prepared here, once for every PyTorch and compiler.
    """
    if not makes_extensions(run.source.solution):
        return None
    executable = find_compiler()
    if executable is None:
        raise NotHere(NO_COMPILER)
    torch = TorchHeaders.of(run.machine.interpreter.executable)
    if torch is None:
        raise NotHere(NO_HEADERS)
    cache = runtime_cache() if run.machine.wall.moves_paths else run.folder / "runtime"
    compiler = Compiler(executable, cache, Behind(run), torch=torch)
    prepared = compiler.prepare(checks=False)
    package, own = Path(kgrade.__file__).parent, find_interpreter()
    arch = emulated_target(run.source.task)
    bounds = extension_bounds(run, arch)
    told = {
        "command": [own.executable, "-I", "-B", "-c", _PROGRAM, str(package.parent), *own.path],
        "compiler": {"executable": str(executable), "cache": str(cache), "torch": torch.telling()},
        "arch": int(arch.name.removeprefix("sm_")),
        "target": launch_limits(arch),
        "bounds": bounds or {},
        "checks": False,
    }
    binds = tuple(Bind(path, path) for path in (package, prepared, *own.folders))
    return Emulation(arch, told, binds, compiler, bounds)
