"""What operators make of values in Python host code: constants, texts, products of a library, host arithmetic."""

from __future__ import annotations

import ast
from typing import Any

from kgrade.harness.integrity import calls, coverage, objects, templates
from kgrade.harness.integrity.values import UNKNOWN, Frame, Value, Walk

LONGEST_TEXT = 1 << 20
_FEW = 8  # a length is cut into more parts than this for blocks
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
    ast.LShift: "shift", ast.RShift: "shift",
}  # fmt: skip


def binary(walk: Walk, frame: Frame, node: ast.AST, left: Value, right: Value, kind: type[ast.operator]) -> Value:
    """`left OP right`: a constant, a library's product, a tensor's arithmetic, or host arithmetic."""
    own = objects.operation(walk, frame, node, left, right, kind) if left.names or right.names else None
    if own is not None:
        return own
    if kind is ast.MatMult:
        return calls.computed(walk, frame, node, "@", [left, right])
    if left.const is not UNKNOWN and right.const is not UNKNOWN:
        folded = _fold(left.const, right.const, kind)
        if folded is not UNKNOWN:
            return Value(tags=left.tags | right.tags, const=folded)
    if isinstance(left.const, str) and kind is ast.Mod:
        return template(
            walk,
            frame,
            node,
            left,
            templates.by_percent(left.const, [part.const for part in right.items or (right,)], {}),
        )
    if left.items is not None and right.items is not None and kind is ast.Add:
        return Value(left.names | right.names, left.tags | right.tags, items=left.items + right.items)
    if (left.tensor or right.tensor) and kind in _OPERATORS:
        return calls.computed(walk, frame, node, "torch." + _OPERATORS[kind], [left, right])
    if "pathlib.Path()" in left.names and kind is ast.Div:
        return Value(left.names, left.tags | {f"path:{right.const}"})
    if kind is ast.Div and isinstance(right.const, str):
        return Value(frozenset({"pathlib.Path()"}), left.tags | {f"path:{right.const}"})
    fixed = type(right.const) in (int, float) and right.const > 0
    if (
        kind in (ast.FloorDiv, ast.RShift, ast.Mult)
        and "shape" in left.tags
        and fixed
        and (kind is not ast.Mult or right.const < 1)
    ):
        if right.const == 2 and isinstance(node, ast.BinOp) and coverage.counts_pairs(node.left):
            return Value(tags=left.tags)
        few = type(right.const) is int and kind is not ast.Mult and 1 < right.const <= _FEW
        marks = {"part", f"part:{right.const}"} if few else {"part"}
        return Value(tags=left.tags | marks if kind is not ast.FloorDiv or right.const > 1 else left.tags)
    return Value(tags=left.tags | right.tags)


def template(walk: Walk, frame: Frame, node: ast.AST, source: Value, made: str | None) -> Value:
    """The text `made` from the template `source`; where it is native code, it is kept to be read."""
    if made is None:
        return Value(tags=source.tags | {"template"})
    if "__global__" in made:
        walk.strings.append((frame.scope.path, getattr(node, "lineno", 1), made))
    return Value(tags=source.tags | {"template"}, const=made)


def _fold(left: Any, right: Any, kind: type[ast.operator]) -> Any:
    if kind is ast.Add and type(left) is type(right) and type(left) in (str, bytes):
        return left + right if len(left) + len(right) < LONGEST_TEXT else UNKNOWN
    small = all(type(each) is int and abs(each) < 1 << 64 for each in (left, right))
    if small and kind in (ast.Add, ast.Sub, ast.Mult):
        return {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}[kind]
    if small and kind in (ast.Mod, ast.FloorDiv) and right:
        return left % right if kind is ast.Mod else left // right
    return UNKNOWN
