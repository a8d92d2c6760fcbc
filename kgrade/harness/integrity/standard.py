"""Calls of builtins and of the standard library in Python host code: what comes out, and which facts they leave."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from kgrade.harness.integrity import attributes, calls, expressions, libraries, objects, statements
from kgrade.harness.integrity.model import NOTHING
from kgrade.harness.integrity.values import ANY, UNKNOWN, Frame, Value, Walk, derived, merge

if TYPE_CHECKING:
    from kgrade.harness.integrity.calls import Arguments

MOST_EXECUTED = 200_000


def _getattr(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    if len(arguments.values) < 2:
        return ANY
    owner, wanted = arguments.values[:2]
    own = attributes.anywhere(walk, owner) if wanted.const is UNKNOWN else ""
    if own:
        return expressions.subscript(walk, frame, Value(frozenset({own})), wanted, node)
    if isinstance(wanted.const, str):
        found = attributes.get_attribute(walk, frame, owner, wanted.const, node)
        return (
            merge(found, arguments.values[2]) if len(arguments.values) > 2 and "def:" in "".join(owner.names) else found
        )
    libraries = [each for each in owner.names if each.partition(".")[0] in ("torch", "jax", "builtins", "os", "sys")]
    if libraries:
        walk.note(frame, "code", "getattr", node, owner.names | wanted.tags, "computed")
    return Value(frozenset(each + ".?" for each in libraries), owner.tags)


def _setattr(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    values = arguments.values
    own = attributes.anywhere(walk, values[0]) if len(values) == 3 and values[1].const is UNKNOWN else ""
    if own:
        attributes.set_element(walk, frame, Value(frozenset({own})), values[1], values[2], node)
    elif len(values) == 3:
        attr = values[1].const if isinstance(values[1].const, str) else "?"
        attributes.set_attribute(walk, frame, values[0], attr, values[2], node)
    return ANY


def _execute(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    given = arguments.first()
    text = given.const.decode("utf-8", "replace") if isinstance(given.const, bytes) else given.const
    if isinstance(text, str) and len(text) < MOST_EXECUTED and name != "builtins.compile":
        walk.note(frame, "code", name, node, given.tags, "readable")
        return _read_text(walk, frame, node, text, evaluated=name == "builtins.eval")
    if name == "builtins.compile":
        return Value(given.names, given.tags, given.const)
    readable = "template" in given.tags or "source" in given.tags
    walk.note(frame, "code", name, node, given.tags, "template" if readable else "unread")
    return ANY


def _read_text(walk: Walk, frame: Frame, node: ast.AST, text: str, *, evaluated: bool) -> Value:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ANY
    line = getattr(node, "lineno", 1)
    for inner in ast.walk(tree):
        walk.step()
        if hasattr(inner, "lineno"):
            inner.lineno = line
    if evaluated and tree.body and isinstance(tree.body[0], ast.Expr):
        return expressions.evaluate(walk, frame, tree.body[0].value)
    statements.execute(walk, frame, tree.body)
    return ANY


def _import(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    given = arguments.first("name").const
    if not isinstance(given, str):
        walk.note(frame, "code", name, node, detail="computed")
        return ANY
    module = attributes.module(walk, frame, given.lstrip("."), node)
    if name == "builtins.__import__" and "." in given and len(arguments.values) < 4:
        return attributes.module(walk, frame, given.partition(".")[0], node)
    return module


def _namespace(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    if name == "builtins.vars" and arguments.values:
        return arguments.values[0]
    return Value(frozenset({"mod:" + frame.scope.path}))


def _identity(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    return Value(tags=frozenset({"pointer"}))


def _length(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    given = arguments.first()
    tags = frozenset({"shape"}) if given.tensor else NOTHING
    if given.names & walk.counters:
        tags |= {"count"}
    return Value(tags=tags)


def _number(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    given = arguments.first()
    if isinstance(given.const, str | int | float) and name == "builtins.str":
        return Value(const=str(given.const))
    if name == "builtins.float" and isinstance(given.const, str):
        return Value(const=float("nan")) if given.const.strip().lower() == "nan" else ANY
    if given.tensor and not any(tag.startswith("in:") for tag in given.tags):
        return Value(tags=frozenset({"data"}) | (given.tags & {"sample"}))
    return Value(tags=given.tags)


def _instance(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    tensor = len(arguments.values) > 1 and "torch.Tensor" in arguments.values[1].names and arguments.values[0].identity
    return Value(tags=frozenset({"dtype"}), const=True if tensor else UNKNOWN)


def _wrapped(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    """`functools.partial(f, …)` and `functools.wraps(f)`: the function itself."""
    if name == "functools.wraps":
        return Value(frozenset({"identity"}))
    walk.note(frame, "call", name, node)
    return Value(arguments.first().names, arguments.first().tags | {"partial"})


def _same(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    return arguments.first()


def _keeps(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    given = arguments.first()
    for each in given.names:
        function = walk.functions.get(each[4:])
        if function is not None:
            function.kept = True
    return given if given.names else Value(frozenset({"functools.cache"}))


def _caller(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    given = arguments.first()
    return Value(frozenset({f"method:{given.const}"})) if isinstance(given.const, str) else ANY


def _getter(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    given = arguments.first()
    return Value(frozenset({f"getter:{given.const}"})) if isinstance(given.const, str) else ANY


def _each(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    over = [expressions.element(walk, frame, value) for value in arguments.values[1:]]
    return calls.invoke(
        walk, frame, node, arguments.first(), calls.Arguments(over * (2 if name.endswith("reduce") else 1))
    )


def _matmul(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    return libraries.compute(walk, frame, node, "@", arguments.values)


def _container(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    given = arguments.first()
    if name == "builtins.dict" and given.names:
        pair = expressions.element(walk, frame, given).items
        if pair is not None and len(pair) == 2:
            return expressions.new_box(walk, frame, node, (pair[1],))
    if given.names or given.items is not None:
        return Value(given.names, given.tags, items=given.items)
    named = tuple(arguments.named.values()) if name == "builtins.dict" else ()
    if named and not arguments.values:
        return expressions.new_box(walk, frame, node, named)
    return expressions.new_box(walk, frame, node) if not given.tags else given


def _counter(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    return Value(frozenset({"counter"} if frame.setup else {"local.counter"}))


def _cycle(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    given = arguments.first()
    return Value(given.names | ({"counter"} if frame.setup else NOTHING), given.tags, items=given.items)


def _next(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    given = arguments.first()
    if "counter" in given.names:
        return Value(given.names - {"counter"}, given.tags | {"count"})
    return expressions.element(walk, frame, given)


def _mock(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    target = arguments.first("target").const
    if name.endswith("object"):
        owner = arguments.first().names
        attr = arguments.values[1].const if len(arguments.values) > 1 else "?"
        target = f"{min(owner, default='?')}.{attr}"
    attributes.patched(walk, frame, str(target), ANY, node)
    return ANY


def _rows(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    """`zip(a, b)` and `enumerate(a)`: rows of elements, one known row for any of them where lengths are not."""
    given = [*([Value(tags=frozenset({"index"}))] if name.endswith("enumerate") else []), *arguments.values]
    length = min((len(value.items) for value in arguments.values if value.items is not None), default=0)
    whole = length and all(value.items is not None for value in arguments.values)
    rows = [
        Value(tags=NOTHING.union(*(value.tags for value in row)), items=tuple(row))
        for row in (
            [[value.items[at] if value.items else value for value in given] for at in range(min(length, 32))]
            if whole
            else [[expressions.element(walk, frame, value) for value in given]]
        )
    ]
    return Value(tags=NOTHING.union(*(row.tags for row in rows)), items=tuple(rows))


def _substituted(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    """`string.Template(text)`: the text itself, whose places are filled later."""
    return Value(tags=arguments.first().tags | {"template"}, const=arguments.first().const)


def _joined(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    return Value(tags=derived(*arguments.all()).tags)


def _read_source(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    return Value(tags=frozenset({"source"}))


def _present(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    return Value(tags=frozenset({"present"}))


def _parent(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    return objects.parent(walk, frame)


def _record(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    made = objects.namespace if name == "types.SimpleNamespace" else objects.named_tuple
    return made(walk, frame, node, arguments)


READERS: dict[str, Callable[[Walk, Frame, ast.AST, str, Arguments], Value]] = {
    "builtins.getattr": _getattr, "builtins.setattr": _setattr, "builtins.exec": _execute, "builtins.eval": _execute,
    "builtins.compile": _execute, "builtins.__import__": _import, "importlib.import_module": _import,
    "builtins.vars": _namespace, "builtins.globals": _namespace, "builtins.locals": _namespace,
    "builtins.id": _identity, "builtins.hash": _number, "builtins.len": _length, "builtins.float": _number,
    "builtins.int": _number, "builtins.bool": _number, "builtins.str": _number, "builtins.isinstance": _instance,
    "functools.partial": _wrapped, "functools.wraps": _wrapped, "functools.lru_cache": _keeps,
    "functools.cache": _keeps,
    "operator.methodcaller": _caller,
    "operator.attrgetter": _getter, "builtins.map": _each, "functools.reduce": _each, "operator.matmul": _matmul,
    "operator.__matmul__": _matmul, "builtins.dict": _container, "builtins.list": _container,
    "builtins.tuple": _container, "collections.defaultdict": _container, "collections.OrderedDict": _container,
    "weakref.WeakKeyDictionary": _container, "weakref.WeakValueDictionary": _container,
    "builtins.set": _container, "builtins.frozenset": _container,
    "itertools.count": _counter, "builtins.next": _next, "unittest.mock.patch": _mock,
    "unittest.mock.patch.object": _mock, "inspect.getsource": _read_source, "identity": _same,
    "builtins.object.__setattr__": _setattr, "builtins.iter": _cycle, "builtins.reversed": _same,
    "torch.autocast": _joined, "collections.deque": _container, "builtins.enumerate": _rows, "builtins.zip": _rows,
    "string.Template": _substituted, "itertools.cycle": _cycle,
    "copy.copy": _same, "builtins.hasattr": _present,
    "builtins.super": _parent, "collections.namedtuple": _record,
    "typing.NamedTuple": _record, "types.SimpleNamespace": _record,
    "builtins.sorted": _same, "types.MethodType": _same,
}  # fmt: skip
