"""CUDA extensions of PyTorch where there is no GPU: `load_inline` and `load` make them for CPU emulation.

The sources go to a program beside this process, behind the same wall, which translates them and compiles the result
against this PyTorch's own headers. The module that comes of it takes CPU tensors, which is what all tensors are here.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Sequence

import torch

from . import extension_requests
from .arrays import TorchArrays
from .extension_requests import Asked
from .interfaces.cuda_emulated import shortened_findings
from .unwritten import Unwritten


class CannotEmulate(Exception):
    """The extension uses what CPU emulation does not run, or its translation does not compile."""


class Extensions:
    """The extensions that this process has loaded, and how more of them are made.

    `facts` holds `command` (the program), `compiler`, `arch` and `checks` (see `kgrade.harness.emulator.extension`),
    `target`, the limits that launches are held to (see `cuda_emulated.Emulated.target`), and `bounds`, the most threads
    of a block by kernel.
    """

    def __init__(self, facts: Dict[str, Any]) -> None:
        self.facts = facts
        self.libraries: List[Any] = []
        self.named: List[Dict[str, Any]] = []  # for each library its path, and the names of its sources
        self.order = 0

    def install(self) -> None:
        """Take the place of PyTorch's own functions; memory that C++ code allocates holds NaN until it is written."""
        extension_requests.install(self._loaded)
        torch.use_deterministic_algorithms(True, warn_only=True)  # which also fills what `empty` returns

    def _loaded(self, asked: Asked) -> Any:
        sources, places = asked.sources, asked.places
        request = {
            "name": asked.name,
            "sources": sources,
            "places": places,
            "out": tempfile.mkdtemp(prefix="extension-"),
            "checks": self.facts["checks"],
            "arch": self.facts["arch"],
            "includes": [os.path.abspath(path) for path in asked.includes],
            "defines": [flag[2:] for flag in asked.flags if flag.startswith("-D")],
            "compiler": self.facts["compiler"],
        }
        library = self._made(request)
        native = ctypes.CDLL(library)
        native.kgrade_emulator_pending.restype = ctypes.c_char_p
        native.kgrade_emulator_findings.restype = ctypes.c_char_p
        capability, multiprocessors, per_block, shared, threads, blocks = self.facts["target"]
        native.kgrade_emulator_target(
            ctypes.c_int(capability), ctypes.c_int(multiprocessors), ctypes.c_long(per_block),
            ctypes.c_long(shared), ctypes.c_int(threads), ctypes.c_int(blocks),
        )  # fmt: skip
        for kernel, most in self.facts["bounds"].items():
            native.kgrade_emulator_bound(kernel.encode(), ctypes.c_int(most))
        native.kgrade_emulator_seed(ctypes.c_ulonglong(self.order))
        self.libraries.append(native)
        self.named.append({"library": library, "sources": [places.get(path, [path])[0] for path in sources]})
        if self.facts["checks"]:
            self._watch_tensors(native)
        if not asked.is_python_module:
            torch.ops.load_library(library)
            return library
        spec = importlib.util.spec_from_file_location(asked.name, library)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def _watch_tensors(self, native: Any) -> None:
        """Let the checks of `native` know every tensor; there is one allocator, that of the first library."""
        first = self.libraries[0]
        first.kgrade_emulator_tell_tensors(ctypes.cast(native.kgrade_emulator_tensor, ctypes.c_void_p))
        if native is first:
            native.kgrade_emulator_watch_tensors()

    def findings(self) -> str:
        """Return what the checks found in the last call, one JSON object a line, with lines of the sources."""
        kept: List[str] = []
        for native, named in zip(self.libraries, self.named):
            text = shortened_findings(native.kgrade_emulator_findings())
            if text:
                answer = self._asked({"findings": text, **named})
                if answer["unreadable"] is not None:
                    raise CannotEmulate("its findings cannot be read: {}".format(answer["unreadable"]))
                kept.append(answer["findings"])
        return shortened_findings("\n".join(kept).encode())

    def _asked(self, request: Dict[str, Any]) -> Any:
        done = subprocess.run(
            self.facts["command"], input=json.dumps(request).encode(), stdout=subprocess.PIPE, check=False
        )
        if done.returncode != 0:
            raise CannotEmulate("the program that makes extensions ended with status {}".format(done.returncode))
        return json.loads(done.stdout)

    def _made(self, request: Dict[str, Any]) -> str:
        answer = self._asked(request)
        sys.stderr.write(answer["log"])
        if answer["cannot"] is not None:
            raise CannotEmulate("CPU emulation does not run {}".format(answer["cannot"]))
        if answer["library"] is None:
            raise CannotEmulate(answer["why"])
        made: str = answer["library"]
        return made

    @contextlib.contextmanager
    def running(self, order: int) -> Iterator[None]:
        """Around one call: faults of earlier ones are forgotten, those of this one are raised at its end.

        Blocks and threads run in order (0), or in an order of its own that any other number gives.
        """
        self.order = order
        for native in self.libraries:
            native.kgrade_emulator_reset()
            native.kgrade_emulator_seed(ctypes.c_ulonglong(order))
        with Unwritten(self.libraries) if self.facts["checks"] else contextlib.nullcontext():
            yield
        for native in self.libraries:
            said = native.kgrade_emulator_pending().decode(errors="replace")
            if said:  # as PyTorch says it at its next call
                raise RuntimeError(said)


class OwnArrays(TorchArrays):
    """Tensors in memory that PyTorch's allocator gave, where the checks know them."""

    def load(self, raw: Any, offset: int, shape: Sequence[int], dtype: str, layout: str = "contiguous") -> Any:
        """Return a tensor as `TorchArrays` makes it."""
        tensor = super().load(raw, offset, shape, dtype, layout)
        return tensor.clone() if layout == "contiguous" else tensor
