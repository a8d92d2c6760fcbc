"""Reading the statements of Python host code, in order, as far as they can run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from kgrade.harness.integrity import attributes, calls, expressions, objects, operators
from kgrade.harness.integrity.model import NOTHING, Tags
from kgrade.harness.integrity.values import (
    ANY,
    IMPORT,
    UNKNOWN,
    Class,
    Frame,
    Function,
    Scope,
    Value,
    Walk,
    joined,
    place,
)


def execute(walk: Walk, frame: Frame, body: Sequence[ast.stmt]) -> bool:
    """Read `body`; return whether every way through it ends in a return or raise."""
    guards = frame.guards
    ended = False
    live, setup = frame.live, frame.setup
    for statement in body:
        walk.step()
        if ended:
            frame.live = frame.setup = False
        if _statement(walk, frame, statement):
            ended = True
    frame.guards = guards
    frame.live, frame.setup = live, setup
    return ended


def _statement(walk: Walk, frame: Frame, node: ast.stmt) -> bool:
    reader = _READERS.get(type(node))
    if reader is not None:
        return reader(walk, frame, node)
    return False


def _return(walk: Walk, frame: Frame, node: ast.Return) -> bool:
    value = expressions.evaluate(walk, frame, node.value) if node.value else ANY
    if frame.live or frame.setup or not frame.returns:
        frame.returns.append(value)
        frame.exits.append(set(frame.written))
        frame.left_at = frame.left_at or (frame.guards[-1][:-1] if frame.guards else "")
    walk.use(value)
    if frame.entry:
        made = value.identity | {tag[5:] for tag in value.tags if tag.startswith("from:alloc:")}
        empty = {token for token in made if token.startswith("alloc:") and not _filled(frame, token)}
        about = value.tags.union(*(walk.contents[token] for token in made - empty))
        about |= _later(walk, frame, value, made)
        unwritten = {tag for tag in value.tags if tag.startswith("stored:") and tag not in frame.written}
        for token in value.identity:
            if token in frame.written:
                about |= {"written:" + token}
        if any(tag in frame.written for tag in value.tags if tag.startswith(("lib:", "op:"))):
            about |= {"computed"}
        walk.note(frame, "return", "entry", node, about)
        for token in sorted(value.identity - frame.written):
            if IMPORT in token and walk.contents[token]:
                walk.note(frame, "memo", "prepared:" + token, node, walk.contents[token])
        for token in sorted(unwritten):
            guarding = frozenset().union(*(frame.branch_tags.get(guard[:-1], NOTHING) for guard in frame.guards))
            keys = walk.keys[token] | guarding | _collected(walk, token)
            walk.note(frame, "memo", token, node, keys | walk.contents[token])
    return True


def _filled(frame: Frame, token: str) -> bool:
    """Whether something has, or may have, written to the buffer on the way to here."""
    return token in frame.written or any(mark.endswith("|" + token) for mark in frame.written)


def _later(walk: Walk, frame: Frame, value: Value, made: Tags) -> set[str]:
    """`partly:BRANCH` for a buffer that only one side of a branch fills, `waiting` for one that is kept unfilled."""
    found: set[str] = set()
    for token in made:
        if token.startswith("alloc:") and token not in frame.written:
            marks = [mark for mark in frame.written if mark.startswith("partly:") and mark.endswith("|" + token)]
            kept = any(tag == "kept" or tag.startswith("stored:") for tag in value.tags)
            found |= {mark.partition("|")[0] for mark in marks if not kept or _by_shape(frame, mark)}
            if not kept and _waits(walk, token):
                found.add("waiting")
    return found


def _by_shape(frame: Frame, mark: str) -> bool:
    """Whether the branch that a mark `partly:BRANCH|BUFFER` names looks at shapes."""
    return "shape" in frame.branch_tags.get(mark.removeprefix("partly:").partition("|")[0], NOTHING)


def _waits(walk: Walk, token: str) -> bool:
    """Whether the buffer is kept for later calls together with inputs, to be filled from them."""
    kept = (walk.contents[each] for each in walk.live_stores)
    return any(token in about and any(tag.startswith("in:") for tag in about) for about in kept)


def _collected(walk: Walk, token: str) -> Tags:
    """Whether the inputs of earlier calls are kept as well, in another place than the result that is handed back."""
    others = (each for each in walk.live_stores if each != token)
    kept = any(tag.startswith("in:") for each in others for tag in walk.contents[each])
    return frozenset({"collected"}) if kept else NOTHING


def _if(walk: Walk, frame: Frame, node: ast.If) -> bool:
    test = expressions.evaluate(walk, frame, node.test)
    truth = None if test.const is UNKNOWN else bool(test.const)
    name = place(frame.scope, node)
    branch_tags = test.tags | expressions.literals(node.test) | _tabulated(walk, frame, node.test)
    # How large a part of the input is looked at; which part is no matter.
    branch_tags = frozenset(tag for tag in branch_tags if not tag.startswith("part"))
    if _asks_for_none(walk, frame, node.test):
        branch_tags |= {"is:0"}
    if "shape" in test.tags and isinstance(node.test, ast.Name | ast.BinOp | ast.Attribute):
        branch_tags |= {"not:0"}
    if truth is None and (any(tag.startswith("from:in") for tag in test.tags) or _compares_element(node.test, test)):
        branch_tags |= {"data"}
    frame.branch_tags[name] = branch_tags
    raising = all(isinstance(inner, ast.Raise | ast.Assert) for inner in node.body) and not node.orelse
    detail = "raises" if raising else "decided" if truth is not None else ""
    if not detail and not node.orelse and all(_only_reports(inner) for inner in node.body):
        detail = "reports"
    if isinstance(node.test, ast.Constant):
        detail = "literal"
    walk.note(frame, "branch", name, node, branch_tags, detail)
    return branches(walk, frame, name, (node.body, node.orelse), truth)


def _asks_for_none(walk: Walk, frame: Frame, test: ast.expr) -> bool:
    """`if not rows:`, of a list that the entry is given; of a flag it asks for something else."""
    if not isinstance(test, ast.UnaryOp) or not isinstance(test.op, ast.Not) or not frame.entry:
        return False
    name = test.operand
    if not isinstance(name, ast.Name) or frame.scope.variables.get(name.id) is not ANY:
        return False
    around = (each.node for each in walk.functions.values() if each.path == frame.scope.path)
    return any(_is_gone_through(each, name.id) for each in around if name in ast.walk(each))


def _is_gone_through(function: ast.AST, name: str) -> bool:
    """Whether `function` counts what `name` holds, goes through it, or takes one of it."""
    for node in ast.walk(function):
        held: list[ast.expr] = []
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            held = [node.iter]
        elif isinstance(node, ast.Subscript):
            held = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            held = node.args if node.func.id in ("len", "enumerate", "zip", "reversed") else []
        if any(isinstance(each, ast.Name) and each.id == name for each in held):
            return True
    return False


def _tabulated(walk: Walk, frame: Frame, test: ast.expr) -> frozenset[str]:
    """`equals:4096` for the whole numbers of a literal table, given elsewhere, in which something is looked for."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In | ast.NotIn):
        return frozenset()
    table = expressions.evaluate(walk, frame, test.comparators[0])
    listed = NOTHING.union(*(walk.tables.get(name, NOTHING) for name in table.names))
    if listed:
        return listed
    rows = [row for each in table.items or () for row in (each, *(each.items or ()))]
    return frozenset(sorted(f"equals:{row.const}" for row in rows if type(row.const) is int)[:12])


