"""Compiling ahead of time, for a device that is not here: record what host code launches, then lower it."""

from __future__ import annotations

import traceback
from typing import Any, Callable, Dict, Tuple

import numpy as np

from .arrays import NumpyArrays
from .calls import Caller
from .wire import Request, shortened

ANSWER_LAUNCHES = 40  # as many as fit into an answer beside a traceback


def prepare_ahead(framework: str, device: Dict[str, Any], caller: Caller) -> Tuple[Any, Dict[str, str]]:
    """Return what serves `capture` and `lower` for kernels of `framework` on `device`, and versions.

    Where the device's facts name `extensions`, their sources are recorded instead of launches.
    """
    if framework == "jax":
        from .pallas_lowering import PallasAhead

        return PallasAhead(device, caller), {}
    from .cuda_stand_in import Facts

    facts = Facts(
        (device["backend"], device["architecture"], device["warp_size"]),
        tuple(device["capability"]),
        device["multiprocessors"],
        device["shared_bytes"],
    )
    if device.get("extensions"):
        from .extension_sources import ExtensionsAhead

        return ExtensionsAhead(facts, caller), {}
    from .triton_launches import Recorder, imported

    recorder = Recorder(facts)
    return TritonAhead(recorder, caller), {"triton": imported(recorder)}


class TritonAhead:
    """Serves the requests about Triton kernels."""

    def __init__(self, recorder: Any, caller: Caller) -> None:
        self.recorder = recorder
        self.caller = caller

    def capture(self, request: Request, function: Callable[..., Any]) -> Dict[str, Any]:
        """Call `function` once, on tensors without data or on real ones; say what stopped it, and what was noted."""
        stopped = None
        try:
            self._call(request, function)
        except BaseException as error:  # noqa: BLE001 (the launches before the error are worth having)
            stopped = stopping(error)
        return {"left_out": self.recorder.left_out, "pruned": self.recorder.pruned, "stopped": stopped}

    def captured(self, request: Request) -> Dict[str, Any]:
        """Return the recorded launches from number `start` on, as many as fit into an answer."""
        launches = self.recorder.described()
        start = request.message["start"]
        return {"launches": launches[start : start + ANSWER_LAUNCHES], "total": len(launches)}

    def _call(self, request: Request, function: Callable[..., Any]) -> None:
        from .without_data import empty_inputs, without_data

        if not request.message["fake"]:
            self._pulled(request, function, self.caller.inputs(request))
            return
        with without_data():
            inputs = empty_inputs(request.message["inputs"], self.caller.arrays._laid_out)
            self._pulled(request, function, inputs)

    def _pulled(self, request: Request, function: Callable[..., Any], inputs: Dict[str, Any]) -> None:
        """Call `function`, and ask for gradients where the task does: a backward pass launches kernels too."""
        names = request.message.get("gradients")
        if not names:
            function(**inputs)
            return
        result, pull = self.caller.arrays.gradients(function, inputs, names)
        values = list(result.values()) if isinstance(result, dict) else result
        outputs = values if isinstance(values, (list, tuple)) else [values]
        wanted = [value for value in outputs if getattr(value, "requires_grad", False)]
        pull(wanted, [value.detach() for value in wanted])

    def lower(self, request: Request) -> Dict[str, Any]:
        """Compile the launch that is numbered so; its text goes into the shared memory."""
        from .triton_lowering import lower

        launch = list(self.recorder.launches.values())[request.message["launch"]]
        text, details = lower(self.recorder, launch)
        return {**details, "outputs": written(request, text)}


def written(request: Request, text: bytes) -> Any:
    """Write text to the place that the request gives."""
    return Caller(NumpyArrays()).write(request, [np.frombuffer(text, np.uint8)])


def stopping(error: BaseException) -> Dict[str, str]:
    """Return what ended a capture: type, message, traceback and the last place in it."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "type": type(error).__name__,
        "message": shortened(str(error)),
        "traceback": shortened("".join(lines)),
        "place": "{}:{}".format(frames[-1].filename.rsplit("/", 1)[-1], frames[-1].lineno) if frames else "",
    }
