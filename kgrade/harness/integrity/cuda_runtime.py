"""Functions of the CUDA runtime in host code, told in Python: memory, copies, streams and graphs."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from kgrade.harness.integrity.cuda_names import LAUNCHERS
from kgrade.harness.integrity.cuda_reader import Reader
from kgrade.harness.integrity.cuda_unit import text_of

if TYPE_CHECKING:
    from tree_sitter import Node


def _allocated(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    if given:
        reader.assign(node, given[0], reader.call(node, "torch.empty"))
    return ast.Constant(0)


def _copied(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    """`cudaMemcpy`: a host variable reads the data, a device pointer is written."""
    if len(given) < 3:
        return ast.Constant(0)
    into, source = given[:2]
    kind = text_of(node)
    local = isinstance(into, ast.Name) and into.id not in reader.pointers
    if "DeviceToHost" in kind or ("Default" in kind and local):
        reader.assign(node, into, reader.method(node, source, "item"))
    elif "HostToDevice" not in kind or not isinstance(source, ast.Constant):
        reader.do(node, reader.method(node, into, "copy_", [source]))
    return ast.Constant(0)


def _set(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    if given:
        reader.do(node, reader.method(node, given[0], "zero_"))
    return ast.Constant(0)


def _stream(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    if given:
        reader.assign(node, given[0], reader.call(node, "torch.cuda.Stream"))
    return ast.Constant(0)


def _waits(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    return reader.method(node, given[0], "wait_event", given[1:2]) if given else ast.Constant(0)


def _begins(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    reader.assign(node, reader.name(node, "captured graph"), reader.call(node, "torch.cuda.CUDAGraph"))
    reader.do(node, reader.method(node, reader.name(node, "captured graph"), "capture_begin"))
    return ast.Constant(0)


def _ends(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    reader.do(node, reader.method(node, reader.name(node, "captured graph"), "capture_end"))
    if len(given) > 1:
        reader.assign(node, given[1], reader.name(node, "captured graph"))
    return ast.Constant(0)


def _instantiated(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    if len(given) > 1:
        reader.assign(node, given[0], given[1])
    return ast.Constant(0)


def _replayed(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    return reader.method(node, given[0], "replay") if given else ast.Constant(0)


def _equal(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    return reader.at(node, ast.Compare(given[0], [ast.NotEq()], [given[1]])) if len(given) > 1 else ast.Constant(0)


def _pair(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    return reader.at(node, ast.Tuple(given, ast.Load()))


RUNTIME: dict[str, Callable[[Reader, Node, list[ast.expr]], ast.expr]] = {
    "cudaStreamWaitEvent": _waits, "cudaStreamBeginCapture": _begins, "cudaStreamEndCapture": _ends,
    "cudaGraphLaunch": _replayed, "memcmp": _equal, "strcmp": _equal, "make_pair": _pair, "make_tuple": _pair,
    "tie": _pair, "dim3": _pair,
}  # fmt: skip
STEMS: dict[str, Callable[[Reader, Node, list[ast.expr]], ast.expr]] = {
    "cudaMalloc": _allocated, "hipMalloc": _allocated, "cudaMemcpy": _copied, "hipMemcpy": _copied,
    "cudaMemset": _set, "hipMemset": _set, "cudaStreamCreate": _stream, "hipStreamCreate": _stream,
    "cudaGraphInstantiate": _instantiated,
}  # fmt: skip


def special(name: str) -> Callable[[Reader, Node, list[ast.expr]], ast.expr] | None:
    """How the function of the runtime called `name` is told, or None."""
    known = RUNTIME.get(name) or next((made for key, made in STEMS.items() if name.startswith(key)), None)
    return known or (_succeeds if name.startswith(("cuda", "hip")) and name not in LAUNCHERS else None)


def _succeeds(reader: Reader, node: Node, given: list[ast.expr]) -> ast.expr:
    """Anything else of the runtime: it succeeds, and sets what it is given the address of."""
    for each, value in zip(_plain(node), given, strict=False):
        if text_of(each).startswith("&"):
            reader.assign(node, value, reader.unknown(node))
    return ast.Constant(0)


def _plain(node: Node) -> list[Node]:
    given = node.child_by_field_name("arguments")
    return [each for each in (given.named_children if given is not None else []) if each.type != "comment"]
