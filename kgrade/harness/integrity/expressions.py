"""Reading the expressions of Python host code: what a value may stand for and where it comes from."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from kgrade.harness.integrity import attributes, calls, objects, operators, statements
from kgrade.harness.integrity.model import NOTHING, Tags
from kgrade.harness.integrity.operators import LONGEST_TEXT
from kgrade.harness.integrity.values import (
    ANY,
    MOST_DEPTH,
    UNKNOWN,
    Frame,
    Function,
    Value,
    Walk,
    derived,
    merge,
    place,
)

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


def tags_of(values: list[Value] | tuple[Value, ...]) -> Tags:
    """The tags of all of `values`."""
    return NOTHING.union(*(value.tags for value in values))


def evaluate(walk: Walk, frame: Frame, node: ast.expr | None) -> Value:
    """What `node` may be."""
    if node is None:
        return ANY
    walk.step()
    reader = _READERS.get(type(node))
    if reader is None:
        inner = [evaluate(walk, frame, each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        return derived(*inner)
    if walk.depth >= MOST_DEPTH:
        return flat(walk, frame, node)
    walk.depth += 1
    try:
        return reader(walk, frame, node)
    finally:
        walk.depth -= 1


def flat(walk: Walk, frame: Frame, node: ast.expr) -> Value:
    """Read what is nested too deep to follow: the names it calls, without their arguments."""
    tags: set[str] = set()
    for inner in ast.walk(node):
        walk.step()
        name = dotted_text(inner.func) if isinstance(inner, ast.Call) else ""
        first, _, rest = name.partition(".")
        if first:
            for known in attributes.lookup(walk, frame, first).names:
                full = f"{known}.{rest}" if rest else known
                token = f"lib:{place(frame.scope, inner)}"
                walk.note(frame, "call", full, inner, frozenset({"compute"}), token)
                tags.add(token)
    return Value(tags=frozenset(sorted(tags)[:16]))


def dotted_text(node: ast.AST | None) -> str:
    """`a.b.c` of a chain of names, or ''; of a tuple, all of them."""
    parts: list[str] = []
    if isinstance(node, ast.Tuple):
        return " ".join(dotted_text(each) for each in node.elts)
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def literals(*nodes: ast.AST) -> Tags:
    """`equals:4096` for each whole number that `nodes` compare with for equality, `below:16` for an upper bound."""
    found: set[str] = set()
    for node in nodes:
        for inner in ast.walk(node):
            sides: list[ast.expr] = []
            if isinstance(inner, ast.Compare):
                if any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in inner.ops):
                    sides = [inner.left, *inner.comparators]
                if isinstance(inner.ops[0], ast.Eq) and isinstance(inner.comparators[0], ast.Constant):
                    found |= {"is:0"} if inner.comparators[0].value == 0 and len(inner.ops) == 1 else set()
                if isinstance(inner.ops[0], ast.Lt | ast.LtE) and isinstance(inner.comparators[0], ast.Constant):
                    bound = inner.comparators[0].value
                    found |= {f"below:{bound + isinstance(inner.ops[0], ast.LtE)}"} if type(bound) is int else set()
                if isinstance(inner.ops[0], ast.Gt | ast.GtE) and isinstance(inner.comparators[0], ast.Constant):
                    bound = inner.comparators[0].value
                    found |= {f"below:{bound + isinstance(inner.ops[0], ast.Gt)}"} if bound in (0, 1) else set()
            elif isinstance(inner, ast.MatchValue):
                sides = [inner.value]
            for side in sides:
                found |= {
                    f"equals:{each.value}"
                    for each in ast.walk(side)
                    if isinstance(each, ast.Constant) and type(each.value) is int
                }
    return frozenset(sorted(found)[:12])


def listed(node: ast.AST) -> Tags:
    """`equals:4096` for each whole number in the rows of a literal list or set, or among the keys of a dictionary."""
    rows: list[ast.expr | None] = []
    if isinstance(node, ast.Dict):
        rows = list(node.keys)
    elif isinstance(node, ast.List | ast.Set):
        rows = list(node.elts)
    plain = [part for row in rows for part in (row.elts if isinstance(row, ast.Tuple | ast.List) else [row])]
    numbers = [part.value for part in plain if isinstance(part, ast.Constant) and type(part.value) is int]
    return frozenset(sorted(f"equals:{number}" for number in numbers)[:12])


def element(walk: Walk, frame: Frame, value: Value) -> Value:
    """One element of `value`, whichever."""
    found = list(value.items or ())
    for name in value.names:
        if name.startswith("box:") and name in walk.boxes:
            kept = walk.boxes[name]
            if "stored:" + name in walk.live_stores and not frame.setup:
                kept = _marked(kept, frozenset({"stored:" + name}))
            found.append(kept)
    if found:
        return merge(*found)
    if value.tensor:
        return Value(tags=value.tags | {"sample"})
    return Value(
        frozenset(each for each in value.names if each.startswith(("reference", "pathlib.Path()"))), value.tags
    )


def _marked(value: Value, tags: Tags) -> Value:
    items = value.items and tuple(Value(item.names, item.tags | tags) for item in value.items)
    return Value(value.names, value.tags | tags, items=items)


def _constant(walk: Walk, frame: Frame, node: ast.Constant) -> Value:
    if isinstance(node.value, str) and "__global__" in node.value:
        walk.strings.append((frame.scope.path, node.lineno, node.value))
    if node.value in ("tf32", "bf16"):
        return Value(tags=frozenset({f"says:{node.value}"}), const=node.value)
    return Value(const=node.value)


def _name(walk: Walk, frame: Frame, node: ast.Name) -> Value:
    return attributes.lookup(walk, frame, node.id)


def _attribute(walk: Walk, frame: Frame, node: ast.Attribute) -> Value:
    return attributes.get_attribute(walk, frame, evaluate(walk, frame, node.value), node.attr, node)


def _subscript(walk: Walk, frame: Frame, node: ast.Subscript) -> Value:
    owner = evaluate(walk, frame, node.value)
    key = evaluate(walk, frame, node.slice)
    return subscript(walk, frame, owner, key, node)


def subscript(walk: Walk, frame: Frame, owner: Value, key: Value, node: ast.AST) -> Value:
    """`owner[key]`: a launcher, an element, a library's name by its text, or part of a tensor."""
    launchers = frozenset(
        "launcher:" + name.partition(":")[2].partition("|")[0]
        for name in owner.names
        if name.startswith(("def:", "bound:")) and _is_kernel(walk, name)
    )
    if launchers:
        return Value(launchers, owner.tags | {tag for tag in key.tags if tag.startswith("part:") or tag == "fixed"})
    if owner.items is not None and type(key.const) is int and -len(owner.items) <= key.const < len(owner.items):
        return owner.items[key.const]
    made = objects.item(walk, frame, node, owner, key)
    if made is not None:
        return made
    own = attributes.anywhere(walk, owner) if key.const is UNKNOWN and not owner.tensor else ""
    boxes = [own] if own else [name for name in owner.names if name.startswith("box:")]
    if boxes:
        for box in boxes:
            walk.keys["stored:" + box] |= key.tags
        found = element(walk, frame, Value(frozenset(boxes), owner.tags, items=owner.items))
        return Value(found.names, found.tags | {"file"}, found.const, found.items) if "file" in owner.tags else found
    if isinstance(key.const, str) and owner.names and not owner.tensor:
        own = next((path for path in walk.trees if path.rpartition("/")[2] == f"{key.const}.py"), "")
        if "sys.modules" in owner.names and own in walk.modules:
            return Value(frozenset({"mod:" + own}))
        if "sys.modules" in owner.names:
            if key.const == "__main__":
                walk.note(frame, "call", "sys.modules.__main__", node)
            return Value(frozenset({key.const}), frozenset({"caller"}))
        if "os.environ" in owner.names:
            walk.note(frame, "call", "os.environ.get", node, detail=key.const)
            return Value(frozenset({"environment"}), frozenset({"environment", "env:" + key.const}))
        return attributes.get_attribute(walk, frame, owner, key.const, node)
    if owner.tensor:
        _stepped(walk, frame, owner, node)
        return Value(frozenset({"tensor"}), (owner.tags | {"sample"}) - {"count"})
    if owner.items is not None:
        return element(walk, frame, owner)
    kept = frozenset(name for name in owner.names if name in ("shape.of", "environment", "pathlib.Path()"))
    return Value(kept, owner.tags | (key.tags - {"data"}))


