"""Python submissions, by `ast`: every file's import, the entry with its inputs, then what is never reached."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kgrade.harness.integrity import attributes, calls, kernels, objects, statements
from kgrade.harness.integrity.model import NOTHING, Fact, Model
from kgrade.harness.integrity.values import (
    ANY,
    FEWEST_STEPS,
    MOST_STEPS,
    STEPS_PER_NODE,
    Frame,
    Function,
    OutOfBudget,
    Scope,
    Value,
    Walk,
)

MOST_BYTES = 8 << 20
USUAL_ENTRIES = ("ModelNew", "custom_kernel", "kernel_fn", "solution", "Model", "run", "forward", "kernel", "entry")
_HOST_NUMBERS = {"int", "float", "bool", "str", "None"}
_NOT_ENTRIES = ("_", "test", "bench", "main", "ref", "check", "compare", "get_i", "verify")


@dataclass(frozen=True)
class Ask:
    """How a submission is called: entry (`name` or `file.py:name`), its tensors, its host numbers, its outputs.

    Nothing of this known: `entry` is ''. `reference` is the name of the module that holds the task's reference.
    """

    entry: str = ""
    tensors: Collection[str] = ()
    scalars: Collection[str] = ()
    outputs: Collection[str] = ()
    reference: str | None = None


def read(files: Mapping[str, bytes], ask: Ask, model: Model) -> Walk:
    """Read the Python files among `files` into `model`; return the walk, for the native code that it found."""
    trees = {
        path: tree
        for path, data in sorted(files.items())
        if path.endswith(".py") and (tree := parse(path, data, model))
    }
    walk = Walk(model, trees, ask.reference)
    nodes = sum(1 for tree in trees.values() for _ in ast.walk(tree))
    walk.most_steps = min(MOST_STEPS, FEWEST_STEPS + STEPS_PER_NODE * nodes)
    try:
        _read_all(walk, ask)
    except OutOfBudget:
        _unreadable(model, next(iter(trees), ""), 1, "too large to follow whole")
    except RecursionError:
        _unreadable(model, next(iter(trees), ""), 1, "nested too deep to follow")
    walk.most_steps += FEWEST_STEPS + 2 * nodes
    try:
        kernels.read(walk)
    except (OutOfBudget, RecursionError):
        _unreadable(model, next(iter(trees), ""), 1, "too large to follow whole")
    model.facts.extend(walk.facts.values())
    return walk


def parse(path: str, data: bytes, model: Model) -> ast.Module | None:
    """The tree of a file, or None with a fact that says why it cannot be read."""
    if len(data) > MOST_BYTES:
        _unreadable(model, path, 1, f"larger than {MOST_BYTES >> 20} MB")
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except SyntaxError as error:
        _unreadable(model, path, error.lineno or 1, f"not Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError, LookupError, UnicodeError) as error:
        _unreadable(model, path, 1, f"cannot be parsed: {str(error)[:120] or type(error).__name__}")
    return None


def _unreadable(model: Model, path: str, line: int, why: str) -> None:
    model.facts.append(Fact("unreadable", why, path, max(1, line)))


def _read_all(walk: Walk, ask: Ask) -> None:
    root, name = _entry_file(walk, ask)
    for path in [root] if root else sorted(walk.trees):
        attributes.load(walk, path)
    entries = _entries(walk, root, name)
    walk.model.has_entry = bool(entries)
    for _ in range(2):
        walk.summaries.clear()
        walk.counts.clear()
        for scope, value in entries:
            _enter(walk, ask, scope, value)
    _dead(walk)


def _entry_file(walk: Walk, ask: Ask) -> tuple[str, str]:
    file, _, name = ask.entry.rpartition(":")
    if file:
        return next((path for path in walk.trees if path.endswith(file)), ""), name
    wanted = [name] if name else list(USUAL_ENTRIES)
    for each in wanted:
        for path in sorted(walk.trees, key=lambda path: (path.count("/"), path)):
            for node in walk.trees[path].body:
                if _defines(node, each):
                    return path, each
    return "", ""


def _defines(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return node.name == name
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    return isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names)


def _entries(walk: Walk, root: str, name: str) -> list[tuple[Scope, Value]]:
    for each in (name, *USUAL_ENTRIES) if root else ():
        if each in walk.modules[root].variables:
            return [(walk.modules[root], walk.modules[root].variables[each])]
    found = []
    for path, scope in sorted(walk.modules.items()):
        if path not in walk.trees:
            continue
        for variable, value in scope.variables.items():
            own = any(each.startswith("def:") for each in value.names)
            functions = [walk.functions[each[4:]] for each in value.names if each[4:] in walk.functions and own]
            host = any(function.path == path and function.jit in (None, "nki") for function in functions)
            if host and not variable.startswith(_NOT_ENTRIES) and path.rpartition("/")[2][:5] != "test_":
                found.append((scope, value))
    return found


def _enter(walk: Walk, ask: Ask, scope: Scope, value: Value) -> None:
    """Call the entry with its inputs, as the harness will."""
    here = ast.Pass()
    for name in sorted(value.names):
        key = name.partition(":")[2].partition("|")[0]
        if name.startswith(("def:", "bound:")):
            function = walk.functions.get(key)
            if function is not None:
                _call(walk, ask, function, None)
        elif name.startswith(("class:", "obj:")):
            setup = Frame(scope, live=False, setup=True)
            made = Value(frozenset({name}))
            if name.startswith("class:"):
                made = objects.instantiate(walk, setup, here, key, calls.Arguments())
            if not any(attributes.member(walk, setup, "obj:" + key, each).names for each in ("forward", "__call__")):
                _make(walk, scope, here, key)
            for attr in ("forward", "__call__"):
                method = attributes.member(walk, setup, "obj:" + key, attr)
                for each in method.names:
                    function = walk.functions.get(each.partition(":")[2].partition("|")[0])
                    if function is not None and each.startswith("bound:"):
                        _call(walk, ask, function, Value(frozenset({"obj:" + key})) if made.names else None)
        elif name.partition(".")[0] in ("torch", "jax", "reference"):
            frame = Frame(scope, live=True, setup=False, entry=True)
            given = calls.Arguments([Value(tags=frozenset({"in:x"}))])
            result = calls.invoke(walk, frame, here, Value(frozenset({name}), value.tags), given)
            walk.note(frame, "return", "entry", here, result.tags)


def _make(walk: Walk, scope: Scope, here: ast.AST, key: str) -> None:
    """The entry is a class that does its work while an object is made."""
    frame = Frame(scope, live=True, setup=False, entry=True)
    given = calls.Arguments([Value(tags=frozenset({"in:x"}))])
    walk.note(frame, "return", "entry", here, objects.instantiate(walk, frame, here, key, given).tags)


def _call(walk: Walk, ask: Ask, function: Function, bound: Value | None) -> None:
    spec = function.node.args
    names = [*spec.posonlyargs, *spec.args]
    defaults = dict(zip([each.arg for each in names[len(names) - len(spec.defaults) :]], spec.defaults, strict=True))
    # Where every tensor of the task is a parameter by its name, the others are something else.
    others = bool(ask.tensors) and set(ask.tensors) <= {each.arg for each in names}
    values: list[Value] = []
    for each in names:
        if bound is not None and not values:
            values.append(bound)
        else:
            values.append(_given(walk, function, ask, each, defaults, others))
    scope = Scope(function.path, function.scope, function.owner)
    frame = Frame(scope, live=True, setup=False, entry=True)
    named = {each.arg: _input(ask, each, False, others) for each in spec.kwonlyargs}
    calls.parameters(walk, frame, spec, calls.Arguments(values, named))
    # The tensors come by position where there is room for that, and then none comes by name.
    extra = spec.vararg or spec.kwarg
    if extra is not None:
        scope.variables[extra.arg] = _spread(ask, extra.arg)
    if spec.vararg is not None and spec.kwarg is not None:
        scope.variables[spec.kwarg.arg] = ANY
    walk.visited.add(function.key)
    if function.kept:
        walk.note(frame, "memo", f"stored:{function.key}:lru_cache", function.node, frozenset({"pointer"}))
    if function.jit == "nki":
        walk.note(frame, "launch", function.key, function.node)
        token = "alloc:entry:kernel"
        walk.note(frame, "return", "entry", function.node, frozenset({token, "written:" + token}))
        return
    if isinstance(function.node, ast.Lambda):
        statements.execute(walk, frame, [ast.copy_location(ast.Return(function.node.body), function.node)])
    else:
        statements.execute(walk, frame, function.node.body)
    for value in values:
        missing = value.identity - walk.used if "optional" not in value.tags else NOTHING
        for token in sorted(missing):
            if token.startswith("in:"):
                walk.note(frame, "unused", token[3:], function.node)
    filled = [token for token in walk.contents if token.startswith("alloc:out:")]
    if filled:
        about = frozenset().union(*(walk.contents[token] for token in filled))
        walk.note(frame, "return", "entry", function.node, about | {"out"})


def _given(
    walk: Walk, function: Function, ask: Ask, argument: ast.arg, defaults: Mapping[str, ast.expr], others: bool
) -> Value:
    """What comes in for `argument`; a container or object that is its default is the same one at every call."""
    value = _input(ask, argument, argument.arg in defaults, others)
    if value is not ANY or argument.arg not in defaults:
        return value
    kept = calls.default(walk, Frame(function.scope, live=True, setup=True), defaults[argument.arg])
    return kept if any(name.startswith(("box:", "obj:", "def:")) for name in kept.names) else value


def _spread(ask: Ask, name: str) -> Value:
    """What `*args` or `**kwargs` of the entry hold: the task's tensors in order, where they are known."""
    items = tuple(Value(tags=frozenset({"in:" + each})) for each in ask.tensors)
    return Value(
        tags=frozenset().union(*(item.tags for item in items)) or frozenset({"in:" + name}), items=items or None
    )


