"""Interface `function`: a Python file with `entry(**inputs)`, which returns an array, a tuple or a dict of them."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any, Callable, Dict, List

import numpy


class WrongForm(Exception):
    """The submission does not have the form that its interface asks for."""


def load(file: str, name: str) -> Callable[..., Any]:
    """Import `file` and return its function `name`. Its neighbours can be imported by their plain names."""
    folder = os.path.dirname(file)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module_name = os.path.splitext(os.path.basename(file))[0]
    module = sys.modules.get(module_name)
    if module is None or getattr(module, "__file__", None) != file:
        spec = importlib.util.spec_from_file_location(module_name, file)
        if spec is None or spec.loader is None:
            raise WrongForm("{} is not a Python file".format(os.path.basename(file)))
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
    function: Any = getattr(module, name, None)
    if not callable(function):
        raise WrongForm("{} defines no function {!r}".format(os.path.basename(file), name))
    loaded: Callable[..., Any] = function
    return loaded


def load_generator(file: str, name: str) -> Callable[..., Any]:
    """Return what makes one input: the task's `name(shape, symbols, rng)`, with numpy's generator seeded by kgrade."""
    make = load(file, name)

    def generate(symbols: Dict[str, int], seed: int, shape: List[int], **details: Any) -> Any:
        return numpy.asarray(make(tuple(shape), dict(symbols), numpy.random.default_rng(seed)))

    return generate


def outputs(result: Any, names: List[str], inputs: Dict[str, Any]) -> List[Any]:
    """Return the outputs called `names` from what the call returned; None means they were written in place."""
    if result is None:
        missing = [name for name in names if name not in inputs]
        if missing:
            raise WrongForm("the call returned None; expected {}".format(", ".join(missing)))
        return [inputs[name] for name in names]
    if isinstance(result, dict):
        missing = [name for name in names if name not in result]
        if missing:
            raise WrongForm("the returned dict lacks {}".format(", ".join(missing)))
        return [result[name] for name in names]
    values = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(values) != len(names):
        raise WrongForm(
            "the call returned {} outputs; expected {}: {}".format(len(values), len(names), ", ".join(names))
        )
    return values