def _stepped(walk: Walk, frame: Frame, owner: Value, node: ast.AST) -> None:
    """Every k-th element of an input alone is computed with."""
    if not isinstance(node, ast.Subscript) or not any(tag.startswith(("in:", "from:in")) for tag in owner.tags):
        return
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        bounds = [each for each in (part.lower, part.upper) if each is not None] if isinstance(part, ast.Slice) else []
        ends = [evaluate(walk, frame, each) for each in bounds]
        if any("part" in end.tags for end in ends):
            lower = part.lower is not None if isinstance(part, ast.Slice) else False
            walk.note(frame, "sampled", "part", node, owner.tags, "offset" if lower else "part")
        if isinstance(part, ast.Slice) and part.step is None and _starts(part) and type(ends[-1].const) is int:
            walk.note(frame, "sampled", str(ends[-1].const), node, owner.identity, "prefix")
        if isinstance(part, ast.Slice) and isinstance(part.step, ast.Constant) and part.step.value not in (None, 1):
            start = part.lower.value if isinstance(part.lower, ast.Constant) else part.lower
            walk.note(frame, "sampled", str(part.step.value), node, owner.tags, "offset" if start else "")


def _starts(part: ast.Slice) -> bool:
    """Whether a slice runs from the start to an end."""
    from_start = part.lower is None or (isinstance(part.lower, ast.Constant) and part.lower.value == 0)
    return from_start and part.upper is not None