def _only_reports(node: ast.stmt) -> bool:
    """Whether a statement says or refuses something, or sets a flag, and does nothing else."""
    if isinstance(node, ast.If | ast.For):
        return all(_only_reports(inner) for inner in (*node.body, *node.orelse))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return expressions.dotted_text(node.value.func).rpartition(".")[2] in _REPORTERS
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Raise | ast.Assert | ast.Pass)


def _compares_element(node: ast.expr, test: Value) -> bool:
    """Whether an element of an input is compared with something, and not only asked whether it is there."""
    if "sample" not in test.tags or not any(tag.startswith("in:") for tag in test.tags):
        return False
    operators = [op for part in ast.walk(node) if isinstance(part, ast.Compare) for op in part.ops]
    return any(not isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in operators)


def branches(
    walk: Walk, frame: Frame, name: str, bodies: tuple[Sequence[ast.stmt], Sequence[ast.stmt]], truth: bool | None
) -> bool:
    """Read both sides of a branch; what only one of them fills does not count as filled afterwards."""
    guards, before, live, setup = frame.guards, set(frame.written), frame.live, frame.setup
    after: list[set[str]] = []
    ended: list[bool] = []
    ended_if_taken: list[bool] = []
    for body, sign, taken in zip(bodies, "+-", (True, False), strict=True):
        frame.written = set(before)
        frame.guards = (*guards, name + sign)
        possible = truth is None or truth is taken
        frame.live, frame.setup = live and possible, setup and possible
        frame.conditional += truth is None
        frame.impossible += not possible
        ends = execute(walk, frame, body)
        frame.conditional -= truth is None
        frame.impossible -= not possible
        ended.append(ends and possible)
        ended_if_taken.append(ends)
        if possible and not ends:
            after.append(frame.written)
    frame.live, frame.setup, frame.guards = live, setup, guards
    frame.written = joined(after, name) if after else before
    if truth is not None:
        if ended_if_taken[1 if truth else 0]:
            frame.guards = (*guards, name + ("+" if truth else "-"))
        return ended[0 if truth else 1]
    if ended[0] != ended[1]:
        frame.guards = (*guards, name + ("-" if ended[0] else "+"))
    return all(ended)


