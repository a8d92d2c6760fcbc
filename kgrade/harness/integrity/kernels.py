"""The bodies of kernels written in Python (Triton, Pallas, NKI): what they compute with, and at which precision."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING

from kgrade.harness.integrity import attributes, coverage, vocabulary
from kgrade.harness.integrity.expressions import dotted_text
from kgrade.harness.integrity.model import NOTHING
from kgrade.harness.integrity.values import UNKNOWN, Frame, Function, Scope, Value, Walk

if TYPE_CHECKING:
    from kgrade.harness.integrity.calls import Arguments

_MOVES = {
    "load", "store", "arange", "program_id", "num_programs", "cdiv", "to", "multiple_of", "max_contiguous", "range",
    "make_block_ptr", "advance", "static_range", "static_assert", "debug_barrier", "assume", "astype", "ds", "len",
    "make_tensor_descriptor", "broadcast_to", "reshape", "int", "min", "max", "affine_range", "ndarray", "atomic_xchg",
}  # fmt: skip
_OPERANDS = {"dot", "matmul", "dot_scaled", "nc_matmul"}
_ZEROS = {"zeros", "full", "zeros_like", "VMEM", "SMEM"}
_DEEPEST = 12


def read(walk: Walk) -> None:
    """Read the body of every kernel that the submission authors in Python, once its host code is known."""
    launched = {fact.name for fact in walk.facts.values() if fact.kind == "launch" and fact.live}
    used = _used(walk, launched)
    helpers = _mentioned(walk)
    widening = _between(walk)
    for key, function in sorted(walk.functions.items()):
        if function.jit in (None, "cuda"):
            continue
        frame = Frame(Scope(function.path, function.scope, function.owner), key in used, False)
        given = walk.given.get(key, {})
        frame.scope.variables.update({name: value for name, value in given.items() if len(value.names) <= 1})
        frame.scope.variables.update({name: value for name, value in given.items() if _by_size(value)})
        kernel = walk.kernel(function)
        kernel.device_only = key in helpers and key not in launched
        kernel.trifle = not _computes(function)
        looks = coverage.blind_by_reference if function.jit == "pallas" else coverage.blind
        kernel.blind = looks(function.node)
        _body(walk, frame, function, within=key in widening)


def _by_size(value: Value) -> bool:
    """Whether a compile-time parameter is one of several dtypes, of which a size decides."""
    narrow = any(name.rpartition(".")[2] in vocabulary.LOW_PRECISION for name in value.names)
    return len(value.names) > 1 and narrow and "sized" in value.tags


def _used(walk: Walk, launched: set[str]) -> set[str]:
    """The launched kernels and the device functions that they call."""
    used: set[str] = set()
    waiting = [key for key in launched if key in walk.functions]
    while waiting:
        key = waiting.pop()
        if key in used:
            continue
        used.add(key)
        function = walk.functions[key]
        frame = Frame(Scope(function.path, function.scope, function.owner), False, False)
        for node in ast.walk(function.node):
            if isinstance(node, ast.Name | ast.Attribute):
                waiting += [
                    name[4:]
                    for name in resolve(walk, frame, node).names
                    if name.startswith("def:") and name[4:] in walk.functions
                ]
    return used


def stored(function: Function, arguments: Arguments) -> frozenset[str] | None:
    """The buffers among `arguments` that the kernel stores to, and no others; None where it cannot be told."""
    if function.stores is not None:
        return _buffers(function, arguments, function.stores)
    if function.jit != "triton" or isinstance(function.node, ast.Lambda):
        return None
    plain = ("range", "min", "max", "float", "int", "len")
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in plain:
            return None
    targets, values = _targets(function)
    return _buffers(function, arguments, _sources(targets, values))


def _buffers(function: Function, arguments: Arguments, names: Collection[str]) -> frozenset[str] | None:
    """The buffers that are given for the parameters `names`; None where it cannot be told."""
    parameters = [each.arg for each in function.node.args.args]
    given = dict(zip(parameters, arguments.values, strict=False)) | arguments.named
    buffers = [value.buffers for name, value in given.items() if name in names]
    found = frozenset[str]().union(*(each for each in buffers if len(each) == 1))
    return found if found or any(buffers) else None


def overwritten(function: Function, arguments: Arguments) -> frozenset[str]:
    """The results of libraries among `arguments` that the kernel stores to: what they held goes through its hands."""
    targets, values = _targets(function)
    names = _sources(targets, values) if function.stores is None else set(function.stores)
    parameters = [each.arg for each in function.node.args.args]
    given = dict(zip(parameters, arguments.values, strict=False)) | arguments.named
    tags = [value.tags for name, value in given.items() if name in names]
    return frozenset(tag for each in tags for tag in each if tag.startswith(("lib:", "op:")))


def _targets(function: Function) -> tuple[list[ast.AST], dict[str, list[ast.AST]]]:
    """The addresses that a Triton kernel stores to, and what each of its names is given."""
    targets: list[ast.AST] = []
    values: dict[str, list[ast.AST]] = {}
    if function.jit != "triton" or isinstance(function.node, ast.Lambda):
        return targets, values
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign | ast.AugAssign):
            for each in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(each, ast.Name):
                    values.setdefault(each.id, []).append(node.value)
        elif isinstance(node, ast.Call):
            last = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if last.startswith(("atomic_", "store")):
                targets += node.args[:1] if node.args else [keyword.value for keyword in node.keywords]
    return targets, values


def _sources(targets: list[ast.AST], values: dict[str, list[ast.AST]]) -> set[str]:
    """The names that addresses are computed from; what is loaded to compute them is left out."""
    names: set[str] = set()
    while targets:
        node = targets.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load":
            continue
        if isinstance(node, ast.Name) and node.id not in names:
            names.add(node.id)
            targets += values.get(node.id, [])
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.FloorDiv | ast.Mod)):
            targets += ast.iter_child_nodes(node)  # an address is never a factor
    return names


def launches(walk: Walk, name: str, deepest: int = 3) -> bool:
    """Whether the function `name` of the submission launches a kernel, itself or through another; True if unknown."""
    function = walk.functions.get(name.partition(":")[2].partition("|")[0])
    if function is None or deepest == 0:
        return True
    scope = Frame(Scope(function.path, function.scope, function.owner), False, False)
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = [each for each in attributes.lookup(walk, scope, node.func.id).names if each.startswith("def:")]
            if any(launches(walk, each, deepest - 1) for each in called if each != name):
                return True
    return False


def _mentioned(walk: Walk) -> set[str]:
    """The kernels that other kernels call."""
    found: set[str] = set()
    for key, function in walk.functions.items():
        if function.jit is not None:
            frame = Frame(Scope(function.path, function.scope, function.owner), False, False)
            for node in ast.walk(function.node):
                if isinstance(node, ast.Call):
                    found |= {name[4:] for name in resolve(walk, frame, node.func).names if name[4:] != key}
    return found


def resolve(walk: Walk, frame: Frame, node: ast.AST) -> Value:
    """The value of a chain of names as the kernel's module knows it, without reading anything."""
    text = dotted_text(node)
    if not text:
        return Value()
    first, *rest = text.split(".")
    value = attributes.lookup(walk, frame, first)
    for attr in rest:
        value = attributes.get_attribute(walk, frame, value, attr, node)
    return value