def _is_kernel(walk: Walk, name: str) -> bool:
    function = walk.functions.get(name.partition(":")[2].partition("|")[0])
    return function is not None and function.jit is not None


def _binop(walk: Walk, frame: Frame, node: ast.BinOp) -> Value:
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    value = evaluate(walk, frame, chain[-1].left)
    for each in reversed(chain):
        walk.step()
        value = operators.binary(walk, frame, each, value, evaluate(walk, frame, each.right), type(each.op))
    return value


def _unary(walk: Walk, frame: Frame, node: ast.UnaryOp) -> Value:
    value = evaluate(walk, frame, node.operand)
    if isinstance(node.op, ast.Not):
        return Value(tags=value.tags, const=UNKNOWN if value.const is UNKNOWN else not value.const)
    if isinstance(node.op, ast.USub) and type(value.const) in (int, float):
        return Value(const=-value.const)
    return derived(value)


def _boolean(walk: Walk, frame: Frame, node: ast.BoolOp) -> Value:
    values = [evaluate(walk, frame, each) for each in node.values]
    names = NOTHING.union(*(value.names for value in values))
    decisive = isinstance(node.op, ast.Or)
    known = [value.const for value in values if value.const is not UNKNOWN]
    if any(bool(each) is decisive for each in known):
        return Value(names, tags_of(values), decisive)
    if len(known) == len(values):
        return Value(names, tags_of(values), not decisive)
    return Value(names, tags_of(values))


def _compare(walk: Walk, frame: Frame, node: ast.Compare) -> Value:
    values = [evaluate(walk, frame, node.left), *(evaluate(walk, frame, each) for each in node.comparators)]
    tags = tags_of(values)
    if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
        tags = frozenset(tag for tag in tags if not tag.startswith(("in:", "from:", "alloc:", "op:", "lib:")))
        if any(value.identity for value in values) and not any(value.const is None for value in values):
            tags |= {"pointer"}
    for value in values[1:]:
        for name in value.names:
            tags |= walk.keys.get("stored:" + name, NOTHING)
    if any("os.environ" in value.names for value in values[1:]):
        tags |= {"environment", f"env:{values[0].const}"}
    const = _truth(values, node.ops) if len(node.ops) == 1 else UNKNOWN
    return Value(tags=tags, const=const)