def _input(ask: Ask, argument: ast.arg, defaulted: bool, others: bool) -> Value:
    """What the entry is given for `argument`; `others`: what is no tensor of the task by name is a host value."""
    name = argument.arg
    if name in ask.tensors:
        return Value(tags=frozenset({"in:" + name}))
    if name in ask.scalars:
        return ANY
    if name in ask.outputs or (name in ("out", "output") and ask.entry and not defaulted):
        return Value(tags=frozenset({f"alloc:out:{name}"}))
    note = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    if others and "Tensor" not in note and "Array" not in note:
        return ANY
    if set(note.replace("|", " ").split()) & _HOST_NUMBERS or (defaulted and not note):
        return ANY
    if defaulted:
        return Value(tags=frozenset({"in:" + name, "optional"}))
    return Value(tags=frozenset({"in:" + name}))


def _dead(walk: Walk) -> None:
    """Read what no path from the entry reaches, for the facts it holds."""
    walk.summaries.clear()
    for path in sorted(walk.trees):
        if path not in walk.modules:
            scope = Scope(path, variables={"__name__": Value(const="unimported")})
            walk.modules[path] = scope
            statements.execute(walk, Frame(scope, live=False, setup=False), walk.trees[path].body)
    for key, function in sorted(walk.functions.items()):
        if key not in walk.visited and function.jit is None and "@" not in key:
            walk.visited.add(key)
            scope = Scope(function.path, function.scope, function.owner)
            frame = Frame(scope, live=False, setup=False)
            body = function.node.body
            statements.execute(walk, frame, body if isinstance(body, list) else [ast.Expr(body)])


def entry_names(walk: Walk) -> frozenset[str]:
    """The names of native functions that are called on a path from the entry, for each extension."""
    found = {
        fact.name
        for fact in walk.facts.values()
        if fact.kind == "launch" and fact.live and fact.name.startswith("ext:")
    }
    return frozenset(found) if found else NOTHING
