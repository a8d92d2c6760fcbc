"""Whether a task's reference computes the same whatever its inputs hold: products with zeros, differences of equals.

Such a task passes any answer. Only what is sure is said: a step that is not known is taken to depend on its inputs.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

_PRODUCTS = {"mul", "multiply", "matmul", "mm", "bmm", "linear", "einsum", "dot", "conv1d", "conv2d", "conv3d"}
_MADE = {"zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "empty", "empty_like", "arange", "eye"}
_REDUCTIONS = {"max", "min", "amax", "amin", "sum", "mean", "median", "logsumexp", "prod", "norm"}
_STAYS_ZERO = {
    "relu", "gelu", "silu", "tanh", "sin", "abs", "sum", "mean", "max", "min", "view", "reshape", "t", "transpose",
    "contiguous", "to", "float", "half", "Parameter", "expand", "squeeze", "unsqueeze", "clone", "detach",
}  # fmt: skip
_SHAPED_AS = {"expand_as", "view_as", "reshape_as", "type_as", "to"}
_DEEPEST = 60


@dataclass(frozen=True)
class _Held:
    """What is known of a value: whether inputs decide it, whether it is zero, along which axes it has one element."""

    depends: bool = False
    zero: bool = False
    single: frozenset[int] = frozenset()


@dataclass
class _Reading:
    """One reference while it is read: its names, and why a value stopped depending on the inputs."""

    names: dict[str, _Held] = field(default_factory=dict)
    returned: list[_Held] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    depth: int = 0


def constant_output(source: bytes, entry: str) -> str:
    """Return why the output of `entry` does not depend on its inputs, or '' where it does or may."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    found = next((each for each in tree.body if getattr(each, "name", "") == entry), None)
    reading = _Reading()
    if isinstance(found, ast.ClassDef):
        methods = {each.name: each for each in found.body if isinstance(each, ast.FunctionDef)}
        if "__init__" in methods:
            _statements(reading, methods["__init__"].body)
        found = methods.get("forward")
        reading.returned.clear()
    if not isinstance(found, ast.FunctionDef):
        return ""
    given = [each.arg for each in (*found.args.posonlyargs, *found.args.args, *found.args.kwonlyargs)]
    reading.names |= {name: _Held(depends=True) for name in given if name != "self"}
    _statements(reading, found.body)
    sure = given and reading.returned and not any(each.depends for each in reading.returned)
    return reading.why[0] if sure and reading.why else ""


def _statements(reading: _Reading, body: Sequence[ast.stmt], *, sure: bool = True) -> None:
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            value = _value(reading, node.value)
            if isinstance(node, ast.AugAssign):
                value = _binary(reading, ast.BinOp(node.target, node.op, node.value))
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                _assign(reading, target, value, sure)
        elif isinstance(node, ast.Expr):
            _initialised(reading, node.value)
        elif isinstance(node, ast.Return) and node.value is not None:
            reading.returned.append(_value(reading, node.value))
        else:
            if isinstance(node, ast.For | ast.AsyncFor):
                _assign(reading, node.target, _Held(_value(reading, node.iter).depends), sure=True)
            # What a turn of a loop leaves behind goes into the next one.
            turns = 2 if isinstance(node, ast.For | ast.AsyncFor | ast.While) else 1
            for part in ("body", "orelse", "finalbody") * turns:
                _statements(reading, getattr(node, part, []), sure=False)


def _assign(reading: _Reading, target: ast.expr, value: _Held, sure: bool) -> None:
    if isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            _assign(reading, each, _Held(value.depends), sure)
        return
    if isinstance(target, ast.Subscript):
        target, sure = target.value, False
    name = ast.unparse(target)
    before = reading.names.get(name)
    if not sure and before is not None:
        value = _Held(before.depends or value.depends, before.zero and value.zero, before.single & value.single)
    reading.names[name] = value


def _initialised(reading: _Reading, node: ast.expr) -> None:
    """`nn.init.zeros_(self.weight)`, `self.weight.data.zero_()`; any other call may write what it is given."""
    if not isinstance(node, ast.Call):
        return
    if not isinstance(node.func, ast.Attribute) or not node.func.attr.endswith("_"):
        given = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
        names = {ast.unparse(each) for part in given for each in ast.walk(part) if isinstance(each, ast.Name)}
        reading.names |= {name: _Held(depends=True) for name in names & reading.names.keys()}
        return
    last = node.func.attr
    known = [each.value for each in node.args if isinstance(each, ast.Constant)]
    zero = last in ("zeros_", "zero_") or (last in ("constant_", "fill_") and known[-1:] == [0])
    owner = node.args[0] if last in ("zeros_", "constant_") and node.args else node.func.value
    while isinstance(owner, ast.Attribute) and owner.attr == "data":
        owner = owner.value
    depends = any(_value(reading, each).depends for each in node.args)
    reading.names[ast.unparse(owner)] = _Held(depends, zero=zero)


