"""One call of a function from the queue: bytes to arrays, the call, arrays to bytes."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional

from .interfaces.function import WrongForm, outputs
from .trees import taken_apart
from .wire import Request

ALIGNMENT = 256


def prepared(prepare: Optional[Callable[..., Any]], inputs: Dict[str, Any]) -> None:
    """Let `prepare` see the inputs; the dict that it returns is given to the call too."""
    made = prepare(**inputs) if prepare is not None else None
    if made is None:
        return
    if not isinstance(made, dict):
        raise WrongForm("prepare returned {!r:.80}; expected a dict of further arguments, or None".format(made))
    inputs.update(made)


class Caller:
    """Calls functions on arrays of one framework."""

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays

    def inputs(self, request: Request, key: str = "inputs") -> Dict[str, Any]:
        """Return fresh arguments by name; `widen` in the request converts floating ones to float64."""
        made = {}
        for spec in request.message[key]:
            if "value" in spec:
                made[spec["name"]] = spec["value"]
                continue
            array = self.arrays.load(
                request.inputs, spec["offset"], spec["shape"], spec["dtype"], spec.get("layout", "contiguous")
            )
            made[spec["name"]] = self.arrays.widen(array) if request.message.get("widen") else array
        return made

    def call(
        self, request: Request, function: Callable[..., Any], prepare: Optional[Callable[..., Any]] = None
    ) -> Dict[str, Any]:
        """Call `function` once; write its outputs to the shared memory; say which inputs it changed."""
        inputs = self.inputs(request)
        prepared(prepare, inputs)
        names = [spec["name"] for spec in request.message["outputs"]]
        begin = time.perf_counter()
        if request.message.get("gradients"):
            values = self._with_gradients(request, function, inputs, names)
        else:
            result = function(**inputs)
            self.arrays.finish(result)
            values = outputs(result, names, inputs)
        seconds = time.perf_counter() - begin
        return {
            "outputs": self.write(request, values),
            "touched": self.touched(request, inputs),
            "seconds": seconds,
        }

    def _with_gradients(
        self, request: Request, function: Callable[..., Any], inputs: Dict[str, Any], names: List[str]
    ) -> List[Any]:
        wanted = request.message["gradients"]
        upstream = self.inputs(request, "upstream")
        forward = [name for name in names if name in upstream]
        result, pull = self.arrays.gradients(function, inputs, wanted)
        values = outputs(result, forward, inputs)
        gradients = pull(values, [upstream[name] for name in forward])
        self.arrays.finish(gradients)
        return [*values, *gradients]

    def write(
        self, request: Request, values: List[Any], specs: Optional[List[Dict[str, Any]]] = None
    ) -> List[Dict[str, Any]]:
        """Write arrays to their places in the shared memory; one that does not fit is described, not written."""
        described = []
        for spec, value in zip(request.message["outputs"] if specs is None else specs, values):
            dtype, shape, strides, raw = self.arrays.unload(value)
            fits = len(raw) <= spec["room"]
            if fits and request.outputs is not None:
                request.outputs[spec["offset"] : spec["offset"] + len(raw)] = raw
            described.append(
                {"name": spec["name"], "dtype": dtype, "shape": shape, "strides": strides, "written": fits}
            )
        return described

    def make(self, request: Request, maker: Callable[..., Any]) -> Dict[str, Any]:
        """Call `maker`; write the arrays that it made one after the other, and describe them and the form they fill."""
        form, made = taken_apart(maker(**request.message["details"]), request.message["name"])
        described, offset = [], 0
        for name, value in made:
            dtype, shape, _, raw = self.arrays.unload(value)
            if request.outputs is None or offset + len(raw) > request.message["room"]:
                raise WrongForm("the inputs take more than {} bytes".format(request.message["room"]))
            request.outputs[offset : offset + len(raw)] = raw
            described.append({"name": name, "dtype": dtype, "shape": shape, "offset": offset})
            offset += -(-len(raw) // ALIGNMENT) * ALIGNMENT
        return {"made": described, "form": form}

    def make_without_data(self, request: Request, maker: Callable[..., Any]) -> Dict[str, Any]:
        """Call `maker` where tensors have no data; describe what it made as `make` does."""
        from .without_data import without_data

        with without_data():
            form, made = taken_apart(maker(**request.message["details"]), request.message["name"])
        described = [
            {"name": name, "dtype": str(value.dtype).replace("torch.", ""), "shape": list(value.shape)}
            for name, value in made
        ]
        return {"made": described, "form": form}

    def touched(self, request: Request, inputs: Dict[str, Any]) -> List[str]:
        """Name the inputs whose bytes are no longer those that came in."""
        touched: List[str] = []
        if request.inputs is None or request.message.get("widen"):
            return touched
        for spec in request.message["inputs"]:
            if "value" in spec:
                continue
            raw = self.arrays.unload(inputs[spec["name"]])[3]
            if raw != request.inputs[spec["offset"] : spec["offset"] + len(raw)]:
                touched.append(spec["name"])
        return touched

    def judge(self, request: Request, checker: Callable[..., Any]) -> Dict[str, Any]:
        """Run the task's own checker on numpy arrays (inputs, outputs, reference); return its verdict and message."""
        groups = [self.inputs(request, key) for key in ("inputs", "outputs", "reference")]
        verdict = checker(*groups)
        if not isinstance(verdict, tuple) or len(verdict) != 2:
            raise WrongForm("the checker returned {!r:.80}; expected (bool, message)".format(verdict))
        return {"passed": bool(verdict[0]), "message": str(verdict[1])}
