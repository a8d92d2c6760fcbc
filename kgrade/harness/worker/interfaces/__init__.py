"""How a submission of each interface is called. One module per interface; all return plain callables."""

from __future__ import annotations

from typing import Any, Callable, Dict

from . import flashinfer, function, gpumode, kernelbench

KINDS: Dict[str, Callable[[str, str], Callable[..., Any]]] = {
    "function": function.load,
    "generator": function.load_generator,
    "kernelbench model": kernelbench.load_model,
    "kernelbench inputs": kernelbench.load_inputs,
    "gpumode kernel": gpumode.load_kernel,
    "gpumode inputs": gpumode.load_inputs,
    "gpumode checker": gpumode.load_checker,
    "flashinfer": flashinfer.load_filling,
    "flashinfer returning": flashinfer.load_returning,
    "flashinfer reference": flashinfer.load_reference,
}


def load(file: str, attribute: str, kind: str = "function") -> Callable[..., Any]:
    """Import `file` and return what calls its `attribute` in the manner of `kind`."""
    return KINDS[kind](file, attribute)
