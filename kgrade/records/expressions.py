"""Arithmetic over a case's symbols: shapes, work and requirements. Parsed, never evaluated as code.

Accepted: `+ - * / // % **`, unary minus, `min max ceil log2`, names, numbers; and, for requirements only,
one comparison or several joined by `and`. Everything else is refused by name.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping

LONGEST = 400
LARGEST = 2**63
Value = int | float

_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Value, Value], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., Value]] = {"min": min, "max": max, "ceil": math.ceil, "log2": math.log2}


class ExpressionError(ValueError):
    """An expression that cannot be read or has no value; the text says which and why."""


class Expression:
    """A parsed expression. `symbols` are the names it needs."""

    def __init__(self, text: str | int | float) -> None:
        self.text = str(text)
        self._node = _parse(self.text)
        self.symbols = frozenset(_symbols(self._node))

    def __call__(self, values: Mapping[str, Value]) -> Value:
        """Return the value with the symbols' `values`; raise ExpressionError when there is none."""
        try:
            result = _evaluate(self._node, values)
        except KeyError as missing:
            raise ExpressionError(f"{self.text!r} needs the symbol {missing.args[0]}") from None
        except (ArithmeticError, ValueError) as why:
            raise ExpressionError(f"{self.text!r} has no value here: {why}") from None
        if isinstance(result, complex) or not math.isfinite(result):
            raise ExpressionError(f"{self.text!r} has no finite value here")
        return result

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


class Requirement:
    """A parsed condition such as `M >= 1` or `K % 16 == 0 and K <= 4096`."""

    def __init__(self, text: str) -> None:
        self.text = text
        body = _body(text)
        parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
        self._comparisons = [_comparison(text, part) for part in parts]
        self.symbols = frozenset(
            name
            for first, rest in self._comparisons
            for node in [first, *(n for _, n in rest)]
            for name in _symbols(node)
        )

    def __call__(self, values: Mapping[str, Value]) -> bool:
        """Whether the condition holds; raise ExpressionError when a symbol is missing."""
        try:
            return all(_holds(first, rest, values) for first, rest in self._comparisons)
        except KeyError as missing:
            raise ExpressionError(f"{self.text!r} needs the symbol {missing.args[0]}") from None
        except (ArithmeticError, ValueError) as why:
            raise ExpressionError(f"{self.text!r} has no value here: {why}") from None


_Comparison = tuple[ast.expr, list[tuple[Callable[[Value, Value], bool], ast.expr]]]


def _body(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise ExpressionError(f"an expression of {len(text)} characters; at most {LONGEST} are read")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text!r} is not arithmetic") from None


def _parse(text: str) -> ast.expr:
    node = _body(text)
    _accept(text, node)
    return node


def _comparison(text: str, node: ast.expr) -> _Comparison:
    if not isinstance(node, ast.Compare) or any(type(op) not in _COMPARE for op in node.ops):
        raise ExpressionError(f"{text!r} is no comparison; expected such as M >= 1")
    for side in [node.left, *node.comparators]:
        _accept(text, side)
    return node.left, [(_COMPARE[type(op)], right) for op, right in zip(node.ops, node.comparators, strict=True)]


def _holds(
    first: ast.expr, rest: list[tuple[Callable[[Value, Value], bool], ast.expr]], values: Mapping[str, Value]
) -> bool:
    left = _evaluate(first, values)
    for compare, node in rest:
        right = _evaluate(node, values)
        if not compare(left, right):
            return False
        left = right
    return True


def _accept(text: str, node: ast.expr) -> None:
    match node:
        case ast.Constant(value=bool()):
            raise ExpressionError(f"{text!r} holds True or False; expected arithmetic")
        case ast.Constant(value=int() | float()) | ast.Name():
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            _accept(text, left)
            _accept(text, right)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _accept(text, operand)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS and args:
            for argument in args:
                _accept(text, argument)
        case _:
            part = ast.unparse(node)
            raise ExpressionError(f"{text!r} holds {part!r}; only + - * / // % **, min max ceil log2, names, numbers")


def _symbols(node: ast.expr) -> Iterator[str]:
    called = {id(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and id(part) not in called:
            yield part.id


def _evaluate(node: ast.expr, values: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=int() | float() as value):
            return _bounded(value)
        case ast.Name(id=name):
            return _bounded(values[name])
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _evaluate(left, values), _evaluate(right, values)
            if isinstance(op, ast.Pow) and abs(b) > 64:
                raise ValueError(f"a power of {b}")
            return _bounded(_BINARY[type(op)](a, b))
        case ast.UnaryOp(op=op, operand=operand):
            value = _evaluate(operand, values)
            return -value if isinstance(op, ast.USub) else value
        case ast.Call(func=ast.Name(id=name), args=args):
            return _call(name, [_evaluate(argument, values) for argument in args])
    raise ValueError(ast.dump(node))


def _call(name: str, arguments: list[Value]) -> Value:
    if name in ("ceil", "log2") and len(arguments) != 1:
        raise ValueError(f"{name} takes one value, not {len(arguments)}")
    if name in ("min", "max") and len(arguments) < 2:
        raise ValueError(f"{name} takes at least two values")
    return _bounded(_FUNCTIONS[name](*arguments))


def _bounded(value: Value) -> Value:
    if isinstance(value, int) and abs(value) > LARGEST:
        return float(value)
    return value
