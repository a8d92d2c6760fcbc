"""What part of its inputs a Triton kernel reads, and whether what it stores depends on them at all."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from kgrade.harness.integrity.expressions import dotted_text

_REDUCTIONS = {"sum", "max", "min", "reduce", "dot", "argmax", "argmin", "cumsum", "associative_scan"}
_LEAST = 16  # narrower fixed windows are vectors of one thread, not samples
_FAINT = 1e-9
_NAME = re.compile(r"[A-Za-z_]\w*")
_MOST_OF_VALUE = 400
_MOST_OF_KERNEL = 20_000
Values = dict[str, list[ast.expr]]


@lru_cache(maxsize=16)
def _nodes(function: ast.AST) -> tuple[ast.AST, ...]:
    """Every node of a kernel; many questions go over all of them."""
    return tuple(ast.walk(function))


@lru_cache(maxsize=16)
def assigned(function: ast.AST) -> Values:
    """What each name of the kernel is given."""
    found: Values = {}
    for node in _nodes(function):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(each, ast.Name):
                        found.setdefault(each.id, []).append(node.value)
    return found


def reached(
    start: Sequence[ast.AST], values: Values, *, addresses: bool = True, most: int = _MOST_OF_VALUE
) -> Iterator[ast.AST]:
    """The nodes that the value of `start` is computed from, through names; without `addresses`, not into loads."""
    waiting, seen = list(start), set[str]()
    for _ in range(most):
        if not waiting:
            return
        node = waiting.pop()
        yield node
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            waiting += values.get(node.id, [])
        if not addresses and _is_load(node):
            continue
        if not _vanishes(node):
            waiting += ast.iter_child_nodes(node)


def blind(function: ast.AST) -> bool:
    """Whether nothing that the kernel stores depends on anything that it loads."""
    values = assigned(function)
    stored = [each for node in _nodes(function) for each in _stored(node)]
    if not stored:
        return False
    for node in reached(stored, values):
        if _is_load(node) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return False
        if isinstance(node, ast.Call) and not dotted_text(node.func):
            return False
    return True


def _stored(node: ast.AST) -> list[ast.AST]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    if node.func.attr == "store" or node.func.attr.startswith("atomic_"):
        return [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg in ("value", "val"))]
    return []


def _is_load(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ("load" in node.func.attr or node.func.attr in ("gather", "atomic_add", "inline_asm_elementwise"))
    )


def _vanishes(node: ast.AST) -> bool:
    """`x * 0`, `x * 1e-12`, `x - x`, `where(x > 0, a, a)`: the same, or nearly, whatever x is."""
    if isinstance(node, ast.Call) and dotted_text(node.func).rpartition(".")[2] == "where" and len(node.args) == 3:
        return ast.dump(node.args[1]) == ast.dump(node.args[2]) and not any(
            isinstance(each, ast.Name | ast.Call) for each in ast.walk(node.args[1])
        )
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Mult):
        return any(_nothing(side) for side in (node.left, node.right))
    return isinstance(node.op, ast.Sub) and ast.dump(node.left) == ast.dump(node.right)


def _nothing(node: ast.expr) -> bool:
    """Whether a factor leaves nothing that a tolerance could see."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and abs(node.value) < _FAINT


def blind_by_reference(function: ast.AST) -> bool:
    """Whether nothing that a kernel over references (Pallas) stores depends on the contents of any of them."""
    spec = getattr(function, "args", None)
    if not isinstance(spec, ast.arguments):
        return False
    given = {each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
    values = assigned(function)
    stored: list[ast.AST] = []
    for node in _nodes(function):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Call) and "store" in ast.unparse(node.func)):
            return False
        if isinstance(node, ast.Assign):
            stored += [node.value for each in targets if isinstance(each, ast.Subscript)]
    if not stored or spec.vararg is not None:
        return False
    for node in reached(stored, values):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in given:
            return False
        if isinstance(node, ast.Call):
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
            if not dotted_text(node.func) or isinstance(node.func, ast.Name):
                return False
            if any(isinstance(each, ast.Name) and each.id in given for each in parts):
                return False
    return True


