"""Interface `kernelbench`: modules `Model` and `ModelNew`, their inputs from `get_inputs` and `get_init_inputs`.

Weights match by an equal seed before construction, as the benchmark has it, so a submission that creates its
parameters in another order or number is wrong there and here.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict

from ..trees import put_together
from .function import WrongForm, load


def load_inputs(file: str, attribute: str) -> Callable[..., Any]:
    """Return what makes the inputs of a case; its symbols replace the sizes that the problem's module defines."""
    import torch

    get_inputs = load(file, attribute)
    module = sys.modules[get_inputs.__module__]

    def make(symbols: Dict[str, int], dtype: str, seed: int, **details: Any) -> Any:
        for name, size in symbols.items():
            if not isinstance(getattr(module, name, None), int):
                raise WrongForm("the problem defines no size {!r} at the top of its module".format(name))
            setattr(module, name, size)
        torch.manual_seed(seed)
        arguments = list(get_inputs())
        init: Any = getattr(module, "get_init_inputs", list)()
        wanted = getattr(torch, dtype)
        made = [
            each.to(wanted) if isinstance(each, torch.Tensor) and each.is_floating_point() else each
            for each in arguments
        ]
        return {"args": made, "init": init, "seed": seed, "dtype": dtype}

    return make


def load_model(file: str, attribute: str) -> Callable[..., Any]:
    """Return what calls a module of the class `attribute`, built once for each seed and dtype."""
    import torch

    built = load(file, attribute)
    kept: Dict[Any, Any] = {}

    def call(form: Dict[str, Any], **arrays: Any) -> Any:
        given = put_together(form, arrays)
        key = (given["seed"], given["dtype"])
        if key not in kept:
            kept.clear()
            torch.manual_seed(given["seed"])
            init = given["init"]
            model = built(**init) if isinstance(init, dict) else built(*init)
            kept[key] = model.to(device="cuda", dtype=getattr(torch, given["dtype"]))
        with torch.no_grad():
            return kept[key](*given["args"])

    return call
