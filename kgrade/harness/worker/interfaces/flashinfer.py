"""Interface `flashinfer`: a solution's entry point with its definition's inputs, and its outputs to be filled."""

from __future__ import annotations

from typing import Any, Callable, Dict

from .function import load


def load_filling(file: str, attribute: str) -> Callable[..., Any]:
    """Return what calls an entry point that fills the outputs it is handed; `form` says their shapes and dtypes."""
    import torch

    entry = load(file, attribute)

    def call(form: Dict[str, Any], **inputs: Any) -> Any:
        outputs = {
            each["name"]: torch.empty(each["shape"], dtype=getattr(torch, each["dtype"]), device="cuda")
            for each in form["outputs"]
        }
        entry(*inputs.values(), *outputs.values())
        return outputs

    return call


def load_returning(file: str, attribute: str) -> Callable[..., Any]:
    """Return what calls an entry point that returns its outputs."""
    entry = load(file, attribute)

    def call(form: Dict[str, Any], **inputs: Any) -> Any:
        return entry(*inputs.values())

    return call


def load_reference(file: str, attribute: str) -> Callable[..., Any]:
    """Return what calls a definition's `run`, by the names of its inputs."""
    run = load(file, attribute)

    def call(form: Dict[str, Any], **inputs: Any) -> Any:
        return run(**inputs)

    return call