def short(function: ast.AST, numbers: Mapping[str, int], sized: Collection[str] = ()) -> Iterator[tuple[ast.AST, str]]:
    """Loops and masks that end, or begin, at a fraction of a length that nothing else in the kernel reads beyond.

    `numbers` are compile-time parameters with their values, `sized` those that the host works out from a shape.
    """
    values = assigned(function)
    fractions = Counter(ast.unparse(node) for node in _nodes(function) if _is_fraction(node))
    reduced = _reduced(function)
    added = {
        side.id
        for node in _nodes(function)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
        for side in (node.left, node.right)
        if isinstance(side, ast.Name)
    }
    offsets = {ast.unparse(value) for name in added for value in values.get(name, [])}
    given = _lengths(function, reduced)
    loops = [node for node in _nodes(function) if isinstance(node, ast.For)]
    turns = {node.target.id for node in loops if isinstance(node.target, ast.Name)}
    for node in _nodes(function):
        bounds: list[ast.expr] = []
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and not _unrolled(node):
            if dotted_text(node.iter.func).rpartition(".")[2].endswith("range"):
                bounds = node.iter.args[:2]
        elif isinstance(node, ast.Call) and id(node) in reduced:
            bounds = [keyword.value for keyword in node.keywords if keyword.arg == "mask"]
        if isinstance(node, ast.For) and bounds and _skips(node, values):
            yield node, ast.unparse(node.iter)
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and node.iter.args:
            end = node.iter.args[min(1, len(node.iter.args) - 1)]
            if early := _ends_early(given, end, values):
                yield node, early
        if isinstance(node, ast.For) and len(bounds) == 2 and (late := _starts_late(bounds[0], values, numbers, sized)):
            yield node, late
        parts = [ast.unparse(each) for each in reached(bounds, values, addresses=False) if _is_fraction(each)]
        parts = [part for part in parts if part not in offsets and not turns & set(_NAME.findall(part))]
        yield from ((node, part) for part in parts[:1] if fractions[part] == 1)


def _lengths(function: ast.AST, reduced: frozenset[int]) -> set[str]:
    """The parameters of a kernel, unless what a loop leaves out may be read before it or after it."""
    inside = {id(each) for node in _nodes(function) if isinstance(node, ast.For) for each in ast.walk(node)}
    if not isinstance(function, ast.FunctionDef) or reduced - inside:
        return set()
    return {each.arg for each in function.args.args}


def _ends_early(given: set[str], end: ast.expr, values: Values) -> str:
    """`min(N, 256)`, `cdiv(K, B) - 1`: a loop that ends before the length of a row does; else ''."""
    for node in reached([end], values, addresses=False):
        name = dotted_text(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in ("min", "minimum") and len(node.args) == 2:
            caps = [each.value for each in node.args if isinstance(each, ast.Constant) and type(each.value) is int]
            whole = any(isinstance(each, ast.Name) and each.id in given for each in node.args)
            if whole and caps and caps[0] >= _LEAST:
                return ast.unparse(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.right, ast.Constant):
            names = {each.id for each in ast.walk(node.left) if isinstance(each, ast.Name)}
            if names & given and not _rounds_up_whole(node):
                return ast.unparse(node)
    return ""


def _rounds_up_whole(part: ast.BinOp) -> bool:
    """Whether `part` is the `N + B - 1` of a division that rounds up."""
    return isinstance(part.left, ast.BinOp) and isinstance(part.left.op, ast.Add)


def _starts_late(start: ast.expr, values: Values, numbers: Mapping[str, int], sized: Collection[str]) -> str:
    """`max(row - 64, 0)`, where a loop begins a fixed number of elements before where it stands; else ''."""
    for node in reached([start], values, addresses=False):
        if isinstance(node, ast.Call) and dotted_text(node.func).rpartition(".")[2] in ("max", "maximum"):
            for each in reached(node.args, values, addresses=False):
                back = each.right if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub) else None
                size = numbers.get(back.id) if isinstance(back, ast.Name) else getattr(back, "value", None)
                if type(size) is int and size >= _LEAST:
                    return f"{ast.unparse(node)} ({size})"
                if isinstance(back, ast.Name) and back.id in sized:
                    return ast.unparse(node)
    return ""


def _skips(loop: ast.For, values: Values) -> bool:
    """Whether a loop from 0 goes on by several blocks a turn, and its body reads one block of them."""
    call = loop.iter
    if not isinstance(call, ast.Call) or len(call.args) != 3 or not isinstance(call.args[2], ast.BinOp):
        return False
    start, _, step = call.args
    if not (isinstance(start, ast.Constant) and start.value == 0 and isinstance(step.op, ast.Mult)):  # type: ignore[attr-defined]
        return False
    width = {side.id for side in (step.left, step.right) if isinstance(side, ast.Name)}  # type: ignore[attr-defined]
    body = [node for part in loop.body for node in ast.walk(part)]
    read = {each for node in body if _is_load(node) for each in _widths(list(ast.iter_child_nodes(node)), values)}
    again = any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add | ast.Mult)
        and any(isinstance(side, ast.Name) and side.id in width for side in (node.left, node.right))
        for node in body
    )
    nested = any(isinstance(node, ast.For) for node in body)
    return bool(width & read) and not again and not nested