def _between(walk: Walk) -> set[str]:
    """The device functions through which operands of a product of tiles go."""
    found: set[str] = set()
    for function in list(walk.functions.values()):
        if function.jit not in (None, "cuda"):
            inside = _operands(function)
            frame = Frame(Scope(function.path, function.scope, function.owner), False, False)
            for node in ast.walk(function.node):
                if id(node) in inside and isinstance(node, ast.Call):
                    found |= {name[4:] for name in resolve(walk, frame, node.func).names if name.startswith("def:")}
    return found


def _body(walk: Walk, frame: Frame, function: Function, *, within: bool) -> None:
    operands = _operands(function)
    for node in ast.walk(function.node):
        walk.step()
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            for name in resolve(walk, frame, node.value).names:
                frame.scope.variables[node.targets[0].id] = Value(frozenset({name}))
    if function.jit == "triton":
        _partial(walk, frame, function)
    elif function.jit == "pallas":
        for part, bound in coverage.halves(function.node):
            walk.note(frame, "sampled", bound, part, NOTHING, "short")
    for node in ast.walk(function.node):
        if not isinstance(node, ast.Call):
            continue
        names = resolve(walk, frame, node.func).names
        last = dotted_text(node.func).rpartition(".")[2] or (
            node.func.attr if isinstance(node.func, ast.Attribute) else ""
        )
        if any(name.startswith("triton.") for name in names):
            last = min(names).rpartition(".")[2]
        for name in names & vocabulary.LIBRARY_SORTS.keys():
            walk.note(frame, "call", name, node, frozenset({"kernel"}), function.key)
        if (last in ("to", "astype", "cast") and function.jit != "nki") or (last == "load" and function.jit == "nki"):
            for dtype in _dtypes(walk, frame, node):
                walk.note(
                    frame, "cast", dtype, node, NOTHING, "operand" if within or id(node) in operands else "kernel"
                )
        if last in _ZEROS:
            for dtype in _dtypes(walk, frame, node):
                walk.note(frame, "accumulator", dtype, node, _accumulated(function, node))
        if last in _OPERANDS:
            _operand(walk, frame, node)