def _for(walk: Walk, frame: Frame, node: ast.For | ast.AsyncFor) -> bool:
    over = expressions.evaluate(walk, frame, node.iter)
    if frame.setup and over.items and len(over.items) <= _FEW and frame.unrolled < 2:
        frame.unrolled += 1
        for each in over.items:
            assign(walk, frame, node.target, each)
            execute(walk, frame, node.body)
        frame.unrolled -= 1
        execute(walk, frame, node.orelse)
        return False
    element = expressions.element(walk, frame, over)
    assign(walk, frame, node.target, element)
    frame.conditional += 1
    ends = execute(walk, frame, node.body)
    frame.conditional -= 1
    execute(walk, frame, node.orelse)
    return ends and bool(over.items)


def _while(walk: Walk, frame: Frame, node: ast.While) -> bool:
    test = expressions.evaluate(walk, frame, node.test)
    if test.const is not UNKNOWN and not test.const:
        return branches(walk, frame, place(frame.scope, node), (node.body, node.orelse), False)
    frame.conditional += 1
    ends = execute(walk, frame, node.body)
    frame.conditional -= 1
    return ends and test.const is not UNKNOWN


def _try(walk: Walk, frame: Frame, node: ast.Try) -> bool:
    ends = execute(walk, frame, node.body)
    after = set(frame.written)
    guards = frame.guards
    handled = True
    for handler in node.handlers:
        names = expressions.dotted_text(handler.type) if handler.type else ""
        quiet = "ImportError" in names or "ModuleNotFoundError" in names
        frame.guards = guards if quiet and frame.setup else (*guards, "except")
        if handler.name:
            attributes.bind(walk, frame, handler.name, Value(frozenset({"exception"}), frozenset({"caller"})))
        frame.conditional += 1
        handled = execute(walk, frame, handler.body) and handled
        frame.conditional -= 1
    frame.guards = guards
    frame.written = after
    if not ends:
        ends = execute(walk, frame, node.orelse)
    return execute(walk, frame, node.finalbody) or (ends and handled)


def _with(walk: Walk, frame: Frame, node: ast.With | ast.AsyncWith) -> bool:
    graph = frame.graph
    for item in node.items:
        value = expressions.evaluate(walk, frame, item.context_expr)
        captured = [name for name in value.names if name.startswith("graph:")]
        if captured:
            frame.graph = captured[0]
            walk.note(frame, "capture", captured[0], node)
        if item.optional_vars is not None:
            assign(walk, frame, item.optional_vars, value)
    ends = execute(walk, frame, node.body)
    frame.graph = graph
    return ends