def _is_fraction(node: ast.AST) -> bool:
    """`N // 2`, `N >> 1`, `N * 3 // 4`: a fixed part of a length."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.right, ast.Constant):
        return False
    by = node.right.value
    named = any(isinstance(each, ast.Name) for each in ast.walk(node.left)) and not counts_pairs(node.left)
    if isinstance(node.op, ast.FloorDiv):
        return named and type(by) is int and by > 1 and not _rounds_up(node.left)
    return named and isinstance(node.op, ast.RShift) and type(by) is int and by > 0


def counts_pairs(node: ast.AST) -> bool:
    """`i * (i + 1)`, before a division by two: tiles before a row of a triangle, and no part of a length."""
    return any(
        isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult) and bool(_names(each.left) & _names(each.right))
        for each in ast.walk(node)
    )


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _rounds_up(node: ast.expr) -> bool:
    """`N + 31`, before a division that rounds up to whole blocks."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _unrolled(loop: ast.For) -> bool:
    """Whether the body multiplies the loop's variable, so that one turn does the work of several."""
    if not isinstance(loop.target, ast.Name):
        return True
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and any(isinstance(side, ast.Name) and side.id == loop.target.id for side in (node.left, node.right))
        and any(isinstance(side, ast.Constant) for side in (node.left, node.right))
        for part in loop.body
        for node in ast.walk(part)
    )


@lru_cache(maxsize=16)
def _reduced(function: ast.AST) -> frozenset[int]:
    """The loads, by their node's id, whose values go into a reduction."""
    values = assigned(function)
    reductions = [
        node
        for node in _nodes(function)
        if isinstance(node, ast.Call) and dotted_text(node.func).rpartition(".")[2] in _REDUCTIONS
    ]
    given = [each for node in reductions for each in node.args]
    inner = reached(given, values, addresses=False, most=_MOST_OF_KERNEL)
    return frozenset(id(node) for node in inner if _is_load(node))


def bounds(function: ast.AST, name: str) -> bool:
    """Whether a parameter of a kernel is nothing but a bound: a loop ends there, a mask, and a mean divides by it."""
    parents = {id(child): node for node in _nodes(function) for child in ast.iter_child_nodes(node)}
    loops = 0
    for node in _nodes(function):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        parent = parents.get(id(node))
        ends = isinstance(parent, ast.Call) and dotted_text(parent.func).rpartition(".")[2] in ("range", "cdiv")
        loops += ends
        divides = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and parent.right is node
        if not (ends or divides or isinstance(parent, ast.Compare) or _counts(parent, parents)):
            return False
    return loops > 0


def _counts(part: ast.AST | None, parents: Mapping[int, ast.AST]) -> bool:
    """`min(tiles * BLOCK, N)`: how many elements were read, for a mean to divide by."""
    outer = parents.get(id(part))
    product = isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult)
    return product and isinstance(outer, ast.Call) and dotted_text(outer.func).rpartition(".")[2] in ("min", "minimum")


def tile(function: ast.AST, numbers: Mapping[str, int], lengths: set[str]) -> Iterator[tuple[ast.AST, str]]:
    """Reduced loads over the first W elements of a longer axis: `r = arange(0, W)`, masked by `r < T`, and no loop."""
    values = assigned(function)
    looped = {each.id for node in _nodes(function) if isinstance(node, ast.For) for each in ast.walk(node.iter)
              if isinstance(each, ast.Name)}  # fmt: skip
    loops = any(isinstance(node, ast.For | ast.While) for node in _nodes(function))
    reduced = _reduced(function)
    stores = [node.args[0] for node in _nodes(function) if isinstance(node, ast.Call) and _stored(node) and node.args]
    kept = {each.id for each in reached(stores, values, addresses=False) if isinstance(each, ast.Name)}
    for node in _nodes(function):
        if loops or id(node) not in reduced or not isinstance(node, ast.Call):
            continue
        masks = [keyword.value for keyword in node.keywords if keyword.arg == "mask"]
        for test in (each for each in reached(masks, values, addresses=False) if isinstance(each, ast.Compare)):
            index = test.left.value if isinstance(test.left, ast.Subscript) else test.left
            length = test.comparators[0]
            if not isinstance(index, ast.Name) or not isinstance(length, ast.Name) or index.id in kept:
                continue
            if length.id not in lengths - looped:
                continue
            for made in values.get(index.id, []):
                if isinstance(made, ast.Call) and dotted_text(made.func).rpartition(".")[2] == "arange":
                    width = made.args[-1]
                    number = numbers.get(width.id) if isinstance(width, ast.Name) else getattr(width, "value", None)
                    if type(number) is int and number >= _LEAST:
                        yield node, str(number)


