"""Interface `gpumode`: `custom_kernel(data)` beside `generate_input`, `ref_kernel` and `check_implementation`."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Tuple

from ..trees import put_together
from .function import load

SEEDS = 2**31  # what every generator of random numbers takes


def load_inputs(file: str, attribute: str) -> Callable[..., Any]:
    """Return what makes a case's data: `generate_input` with the case's arguments and a seed of kgrade's."""
    import torch

    generate = load(file, attribute)
    takes = inspect.signature(generate).parameters

    def make(symbols: Dict[str, int], dtype: str, seed: int, **details: Any) -> Any:
        torch.manual_seed(seed)
        given = dict(symbols, seed=seed % SEEDS) if "seed" in takes else symbols
        return generate(**given)

    return make


def load_kernel(file: str, attribute: str) -> Callable[..., Any]:
    """Return what calls `custom_kernel`, or the reference, with the case's data."""
    kernel = load(file, attribute)

    def call(form: Dict[str, Any], **arrays: Any) -> Any:
        return kernel(put_together(form, arrays))

    return call


def load_checker(file: str, attribute: str) -> Callable[..., Any]:
    """Return what asks `check_implementation`; an older one says what is wrong in a string, empty for nothing."""
    check = load(file, attribute)

    def judge(inputs: Dict[str, Any], outputs: Dict[str, Any], reference: Dict[str, Any]) -> Tuple[bool, str]:
        data = put_together(inputs.pop("form"), inputs)
        values = tuple(outputs.values())
        said = check(data, values[0] if len(values) == 1 else values)
        if isinstance(said, tuple):
            return bool(said[0]), str(said[1])
        return not said, str(said or "")

    return judge