def _assign(walk: Walk, frame: Frame, node: ast.Assign) -> bool:
    value = expressions.evaluate(walk, frame, node.value)
    for target in node.targets:
        if _steps(target, node.value) and not frame.setup and attributes.lasting(walk, frame, target, value):
            walk.counters.add(attributes.lasting_name(walk, frame, target))
            value = Value(value.names, value.tags | {"count"})
            walk.note(frame, "counter", "augmented", node)
        assign(walk, frame, target, value)
    return False


def _steps(target: ast.expr, value: ast.expr) -> bool:
    """`n = n + 1`, however it is written out."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.right, ast.Constant):
        return False
    return isinstance(target, ast.Name | ast.Attribute) and ast.unparse(target) == ast.unparse(value.left)


def _annotated(walk: Walk, frame: Frame, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        assign(walk, frame, node.target, expressions.evaluate(walk, frame, node.value))
    return False


def _augmented(walk: Walk, frame: Frame, node: ast.AugAssign) -> bool:
    before = expressions.evaluate(walk, frame, node.target)
    value = expressions.evaluate(walk, frame, node.value)
    if any(tag.startswith("in:") for tag in before.tags) and before.tensor:
        walk.note(frame, "mutation", "augmented assignment", node, before.identity)
    combined = operators.binary(walk, frame, node, before, value, type(node.op))
    if not frame.setup and attributes.lasting(walk, frame, node.target, before):
        walk.counters.add(attributes.lasting_name(walk, frame, node.target))
        combined = Value(combined.names, combined.tags | {"count"})
        walk.note(frame, "counter", "augmented", node)
    if before.identity and before.tensor and not isinstance(before.const, int | float):
        for token in before.identity:
            walk.contents[token] |= combined.tags
        combined = Value(combined.names, combined.tags | before.identity)
    assign(walk, frame, node.target, combined)
    return False


def assign(walk: Walk, frame: Frame, target: ast.expr, value: Value) -> None:
    """Bind `value` to a name, an attribute, an element, or each of several."""
    walk.step()
    if isinstance(target, ast.Name):
        attributes.bind(walk, frame, target.id, value)
    elif isinstance(target, ast.Tuple | ast.List):
        parts = value.items if value.items is not None and len(value.items) == len(target.elts) else None
        # A function cannot be taken apart: it came as one of a row, `for name, function in table.items()`.
        whole = any(name.startswith(("def:", "bound:")) for name in value.names)
        shared = value if whole else expressions.element(walk, frame, value)
        for index, inner in enumerate(target.elts):
            assign(walk, frame, inner, parts[index] if parts else shared)
    elif isinstance(target, ast.Starred):
        assign(walk, frame, target.value, value)
    elif isinstance(target, ast.Attribute):
        owner = expressions.evaluate(walk, frame, target.value)
        attributes.set_attribute(walk, frame, owner, target.attr, value, target)
    elif isinstance(target, ast.Subscript):
        owner = expressions.evaluate(walk, frame, target.value)
        key = expressions.evaluate(walk, frame, target.slice)
        attributes.set_element(walk, frame, owner, key, value, target)


def _function(walk: Walk, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    key = f"{place(frame.scope, node)}:{node.name}{frame.scope.reading}"
    known = walk.functions.get(key)
    function = known or Function(key, node.name, frame.scope.path, node, frame.scope, frame.scope.owner)
    function.scope = frame.scope
    walk.functions[key] = function
    value = Value(names=frozenset({"def:" + key}))
    defaults = [
        expressions.evaluate(walk, frame, each) for each in (*node.args.defaults, *node.args.kw_defaults) if each
    ]
    for default in defaults:
        walk.persistent.update(name for name in default.names if name.startswith("box:"))
    for decorator in reversed(node.decorator_list):
        value = calls.decorate(walk, frame, decorator, value, function)
    attributes.bind(walk, frame, node.name, value)
    return False


def _class(walk: Walk, frame: Frame, node: ast.ClassDef) -> bool:
    key = f"{place(frame.scope, node)}:{node.name}"
    scope = walk.classes[key].scope if key in walk.classes else Scope(frame.scope.path, frame.scope, key, is_class=True)
    scope.parent = frame.scope
    bases = frozenset().union(*(expressions.evaluate(walk, frame, base).names for base in node.bases))
    walk.classes[key] = Class(key, node.name, scope, bases, objects.fields_of(walk, node, bases))
    inner = Frame(scope, frame.live, frame.setup, frame.guards)
    execute(walk, inner, node.body)
    if bases & {"torch.Tensor", "numpy.ndarray", "jax.Array"} or "__torch_function__" in scope.variables:
        walk.note(frame, "subclass", node.name, node, detail=key)
    value = Value(names=frozenset({"class:" + key}))
    for decorator in node.decorator_list:
        expressions.evaluate(walk, frame, decorator)
    attributes.bind(walk, frame, node.name, value)
    return False


def _import(walk: Walk, frame: Frame, node: ast.Import) -> bool:
    for alias in node.names:
        module = attributes.module(walk, frame, alias.name, node)
        first = alias.name.partition(".")[0]
        top = module if alias.asname else attributes.module(walk, frame, first, node)
        attributes.bind(walk, frame, alias.asname or first, top)
    return False


def _import_from(walk: Walk, frame: Frame, node: ast.ImportFrom) -> bool:
    source = attributes.module(walk, frame, node.module or "", node, node.level)
    for alias in node.names:
        if alias.name == "*":
            attributes.bind_all(walk, frame, source)
            continue
        if not node.module and node.level:
            value = attributes.module(walk, frame, alias.name, node, node.level)
        else:
            value = attributes.get_attribute(walk, frame, source, alias.name, node)
            if not value.names and node.module:
                value = attributes.module(walk, frame, f"{node.module}.{alias.name}", node, node.level)
        attributes.bind(walk, frame, alias.asname or alias.name, value)
    return False


def _expression(walk: Walk, frame: Frame, node: ast.Expr) -> bool:
    value = expressions.evaluate(walk, frame, node.value)
    return bool(value.names & {"never"})


def _raise(walk: Walk, frame: Frame, node: ast.Raise) -> bool:
    if node.exc is not None:
        value = expressions.evaluate(walk, frame, node.exc)
        if "builtins.SystemExit" in value.names:
            walk.note(frame, "call", "builtins.SystemExit", node)
    return True


def _shared(walk: Walk, frame: Frame, node: ast.Global | ast.Nonlocal) -> bool:
    frame.scope.shared.update(node.names)
    return False


def _delete(walk: Walk, frame: Frame, node: ast.Delete) -> bool:
    return False


def _assert(walk: Walk, frame: Frame, node: ast.Assert) -> bool:
    expressions.evaluate(walk, frame, node.test)
    return False


def _match(walk: Walk, frame: Frame, node: ast.Match) -> bool:
    test = expressions.evaluate(walk, frame, node.subject)
    name = place(frame.scope, node)
    frame.branch_tags[name] = test.tags
    walk.note(frame, "branch", name, node, test.tags | expressions.literals(*(case.pattern for case in node.cases)))
    ends = True
    for case in node.cases:
        ends = branches(walk, frame, name, (case.body, ()), None) and ends
    return False


_FEW = 6  # rows of a table over which a loop at import is read row by row
_REPORTERS = {"print", "warn", "warning", "info", "debug"}
_READERS: dict[type[ast.stmt], Callable[[Walk, Frame, Any], bool]] = {
    ast.Return: _return, ast.If: _if, ast.For: _for, ast.AsyncFor: _for, ast.While: _while, ast.Try: _try,
    ast.TryStar: _try, ast.With: _with, ast.AsyncWith: _with, ast.Assign: _assign, ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented, ast.FunctionDef: _function, ast.AsyncFunctionDef: _function, ast.ClassDef: _class,
    ast.Import: _import, ast.ImportFrom: _import_from, ast.Expr: _expression, ast.Raise: _raise,
    ast.Global: _shared, ast.Nonlocal: _shared, ast.Delete: _delete, ast.Assert: _assert, ast.Match: _match,
}  # fmt: skip