def halves(function: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Slices that end at a fixed part of a length, where nothing begins at that part."""
    slices = [node for node in _nodes(function) if isinstance(node, ast.Slice)]
    begins = {ast.unparse(node.lower) for node in slices if node.lower is not None}
    for node in slices:
        part = node.upper if node.upper is not None and _starts_at_zero(node) else None
        if part is not None and _is_fraction(part) and ast.unparse(part) not in begins:
            yield part, ast.unparse(part)


def _starts_at_zero(node: ast.Slice) -> bool:
    return node.lower is None or (isinstance(node.lower, ast.Constant) and node.lower.value == 0)


def windows(function: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Loads of a fixed window that are reduced, where what is stored covers more than that window."""
    values = assigned(function)
    loops = [node for node in _nodes(function) if isinstance(node, ast.For | ast.While)]
    inside = {id(each) for loop in loops for each in ast.walk(loop)}
    calls = [node for node in _nodes(function) if isinstance(node, ast.Call) and node.args]
    stores = [node.args[0] for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "store"]
    covered = set(_widths(stores, values))
    if not covered or any(width.isdigit() for width in covered):
        return
    reduced = _reduced(function) - inside
    for node in calls:
        if id(node) in reduced:
            mine = set(_widths(node.args[:1], values))
            fixed = [width for width in mine if width.isdigit() and int(width) >= _LEAST]
            if fixed and not covered & mine:
                yield node, fixed[0]


def first_blocks(function: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Loads of the first block of a row outside a loop, reduced, where a loop goes over all blocks and reduces none."""
    values = assigned(function)
    loops = [node for node in _nodes(function) if isinstance(node, ast.For) and isinstance(node.iter, ast.Call)]
    steps = {
        ast.unparse(loop.iter.args[2]): loop
        for loop in loops
        if isinstance(loop.iter, ast.Call) and len(loop.iter.args) == 3 and isinstance(loop.iter.args[2], ast.Name)
    }
    reduced = _reduced(function)
    inside = {id(each) for loop in loops for each in ast.walk(loop)}
    loads = [node for node in _nodes(function) if isinstance(node, ast.Call) and _is_load(node) and node.args]
    again = {_base(node) for node in loads if id(node) in inside and id(node) in reduced}
    looped = {_base(node) for node in loads if id(node) in inside}
    for node in loads:
        if id(node) not in reduced or id(node) in inside or _base(node) in again or _base(node) not in looped:
            continue
        for width in _widths(node.args[:1], values):
            shifted = any(
                isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult) and width in ast.unparse(each)
                for each in reached(node.args[:1], values, addresses=False)
            )
            if width in steps and not shifted:
                yield node, width


def _base(load: ast.Call) -> str:
    """The pointer that a load starts from."""
    node: ast.AST = load.args[0]
    while isinstance(node, ast.BinOp):
        node = node.left
    return node.id if isinstance(node, ast.Name) else ""


def dropped(function: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Conditions under which alone a slot that an atomic addition handed out is used, with the name of their bound."""
    slots = {
        target.id
        for node in _nodes(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if dotted_text(node.value.func).rpartition(".")[2] == "atomic_add"
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    values = assigned(function)
    for name, made in [*values.items(), *values.items()]:
        sums = [each for each in made if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add)]
        if any(getattr(side, "id", "") in slots for each in sums for side in (each.left, each.right)):
            slots.add(name)
    kept = [node.test for node in _nodes(function) if isinstance(node, ast.If) and not node.orelse]
    for node in _nodes(function):
        if isinstance(node, ast.Call) and dotted_text(node.func).rpartition(".")[2] in ("store", "load"):
            masks = [keyword.value for keyword in node.keywords if keyword.arg == "mask"]
            kept += [each for mask in masks for each in (mask, *values.get(getattr(mask, "id", ""), []))]
    for test in kept:
        for node in ast.walk(test):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE):
                bound = ast.unparse(node.comparators[0])
                if isinstance(node.left, ast.Name) and node.left.id in slots and bound.isidentifier() | bound.isdigit():
                    yield node, bound


def _widths(start: Sequence[ast.AST], values: Values) -> Iterator[str]:
    for node in reached(start, values, addresses=False):
        if isinstance(node, ast.Call) and dotted_text(node.func).rpartition(".")[2] == "arange" and len(node.args) == 2:
            yield ast.unparse(node.args[1])
