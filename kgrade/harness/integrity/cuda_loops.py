"""Loops of CUDA kernels that read a part of what they stand before: strides with gaps, and caps on a length."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kgrade.harness.integrity.cuda_unit import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_FEW = 4  # larger steps go from tile to tile
_LEAST = 16  # smaller caps are vectors of one thread, not samples
_WIDE = re.compile(r"\b(float|double|int|uint|half|__half|char|uchar|short|ushort)[234]\b|reinterpret_cast|cp\.async")
_DECLARED = re.compile(r"\b(?:int|auto|unsigned|long|size_t|u?int(?:32|64)_t)\s+(\w+)\s*=\s*([^;]{1,200});")
_MOST_TEXT = 1 << 16
_GRID = {"blockIdx", "gridDim", "cluster", "gridIdx"}


def declarations(text: str) -> Mapping[str, str]:
    """What each whole number that a kernel declares once is declared as."""
    found: dict[str, str] = {}
    again: set[str] = set()
    for name, value in _DECLARED.findall(text[:_MOST_TEXT]):
        again |= {name} & found.keys()
        found[name] = value
    return {name: value for name, value in found.items() if name not in again}


def wide(text: str) -> bool:
    """Whether a kernel reads several elements at once."""
    return _WIDE.search(text) is not None


def partial(loop: Node, function: Mapping[str, str], parameters: Mapping[str, bool]) -> Iterator[str]:
    """Yield what of a length a loop leaves out: `every 2nd`, `all but the first 128`.

    `function` holds the kernel's declarations; `parameters` are the kernel's, and whether each points.
    """
    variable, start = _starts(loop)
    if not variable or "[" not in text_of(loop.child_by_field_name("body")):
        return
    yield from _gaps(loop, function, variable, start, parameters)
    yield from _caps(loop, function, start, parameters)


def _starts(loop: Node) -> tuple[str, str]:
    """The variable of a loop, and where it starts."""
    match = re.search(r"(\w+)\s*(?:=|\{)\s*([^;}]*)", text_of(loop.child_by_field_name("initializer"))[:200])
    return (match.group(1), match.group(2)) if match else ("", "")


def _gaps(
    loop: Node, function: Mapping[str, str], variable: str, start: str, parameters: Mapping[str, bool]
) -> Iterator[str]:
    """A step of which the body reads the first part only."""
    update = text_of(loop.child_by_field_name("update"))[:200]
    match = re.match(rf"\s*{variable}\s*\+=\s*(.+)$", update) or re.match(
        rf"\s*{variable}\s*=\s*{variable}\s*\+\s*(.+)$", update
    )
    if match is None or _GRID & _words(_told(function, start)):
        return
    step, body = match.group(1).strip(" ()"), loop.child_by_field_name("body")
    inner = {_starts(each)[0] for each in _loops(body)} - {""}
    bounds = " ".join(text_of(each.child_by_field_name("condition")) for each in _loops(body))
    if step.isdigit():
        alone = start.strip().isdigit() and not inner and not _offsets(text_of(body), variable)
        if alone and 1 < int(step) <= _FEW:
            yield f"every {step}th element"
        return
    factors, begins = _words(_told(function, step)), _told(function, start)
    scalars = {name for name in factors if parameters.get(name) is False} - _words(bounds) - _words(begins)
    if scalars and "*" in step and "threadIdx" in begins and not _GRID & factors:
        yield f"one part in {', '.join(sorted(scalars))}"


def _offsets(body: str, variable: str) -> bool:
    """Whether something beside the loop's variable itself is read in a turn: `c + 1`, `c + lane`."""
    return bool(
        re.search(rf"\b{variable}\s*\+\s*\w|\+\+\s*{variable}|{variable}\s*\|", body)
        or re.search(rf"\b[1-9]\d*\s*\+\s*{variable}\b", body)
    )


def _caps(loop: Node, function: Mapping[str, str], start: str, parameters: Mapping[str, bool]) -> Iterator[str]:
    """A loop over a length that ends at a fixed number, where the length is longer."""
    condition = text_of(loop.child_by_field_name("condition"))[:200]
    told = _told(function, condition.partition("<")[2])
    for first, second in re.findall(r"\b(?:f?min|std::min)\w*\s*\(\s*([^(),]+?)\s*,\s*([^(),]+?)\s*\)", told):
        for length, cap in ((first, second), (second, first)):
            fixed = re.fullmatch(r"(?:\(\w+\))?\s*(\d+)[uUlL]*", cap)
            capped = fixed is not None and int(fixed.group(1)) >= _LEAST and parameters.get(length.strip()) is False
            if fixed is not None and capped and not _GRID & _words(_told(function, start)):
                yield f"all but the first {fixed.group(1)}"
                return


def _told(declared: Mapping[str, str], expression: str) -> str:
    """An expression with the names in it replaced, twice, by what they are declared as."""

    def put(match: re.Match[str]) -> str:
        return f"({declared[match[0]]})" if match[0] in declared else match[0]

    for _ in range(2):
        expression = re.sub(r"[A-Za-z_]\w*", put, expression)[:2000]
    return expression


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _loops(node: Node | None) -> Iterator[Node]:
    waiting = list(node.named_children) if node is not None else []
    while waiting:
        each = waiting.pop()
        if each.type == "for_statement":
            yield each
        waiting += each.named_children