def _truth(values: list[Value], ops: list[ast.cmpop]) -> Any:
    left, right, kind = values[0], values[1], type(ops[0])
    negative = kind in (ast.IsNot, ast.NotEq)
    if kind in (ast.Is, ast.IsNot, ast.Eq, ast.NotEq):
        if left.const is None or right.const is None:
            return _is_none(right if left.const is None else left, kind, negative)
        if left.names == {"torch.strided"} and len(right.names) == 1:
            return (right.names == left.names) is not negative
    if left.const is not UNKNOWN and right.const is not UNKNOWN and kind in _COMPARE:
        try:
            return bool(_COMPARE[kind](left.const, right.const))
        except TypeError:
            return UNKNOWN
    if left.tags == {"shape"} and "shape.of" in left.names and type(right.const) is int and right.const <= 0:
        if kind in (ast.Lt, ast.GtE):
            return kind is ast.GtE
        if kind is ast.Gt and right.const < 0:
            return True
    return UNKNOWN


def _is_none(other: Value, kind: type[ast.cmpop], negative: bool) -> Any:
    if other.const is None:
        return not negative
    given = any(tag.startswith("in:") for tag in other.tags) and "optional" not in other.tags
    kept = any(tag.startswith("stored:") for tag in other.tags)
    return negative if given and not kept and kind in (ast.Is, ast.IsNot) else UNKNOWN


def _choice(walk: Walk, frame: Frame, node: ast.IfExp) -> Value:
    test = evaluate(walk, frame, node.test)
    name = place(frame.scope, node)
    truth = None if test.const is UNKNOWN else bool(test.const)
    tags = test.tags | literals(node.test)
    frame.branch_tags[name] = tags
    walk.note(frame, "branch", name, node, tags, "decided" if truth is not None else "choice")
    guards, live = frame.guards, frame.live
    found = []
    for side, sign, taken in ((node.body, "+", True), (node.orelse, "-", False)):
        frame.guards = (*guards, name + sign)
        frame.live = live and (truth is None or truth is taken)
        value = evaluate(walk, frame, side)
        if truth is None or truth is taken:
            found.append(value)
    frame.guards, frame.live = guards, live
    chosen = merge(*found)
    if "shape" in test.tags and "dtype" not in test.tags and len(chosen.names) > 1 and not chosen.tensor:
        chosen = Value(chosen.names, chosen.tags | {"sized"}, chosen.const, chosen.items)
    fixed = "shape" in test.tags and any(type(value.const) is int for value in found) and chosen.const is UNKNOWN
    return Value(chosen.names, chosen.tags | {"fixed"}, chosen.const, chosen.items) if fixed else chosen


def _sequence(walk: Walk, frame: Frame, node: ast.Tuple | ast.List | ast.Set) -> Value:
    items = tuple(evaluate(walk, frame, each) for each in node.elts)
    tags = frozenset(sorted(tags_of(items))[:96])
    if isinstance(node, ast.Tuple):
        constants = tuple(item.const for item in items)
        known = bool(items) and len(items) < 64 and all(each is not UNKNOWN for each in constants)
        return Value(tags=tags, items=items[:256], const=constants if known else UNKNOWN)
    return _box(walk, frame, node, items, tags, items[:256])


def _box(
    walk: Walk, frame: Frame, node: ast.AST, items: tuple[Value, ...], tags: Tags, kept: tuple[Value, ...] | None = None
) -> Value:
    box = "box:" + place(frame.scope, node)
    content = merge(*items)
    known = walk.boxes.get(box, ANY)
    walk.boxes[box] = content if known is ANY else merge(known, content)
    walk.tables[box] = listed(node)
    walk.texts[box] = [text for item in items for text in calls.constant_text(item) if "\n" in text]
    if frame.setup:
        walk.persistent.add(box)
        # What is kept between calls may be changed by any of them; strings and numbers of a table stay readable.
        kept = kept if kept and all(item.const is not UNKNOWN and type(item.const) is str for item in kept) else None
    return Value(frozenset({box}), tags, items=kept)


