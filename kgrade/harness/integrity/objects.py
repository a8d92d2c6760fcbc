"""Objects of the submission's classes: how they are made, called, added to, and what a record's fields hold."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgrade.harness.integrity import attributes, calls, expressions, libraries, vocabulary
from kgrade.harness.integrity.model import NOTHING, Tags
from kgrade.harness.integrity.values import ANY, Class, Frame, Scope, Value, Walk, derived, merge, place

if TYPE_CHECKING:
    from kgrade.harness.integrity.calls import Arguments

_OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitOr: "or", ast.BitAnd: "and", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip


def instantiate(walk: Walk, frame: Frame, node: ast.AST, key: str, arguments: Arguments) -> Value:
    """Make an object of one of the submission's classes."""
    found = walk.classes.get(key)
    value = Value(frozenset({"obj:" + key}))
    if found is None:
        return ANY
    made = attributes.member(walk, frame, "obj:" + key, "__new__")
    for name in made.names:
        if name.startswith(("bound:", "def:")):
            returned = calls.one(
                walk,
                frame,
                node,
                "def:" + name.partition(":")[2].partition("|")[0],
                made,
                arguments.shifted(Value(frozenset({"class:" + key}))),
            )
            value = merge(value, returned)
    for base in sorted(found.bases & vocabulary.SPAWNERS):
        walk.note(frame, "call", base, node)
    maker = attributes.member(walk, frame, "obj:" + key, "__init__")
    inner = Frame(frame.scope, frame.live, frame.setup, frame.guards, frame.branch_tags, set(frame.written))
    for name in maker.names:
        if name.startswith("bound:"):
            calls.one(walk, inner, node, name, maker, arguments)
    if not maker.names or maker.names == {"base.__init__"}:
        _fill_fields(walk, frame, node, found, arguments)
    tags = frozenset({"subclass:" + found.name}) if found.bases & {"torch.Tensor", "numpy.ndarray"} else NOTHING
    fields = [expressions.element(walk, frame, each) for each in arguments.all() if each.tensor and tags]
    return Value(value.names, value.tags | tags | derived(*fields).tags)


def _fill_fields(walk: Walk, frame: Frame, node: ast.AST, made: Class, arguments: Arguments) -> None:
    """Give the fields of a record (`dataclass`, `NamedTuple`, `namedtuple`) what it is made of."""
    given = dict(zip(made.fields, arguments.values, strict=False)) | arguments.named
    for field in made.fields:
        if field in given:
            attributes.set_attribute(walk, frame, Value(frozenset({"obj:" + made.key})), field, given[field], node)