def _value(reading: _Reading, node: ast.expr) -> _Held:
    reading.depth += 1
    try:
        if reading.depth > _DEEPEST:
            return _Held(depends=True)
        known = reading.names.get(ast.unparse(node)) if isinstance(node, ast.Name | ast.Attribute) else None
        if known is not None:
            return known
        if isinstance(node, ast.Constant):
            return _Held(zero=type(node.value) in (int, float) and node.value == 0)
        if isinstance(node, ast.BinOp):
            return _binary(reading, node)
        if isinstance(node, ast.Call):
            return _call(reading, node)
        if isinstance(node, ast.Attribute):
            inner = _value(reading, node.value)
            return inner if node.attr in ("values", "T", "mT", "data") else _Held(inner.depends)
        parts = [_value(reading, each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        return _Held(any(part.depends for part in parts))
    finally:
        reading.depth -= 1


def _binary(reading: _Reading, node: ast.BinOp) -> _Held:
    left, right = _value(reading, node.left), _value(reading, node.right)
    either = left.depends or right.depends
    if isinstance(node.op, ast.Mult | ast.MatMult | ast.Div):
        if left.zero or (right.zero and not isinstance(node.op, ast.Div)):
            return _settled(reading, node, either, "is a product with zeros", zero=True)
    elif isinstance(node.op, ast.Sub) and (
        ast.dump(node.left) == ast.dump(node.right) or _is_mean_of(reading, node.right, node.left, left)
    ):
        return _settled(reading, node, either, "is a difference of equals", zero=True)
    single = left.single if not right.depends else right.single if not left.depends else left.single & right.single
    return _Held(either, left.zero and right.zero, single)


def _is_mean_of(reading: _Reading, node: ast.expr, of: ast.expr, held: _Held) -> bool:
    """Whether `node` reduces `of` along an axis on which that has one element, so that nothing changes."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr not in _REDUCTIONS - {"norm"}:
        return False
    given = [node.func.value, *node.args]
    axes = _axes(node)
    return bool(axes) and axes <= held.single and any(ast.dump(each) == ast.dump(of) for each in given)


def _axes(node: ast.Call) -> frozenset[int]:
    values = [keyword.value for keyword in node.keywords if keyword.arg in ("dim", "axis")]
    values += [each for each in node.args if not isinstance(each, ast.Name | ast.Attribute | ast.Call)]
    found = []
    for each in values:
        try:
            found.append(ast.literal_eval(each))
        except ValueError:
            return frozenset()
    return frozenset(each for each in found if type(each) is int)


def _call(reading: _Reading, node: ast.Call) -> _Held:
    last = ast.unparse(node.func).rpartition(".")[2]
    arguments = [_value(reading, each) for each in (*node.args, *(keyword.value for keyword in node.keywords))]
    if isinstance(node.func, ast.Attribute):
        owner = reading.names.get(ast.unparse(node.func))
        if owner is not None:
            return _layer(reading, node, arguments)
        arguments.insert(0, _value(reading, node.func.value))
        if last in _SHAPED_AS:
            return arguments[0]
    depends = any(each.depends for each in arguments)
    if last in _MADE:
        return _Held(zero=last.startswith("zeros"))
    if last in _PRODUCTS and any(each.zero for each in arguments[-2:]):
        return _settled(reading, node, depends, "is a product with zeros", zero=True)
    if last in ("clamp", "clip", "hardtanh") and _closed(node):
        return _settled(reading, node, depends, "is held between equal bounds")
    first = next((each for each in arguments if each.depends), _Held())
    axes = _axes(node)
    if last in ("softmax", "Softmax") and axes and axes <= first.single:
        return _settled(reading, node, depends, "is a softmax over one element")
    kept = any(keyword.arg == "keepdim" and ast.unparse(keyword.value) == "True" for keyword in node.keywords)
    single = axes if last in _REDUCTIONS and kept else first.single if last in _STAYS_ZERO else frozenset()
    return _Held(depends, last in _STAYS_ZERO and any(each.zero for each in arguments[:2]) and not depends, single)


def _layer(reading: _Reading, node: ast.Call, arguments: list[_Held]) -> _Held:
    """A layer made in the constructor: with its weight set to zero, what goes in does not come out."""
    depends = any(each.depends for each in arguments)
    weight = reading.names.get(f"{ast.unparse(node.func)}.weight", _Held())
    return _settled(reading, node, depends, "is a layer whose weight is zero") if weight.zero else _Held(depends)


def _closed(node: ast.Call) -> bool:
    bounds = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    ends = [ast.unparse(each) for each in node.args[-2:]] if len(node.args) > 1 else list(bounds.values())
    return len(ends) == 2 and ends[0] == ends[1]


def _settled(reading: _Reading, node: ast.expr, depended: bool, why: str, *, zero: bool = False) -> _Held:
    if depended:
        reading.why.append(f"{ast.unparse(node)[:80]} {why}")
    return _Held(zero=zero)