def _dict(walk: Walk, frame: Frame, node: ast.Dict) -> Value:
    for key in node.keys:
        evaluate(walk, frame, key)
    items = tuple(evaluate(walk, frame, each) for each in node.values)
    return _box(walk, frame, node, items, frozenset(sorted(tags_of(items))[:96]))


def new_box(walk: Walk, frame: Frame, node: ast.AST, items: tuple[Value, ...] = ()) -> Value:
    """A container made by a call: `dict()`, or `dict(a=x)` with what it is given by name."""
    return _box(walk, frame, node, items, tags_of(items))


def _comprehension(
    walk: Walk, frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> Value:
    for each in node.generators:
        statements.assign(walk, frame, each.target, element(walk, frame, evaluate(walk, frame, each.iter)))
        for test in each.ifs:
            evaluate(walk, frame, test)
    if isinstance(node, ast.DictComp):
        evaluate(walk, frame, node.key)
    value = evaluate(walk, frame, node.value if isinstance(node, ast.DictComp) else node.elt)
    return _box(walk, frame, node, (value,), value.tags)


def _joined(walk: Walk, frame: Frame, node: ast.JoinedStr) -> Value:
    parts = [evaluate(walk, frame, each) for each in node.values]
    text = "".join(str(part.const) if part.const is not UNKNOWN else "__" for part in parts)[:LONGEST_TEXT]
    if "__global__" in text:
        walk.strings.append((frame.scope.path, node.lineno, text))
    if all(part.const is not UNKNOWN for part in parts):
        return Value(tags=tags_of(parts), const=text)
    return Value(tags=tags_of(parts) | {"template"})


def _formatted(walk: Walk, frame: Frame, node: ast.FormattedValue) -> Value:
    return evaluate(walk, frame, node.value)


def _lambda(walk: Walk, frame: Frame, node: ast.Lambda) -> Value:
    key = place(frame.scope, node) + ":lambda" + frame.scope.reading
    walk.functions[key] = Function(key, "lambda", frame.scope.path, node, frame.scope, frame.scope.owner)
    return Value(names=frozenset({"def:" + key}))


def _named(walk: Walk, frame: Frame, node: ast.NamedExpr) -> Value:
    value = evaluate(walk, frame, node.value)
    statements.assign(walk, frame, node.target, value)
    return value


def _through(walk: Walk, frame: Frame, node: ast.Starred | ast.Await | ast.YieldFrom) -> Value:
    return evaluate(walk, frame, node.value)


def _yield(walk: Walk, frame: Frame, node: ast.Yield) -> Value:
    frame.returns.append(evaluate(walk, frame, node.value))
    frame.exits.append(set(frame.written))
    return ANY


def _call(walk: Walk, frame: Frame, node: ast.Call) -> Value:
    return calls.call(walk, frame, node)


_READERS: dict[type[ast.expr], Callable[[Walk, Frame, Any], Value]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Subscript: _subscript, ast.BinOp: _binop,
    ast.UnaryOp: _unary, ast.BoolOp: _boolean, ast.Compare: _compare, ast.IfExp: _choice, ast.Tuple: _sequence,
    ast.List: _sequence, ast.Set: _sequence, ast.Dict: _dict, ast.ListComp: _comprehension,
    ast.SetComp: _comprehension, ast.GeneratorExp: _comprehension, ast.DictComp: _comprehension,
    ast.JoinedStr: _joined, ast.FormattedValue: _formatted, ast.Lambda: _lambda, ast.NamedExpr: _named,
    ast.Starred: _through, ast.Await: _through, ast.YieldFrom: _through, ast.Yield: _yield, ast.Call: _call,
}  # fmt: skip
