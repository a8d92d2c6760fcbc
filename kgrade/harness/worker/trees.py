"""Nested arguments across the wall: arrays travel as bytes under names of their own, the rest as a JSON form.

A form is `{"array": name}`, `{"list": [form...]}`, `{"tuple": [form...]}`, `{"dict": [[key, form]...]}`,
`{"float": text}`, `{"dtype": name}` or `{"value": plain}`. Nothing in it is evaluated.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Tuple

import numpy as np

PLAIN = (str, bool, int, type(None))
DEPTH = 16


class NotSendable(TypeError):
    """A value that is neither an array nor made of plain data."""


def taken_apart(value: Any, name: str, depth: int = 0) -> Tuple[Dict[str, Any], List[Tuple[str, Any]]]:
    """Return the form of `value` and its arrays, named `name`, `name.0`, `name.key` after where they stand.

    With an empty name the parts stand for themselves.
    """
    if depth > DEPTH:
        raise NotSendable("{} is nested deeper than {}".format(name, DEPTH))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray) or _is_tensor(value):
        return {"array": name}, [(name, value)]
    if isinstance(value, float):
        return {"float": repr(value)}, []
    if type(value) in PLAIN:
        return {"value": value}, []
    if type(value) in (list, tuple):
        forms, arrays = [], []
        for index, each in enumerate(value):
            form, found = taken_apart(each, _below(name, index), depth + 1)
            forms.append(form)
            arrays += found
        return {type(value).__name__: forms}, arrays
    if type(value) is dict and all(type(key) in (str, int) for key in value):
        pairs, arrays = [], []
        for key, each in value.items():
            form, found = taken_apart(each, _below(name, key), depth + 1)
            pairs.append([key, form])
            arrays += found
        return {"dict": pairs}, arrays
    if _is_torch(value, "dtype"):
        return {"dtype": str(value).replace("torch.", "")}, []
    raise NotSendable(
        "{} is a {}: only arrays, numbers, text and lists, tuples and dicts of them can cross the wall".format(
            name, type(value).__name__
        )
    )


def _below(name: str, key: Any) -> str:
    return "{}.{}".format(name, key) if name else str(key)


def put_together(form: Dict[str, Any], arrays: Dict[str, Any]) -> Any:
    """Return the value that `form` describes, with `arrays` in their places."""
    ((kind, content),) = form.items()
    if kind == "array":
        return arrays[content]
    if kind in ("list", "tuple"):
        values = [put_together(each, arrays) for each in content]
        return values if kind == "list" else tuple(values)
    if kind == "dict":
        return {key: put_together(each, arrays) for key, each in content}
    if kind == "float":
        return float(content)
    if kind == "dtype":
        return getattr(sys.modules["torch"], content)
    return content


def _is_torch(value: Any, name: str) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, name))


def _is_tensor(value: Any) -> bool:
    return _is_torch(value, "Tensor")
