"""Recording what extensions a submission makes, where nothing is made of them: nvcc compiles their CUDA sources."""

from __future__ import annotations

import inspect
import json
import re
import types
from typing import Any, Callable, Dict, List

from torch.utils import cpp_extension

from . import cuda_stand_in, extension_requests
from .ahead import stopping, written
from .calls import Caller
from .extension_requests import Asked
from .wire import Request


class NotMade(Exception):
    """A function of an extension was called, of which nothing but the sources was kept."""


class Unmade(types.ModuleType):
    """Stands for an extension; whatever is called of it raises `NotMade`."""

    def __getattr__(self, name: str) -> Any:
        """Return a function that cannot be called; what Python asks of modules is not there."""
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*arguments: Any, **keywords: Any) -> None:
            raise NotMade("{}.{} was called: extensions are recorded here, not run".format(self.__name__, name))

        return refuse


class ExtensionsAhead:
    """Serves the requests about extensions; `facts` say what the device says of itself."""

    def __init__(self, facts: cuda_stand_in.Facts, caller: Caller) -> None:
        self.caller = caller
        self.asked: List[Asked] = []
        cuda_stand_in.install(facts)
        extension_requests.install(self._record)

    def _record(self, asked: Asked) -> Any:
        self.asked.append(asked)
        return Unmade(asked.name) if asked.is_python_module else asked.name

    def capture(self, request: Request, function: Callable[..., Any]) -> Dict[str, Any]:
        """Call `function` once, on tensors without data, until it calls a function of an extension."""
        from .without_data import empty_inputs, without_data

        stopped = None
        try:
            with without_data():
                function(**empty_inputs(request.message["inputs"], self.caller.arrays._laid_out))
        except BaseException as error:  # noqa: BLE001 (what was made before the error is worth having)
            stopped = stopping(error)
        return {"stopped": stopped}

    def captured(self, request: Request) -> Dict[str, Any]:
        """Write what was recorded, and the flags that PyTorch itself gives to nvcc, as JSON to the shared memory."""
        told = {
            "extensions": [
                {"name": each.name, "pieces": each.pieces, "flags": each.cuda_flags, "includes": each.includes}
                for each in self.asked
            ],
            "flags": [*cpp_extension.COMMON_NVCC_FLAGS, _standard()],
        }
        return {"outputs": written(request, json.dumps(told).encode())}


def _standard() -> str:
    """Return the option by which this PyTorch names the C++ standard of extensions."""
    stated = re.search(r"-std=c\+\+\d+", inspect.getsource(cpp_extension))
    return stated.group(0) if stated else "-std=c++17"