def _partial(walk: Walk, frame: Frame, function: Function) -> None:
    """Parts of the inputs that stand for all of them."""
    given = walk.given.get(function.key, {})
    numbers = {name: value.const for name, value in given.items() if type(value.const) is int}
    lengths = {name for name, value in given.items() if value.const is UNKNOWN and "shape" in value.tags}
    fixed = {each.arg for each in function.node.args.args if "constexpr" in ast.unparse(each.annotation or each)}
    for node, bound in coverage.short(function.node, numbers, lengths & fixed):
        walk.note(frame, "sampled", bound, node, NOTHING, "short")
    for node, width in coverage.tile(function.node, numbers, lengths):
        walk.note(frame, "sampled", width, node, NOTHING, "tile")
    for node, width in coverage.windows(function.node):
        walk.note(frame, "sampled", width, node, NOTHING, "window")
    for node, width in coverage.first_blocks(function.node):
        if width.isdigit() or width in numbers:
            walk.note(frame, "sampled", str(numbers.get(width, width)), node, NOTHING, "window")
    for node, bound in coverage.dropped(function.node):
        value = attributes.lookup(walk, frame, bound).const if not bound.isdigit() else int(bound)
        if type(value) is int:
            walk.note(frame, "dropped", str(value), node)


def _dtypes(walk: Walk, frame: Frame, node: ast.Call) -> list[str]:
    found = []
    for each in (*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in ("dtype", None))):
        for name in resolve(walk, frame, each).names:
            last = name.rpartition(".")[2]
            if last in vocabulary.LOW_PRECISION:
                found.append(vocabulary.LOW_PRECISION[last])
    return found


def _operands(function: Function) -> set[int]:
    """The nodes whose values go into a product of tiles, as they are or through one name."""
    inside: set[int] = set()
    names: set[str] = set()
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OPERANDS:
            for each in node.args[:2]:
                inside |= {id(inner) for inner in ast.walk(each)}
                names |= {inner.id for inner in ast.walk(each) if isinstance(inner, ast.Name)}
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in node.targets):
            inside |= {id(inner) for inner in ast.walk(node.value)}
    return inside