def fields_of(walk: Walk, node: ast.ClassDef, bases: Tags) -> tuple[str, ...]:
    """The annotated fields of a class, after those of its bases, in the order in which they are given."""
    inherited = [walk.classes[base[6:]].fields for base in sorted(bases) if base[6:] in walk.classes]
    own = [
        each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    return tuple(dict.fromkeys([*(name for names in inherited for name in names), *own]))


def record(walk: Walk, frame: Frame, node: ast.AST, fields: Sequence[str]) -> str:
    """The key of a class with `fields`, made at `node` without a statement of its own."""
    key = f"{place(frame.scope, node)}:record"
    walk.classes.setdefault(
        key, Class(key, "record", Scope(frame.scope.path, frame.scope, key, True), NOTHING, tuple(fields))
    )
    return key


def named_tuple(walk: Walk, frame: Frame, node: ast.AST, arguments: Arguments) -> Value:
    """`collections.namedtuple("Pair", "left right")`, and the same of `typing`."""
    given = arguments.values[1] if len(arguments.values) > 1 else arguments.named.get("field_names", ANY)
    rows = [item.items[0] if item.items else item for item in given.items or ()]
    names = [str(row.const) for row in rows] or str(given.const).replace(",", " ").split()
    return Value(frozenset({"class:" + record(walk, frame, node, names)}))


def namespace(walk: Walk, frame: Frame, node: ast.AST, arguments: Arguments) -> Value:
    """`types.SimpleNamespace(a=…)`: an object with these attributes."""
    key = record(walk, frame, node, sorted(arguments.named))
    _fill_fields(walk, frame, node, walk.classes[key], arguments)
    return Value(frozenset({"obj:" + key}))


def parent(walk: Walk, frame: Frame) -> Value:
    """`super()` inside a method: the object as its bases know it."""
    owner = frame.scope.owner
    scope: Scope | None = frame.scope
    while scope is not None and not scope.variables:
        scope = scope.parent
    first = next(iter(scope.variables.values()), ANY) if scope is not None else ANY
    own = [each for each in sorted(first.names) if each.startswith(("obj:", "class:"))]
    return Value(frozenset({f"super:{owner}|{own[0]}"})) if owner in walk.classes and own else ANY


def of_parent(walk: Walk, frame: Frame, name: str, attr: str) -> Value:
    """The attribute `attr` of `super()`, where `name` tells the class and the object."""
    owner, _, own = name[6:].partition("|")
    bases = walk.classes[owner].bases
    for base in sorted(bases):
        if base.startswith("class:"):
            found = attributes.member(walk, frame, "obj:" + base[6:], attr)
            if found is not ANY:
                names = {
                    f"{each.partition('|')[0]}|{own}" if each.startswith("bound:") else each for each in found.names
                }
                return Value(frozenset(names), found.tags, found.const, found.items)
    if attr == "__new__":
        return Value(frozenset({"new:" + own.partition(":")[2]}))
    layer = _layer(bases) if attr in ("forward", "__call__") else ""
    return Value(frozenset({"layer:" + layer if layer else "base." + attr}))


def _layer(bases: Tags) -> str:
    """The layer of a framework among `bases`, or ''."""
    layers = (base for base in sorted(bases) if ".nn." in base and not base.endswith(("Module", "Parameter")))
    return next((base for base in layers if base.rpartition(".")[2][:1].isupper()), "")


def property_of(walk: Walk, frame: Frame, node: ast.AST, found: Value) -> Value:
    """What reading an attribute gives: a property is called, anything else is handed over as it is."""
    for name in found.names:
        function = walk.functions.get(name[6:].partition("|")[0]) if name.startswith("bound:") else None
        if function is not None and function.is_property:
            return calls.invoke(walk, frame, node, found, calls.Arguments())
    return found


def operation(
    walk: Walk, frame: Frame, node: ast.AST, left: Value, right: Value, kind: type[ast.operator]
) -> Value | None:
    """`left OP right` where a class of the submission says what that is; else None."""
    for mine, other, form in ((left, right, "__{}__"), (right, left, "__r{}__"), (left, right, "__i{}__")):
        for name in sorted(mine.names):
            if name.startswith("obj:"):
                method = attributes.member(walk, frame, name, form.format(_OPERATIONS.get(kind, "")))
                if any(each.startswith("bound:") for each in method.names):
                    return calls.invoke(walk, frame, node, method, calls.Arguments([other]))
    return None


def item(walk: Walk, frame: Frame, node: ast.AST, owner: Value, key: Value) -> Value | None:
    """`owner[key]` where a class of the submission says what that is; else None."""
    for name in sorted(owner.names):
        if name.startswith("obj:"):
            method = attributes.member(walk, frame, name, "__getitem__")
            if any(each.startswith("bound:") for each in method.names):
                return calls.invoke(walk, frame, node, method, calls.Arguments([key]))
    return None


def held(walk: Walk, value: Value) -> list[Value]:
    """What is handed over with `value`: itself or its elements, and the fields of the object that it is."""
    keys = {name[4:] for name in value.names if name.startswith("obj:")}
    fields = [kept for (key, _), kept in walk.attributes.items() if key in keys and kept.tensor] if keys else []
    return [*(value.items or (value,)), *fields]


def call_object(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    """Call an object of one of the submission's classes, which may be a layer with another name."""
    for attr in ("__call__", "forward"):
        method = attributes.member(walk, frame, name, attr)
        if method.names:
            return calls.invoke(walk, frame, node, method, arguments)
    layer = _layer(walk.classes[name[4:]].bases) if name[4:] in walk.classes else ""
    if layer:
        return libraries.compute(
            walk, frame, node, layer, [*arguments.all(), Value(tags=frozenset({"from:parameter"}))]
        )
    return derived(*arguments.all())


def apply(walk: Walk, frame: Frame, node: ast.AST, key: str, arguments: Arguments) -> Value:
    """`Function.apply`: forward now, backward when gradients are asked for."""
    scope = walk.classes[key].scope
    context = Value(frozenset({"context"}))
    for step in ("backward", "forward"):
        method = scope.variables.get(step, ANY)
        for name in method.names:
            function = walk.functions.get(name[4:])
            if function is not None:
                value = calls.run(walk, frame, function, arguments.shifted(context))
    return value if scope.variables.get("forward") else ANY