def _accumulated(function: Function, zeros: ast.Call) -> frozenset[str]:
    """Whether the tile that `zeros` makes is summed into."""
    names = {
        target.id
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign) and node.value is zeros
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function.node):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in names:
            return frozenset({"summed"})
        if isinstance(node, ast.Assign) and node.value is not zeros:
            read = {inner.id for inner in ast.walk(node.value) if isinstance(inner, ast.Name)}
            if any(isinstance(target, ast.Name) and target.id in names & read for target in node.targets):
                return frozenset({"summed"})
    return NOTHING


def _operand(walk: Walk, frame: Frame, node: ast.Call) -> None:
    for keyword in node.keywords:
        value: ast.expr = keyword.value
        if isinstance(value, ast.Name):
            known = attributes.lookup(walk, frame, value.id)
            by_size = keyword.arg in ("allow_tf32", "input_precision") and known.const is UNKNOWN
            if by_size and known.tags & {"shape", "says:tf32", "says:bf16"}:
                walk.note(frame, "cast", "tf32", node, NOTHING, "dot")
            value = ast.Constant(known.const)
        if keyword.arg == "input_precision" and isinstance(value, ast.Constant) and value.value in ("tf32", "bf16"):
            walk.note(frame, "cast", "tf32", node, NOTHING, "dot")
        if keyword.arg == "allow_tf32" and isinstance(value, ast.Constant) and value.value is True:
            walk.note(frame, "cast", "tf32", node, NOTHING, "dot")
        if keyword.arg in ("out_dtype", "preferred_element_type"):
            for name in resolve(walk, frame, keyword.value).names:
                dtype = vocabulary.LOW_PRECISION.get(name.rpartition(".")[2])
                if dtype:
                    walk.note(frame, "accumulator", dtype, node, frozenset({"summed"}))


def _computes(function: Function) -> bool:
    """Whether more is done to what is loaded than moving it, or one operation on each element."""
    values: dict[str, list[ast.expr]] = {}
    stored: list[ast.expr] = []
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)
                    if isinstance(node, ast.AugAssign):
                        values[target.id].append(ast.BinOp(target, node.op, node.value))
                elif isinstance(target, ast.Subscript):
                    stored.append(
                        ast.BinOp(node.value, ast.Add(), node.value) if isinstance(node, ast.AugAssign) else node.value
                    )
        elif isinstance(node, ast.Call):
            last = node.func.attr if isinstance(node.func, ast.Attribute) else dotted_text(node.func)
            if last.startswith("atomic_"):
                return True
            if last == "store" or last.endswith("_store") or last.startswith("store"):
                stored += [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "value")]
            elif last not in _MOVES and last in _OPERANDS:
                return True
    if not stored:
        return any(isinstance(node, ast.Return) for node in ast.walk(function.node)) and function.jit != "nki"
    return _operations(stored, values) > 1


def _operations(stored: list[ast.expr], values: dict[str, list[ast.expr]]) -> int:
    count = 0
    seen: set[str] = set()
    waiting: list[ast.AST] = list(stored)
    while waiting and count < 3:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if node.id not in seen and len(seen) < 200:
                seen.add(node.id)
                waiting += values.get(node.id, [])
            continue
        if isinstance(node, ast.Subscript):
            continue
        if isinstance(node, ast.Call):
            last = node.func.attr if isinstance(node.func, ast.Attribute) else dotted_text(node.func)
            if last == "load" or last.endswith("_load"):
                continue
            if last not in _MOVES or (last in ("max", "min") and isinstance(node.func, ast.Attribute)):
                count += 2 if last not in ("where", "zeros", "full", "maximum", "trans", "float") else 1
            if last in ("to", "astype") and isinstance(node.func, ast.Attribute):
                waiting.append(node.func.value)
                continue
            waiting += node.args
            continue
        if isinstance(node, ast.BinOp | ast.Compare):
            count += 1
        waiting += ast.iter_child_nodes(node)
    return count
