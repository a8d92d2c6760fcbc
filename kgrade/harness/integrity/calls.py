"""Calls in Python host code: the submission's own functions, classes and kernels; `library.py` has the rest."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from kgrade.harness.integrity import (
    attributes,
    coverage,
    expressions,
    kernels,
    libraries,
    objects,
    statements,
    vocabulary,
)
from kgrade.harness.integrity.model import NOTHING
from kgrade.harness.integrity.values import (
    ANY,
    MOST_DEPTH,
    MOST_SUMMARIES,
    UNKNOWN,
    Frame,
    Function,
    Scope,
    Value,
    Walk,
    derived,
    joined,
    merge,
    place,
)


@dataclass(slots=True)
class Arguments:
    """The values of one call, by position and by name."""

    values: list[Value] = field(default_factory=list)
    named: dict[str, Value] = field(default_factory=dict)

    def all(self) -> list[Value]:
        """Every value, however it is passed."""
        return [*self.values, *self.named.values()]

    def first(self, name: str = "") -> Value:
        """The first argument, or the one called `name`."""
        return self.values[0] if self.values else self.named.get(name, ANY)

    def shifted(self, front: Value) -> Arguments:
        """These arguments after `front`."""
        return Arguments([front, *self.values], self.named)


def call(walk: Walk, frame: Frame, node: ast.Call) -> Value:
    """What a call may return, and everything it does on the way."""
    function = expressions.evaluate(walk, frame, node.func)
    arguments = Arguments()
    for each in node.args:
        value = expressions.evaluate(walk, frame, each)
        if isinstance(each, ast.Starred):
            arguments.values.extend(
                value.items if value.items is not None else [expressions.element(walk, frame, value)] * 3
            )
        else:
            arguments.values.append(value)
    for keyword in node.keywords:
        value = expressions.evaluate(walk, frame, keyword.value)
        arguments.named[keyword.arg or "**"] = value
    return invoke(walk, frame, node, function, arguments)


def invoke(walk: Walk, frame: Frame, node: ast.AST, function: Value, arguments: Arguments) -> Value:
    """Call whatever `function` may be."""
    if not function.names:
        for value in arguments.all():
            frame.written.update(value.buffers)
        walk.use(*arguments.all())
        return derived(function, *arguments.all())
    found = [one(walk, frame, node, name, function, arguments) for name in sorted(function.names)[:12]]
    return merge(*found)


def one(walk: Walk, frame: Frame, node: ast.AST, name: str, function: Value, arguments: Arguments) -> Value:
    """Call the one thing that `name`, among the names of `function`, stands for."""
    kind, _, rest = name.partition(":")
    if kind == "def":
        return _own(walk, frame, node, rest, arguments)
    if kind == "bound":
        key, _, owner = rest.partition("|")
        return _own(walk, frame, node, key, arguments.shifted(Value(frozenset({owner}))))
    if kind == "class":
        return objects.instantiate(walk, frame, node, rest, arguments)
    if kind == "new":
        return Value(frozenset({"obj:" + rest}))
    if kind == "obj":
        return objects.call_object(walk, frame, node, name, arguments)
    if kind == "apply":
        return objects.apply(walk, frame, node, rest, arguments)
    if kind == "subscript":
        return Value(frozenset({"launcher:" + rest.partition("|")[0]}))
    if kind == "getter":
        return attributes.get_attribute(walk, frame, arguments.first(), rest, node)
    if kind == "launcher" and any(tag.startswith("part:") for tag in function.tags):
        _part_of_grid(walk, frame, node, rest, function)
    given = (token for value in arguments.all() for token in value.identity)
    if kind == "launcher" and "fixed" in function.tags and any(token.endswith(":nan") for token in given):
        walk.note(frame, "nan", "what starts as NaN stays so where the grid is small", node)
    if kind in ("launcher", "pallas"):
        return launch(walk, frame, node, rest.partition("|")[0], arguments, returns=kind == "pallas")
    if kind == "ext":
        return _extension(walk, frame, node, rest, arguments)
    if kind == "boxmethod":
        return _box_method(walk, frame, node, rest, arguments)
    if kind == "graph":
        return _graph(walk, frame, node, rest, arguments)
    if kind == "method":
        receiver = arguments.first()
        return libraries.method(walk, frame, node, rest, receiver, Arguments(arguments.values[1:], arguments.named))
    return libraries.call(walk, frame, node, name, function, arguments)


def _part_of_grid(walk: Walk, frame: Frame, node: ast.AST, key: str, function: Value) -> None:
    """Note a grid of a fixed part of a length, where the kernel does not handle as many elements in each program."""
    kernel = walk.functions.get(key)
    if kernel is None or kernel.jit == "cuda":
        return
    numbers = {each.value for each in ast.walk(kernel.node) if isinstance(each, ast.Constant)}
    for tag in sorted(function.tags):
        if tag.startswith("part:") and int(tag[5:]) not in numbers:
            walk.note(frame, "sampled", f"1/{tag[5:]}", node, NOTHING, "grid")


def _own(walk: Walk, frame: Frame, node: ast.AST, key: str, arguments: Arguments) -> Value:
    function = walk.functions.get(key)
    if function is None:
        return ANY
    if function.jit is not None:
        return launch(walk, frame, node, key, arguments, returns=True)
    value = run(walk, frame, function, arguments)
    if frame.setup and _generates(function):
        # What goes on from call to call knows how often it was asked.
        return Value(value.names | {"counter"}, value.tags)
    if function.kept and not frame.setup:
        tensors = [each for each in arguments.all() if each.tensor]
        objects = [name for each in arguments.all() for name in each.names if _equal_by_its_own_word(walk, name)]
        looks = NOTHING.union(*(each.tags for each in arguments.all())) & {"pointer", "version", "data"}
        if (tensors or objects or looks) and value.tensor:
            token = f"stored:{key}:lru_cache"
            walk.keys[token] = looks or frozenset({"pointer" if tensors else "shape"})
            walk.live_stores.add(token)
            return Value(value.names, value.tags | {token})
    return value


def _equal_by_its_own_word(walk: Walk, name: str) -> bool:
    """Whether `name` is an object that holds tensors, of a class that says itself when two are equal."""
    found = walk.classes.get(name.partition(":")[2]) if name.startswith("obj:") else None
    if found is None or not {"__eq__", "__hash__"} & found.scope.variables.keys():
        return False
    return any(key == found.key and value.tensor for (key, _), value in walk.attributes.items())


def _generates(function: Function) -> bool:
    """Whether calling the function makes a generator."""
    inside: list[ast.AST] = [] if isinstance(function.node, ast.Lambda) else [*function.node.body]
    while inside:
        node = inside.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            inside += [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt | ast.expr)]
    return False


def run(walk: Walk, frame: Frame, function: Function, arguments: Arguments) -> Value:
    """Read the body of one of the submission's functions with these arguments; a summary is kept of each reading."""
    shape = tuple(
        (value.names, value.tags, value.const if isinstance(value.const, str | int | None) else "")
        for value in arguments.all()[:16]
    )
    summary = (function.key, frame.live, frame.setup, frame.graph, shape, frame.guards, tuple(arguments.named))
    if summary in walk.summaries:
        value, written = walk.summaries[summary]
        frame.written |= written
        return value
    full = walk.counts[function.key] >= MOST_SUMMARIES * (1 + frame.live)
    if function.key in walk.running or full or walk.depth > MOST_DEPTH - 20:
        return derived(*arguments.all())
    walk.running.add(function.key)
    walk.visited.add(function.key)
    walk.counts[function.key] += 1
    walk.depth += 4
    try:
        value, written = _read(walk, frame, function, arguments)
    finally:
        walk.depth -= 4
        walk.running.discard(function.key)
    walk.summaries[summary] = (value, written)
    frame.written |= written
    return value


def _read(walk: Walk, frame: Frame, function: Function, arguments: Arguments) -> tuple[Value, set[str]]:
    # Functions made inside are told apart by the reading that makes them: a decorator's wrapper knows what it wraps.
    scope = Scope(function.path, function.scope, function.owner, reading=f"@{walk.counts[function.key]}")
    inner = Frame(scope, frame.live, frame.setup, frame.guards, dict(frame.branch_tags), set(frame.written))
    inner.graph = frame.graph
    parameters(walk, inner, function.node.args, arguments)
    if isinstance(function.node, ast.Lambda):
        return expressions.evaluate(walk, inner, function.node.body), inner.written
    if not statements.execute(walk, inner, function.node.body):
        inner.exits.append(inner.written)
    return merge(*inner.returns), joined(_ways(inner, arguments), _last_guard(inner)) if inner.exits else inner.written


def _ways(frame: Frame, arguments: Arguments) -> list[set[str]]:
    """What is filled at each exit of a body; a buffer that is neither given nor handed back there is no matter."""
    given = NOTHING.union(*(value.buffers for value in arguments.all()))
    handed = [value.tags for value in frame.returns] + [NOTHING] * len(frame.exits)
    somewhere = {token for way in frame.exits for token in way if token.startswith("alloc:")}
    return [
        way | {token for token in somewhere - given if token not in about and "from:" + token not in about}
        for way, about in zip(frame.exits, handed, strict=False)
    ]


def _last_guard(frame: Frame) -> str:
    """The branch behind which the body went on, where it may have left before."""
    return frame.left_at or (frame.guards[-1][:-1] if frame.guards else "")


def parameters(walk: Walk, frame: Frame, spec: ast.arguments, arguments: Arguments) -> None:
    """Bind `arguments` to the parameters that `spec` declares."""
    names = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    bound = dict(zip(names, arguments.values, strict=False))
    bound |= {name: value for name, value in arguments.named.items() if name != "**"}
    spread = arguments.named.get("**")
    defaults = dict(zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True))
    defaults |= {each.arg: default for each, default in zip(spec.kwonlyargs, spec.kw_defaults) if default is not None}
    for name in (*names, *(each.arg for each in spec.kwonlyargs)):
        value = bound.pop(name, None)
        if value is None and spread is not None:
            value = expressions.element(walk, frame, spread)
        if value is None and name in defaults:
            value = default(walk, Frame(frame.scope.parent or frame.scope, frame.live, True), defaults[name])
        frame.scope.variables[name] = value or ANY
    if spec.vararg:
        rest = tuple(arguments.values[len(names) :])
        frame.scope.variables[spec.vararg.arg] = Value(tags=merge(*rest).tags, items=rest)
    if spec.kwarg:
        rest = tuple(bound.values())
        box = f"box:{frame.scope.path}:{spec.kwarg.lineno}:{spec.kwarg.col_offset}"
        walk.boxes[box] = merge(*rest)
        frame.scope.variables[spec.kwarg.arg] = Value(frozenset({box}), merge(*rest).tags)


def default(walk: Walk, frame: Frame, node: ast.expr) -> Value:
    """The default of a parameter, which is made once, in `frame`; what it holds outlives every call."""
    value = expressions.evaluate(walk, frame, node)
    walk.persistent.update(name for name in value.names if name.startswith("box:"))
    return value


def launch(walk: Walk, frame: Frame, node: ast.AST, key: str, arguments: Arguments, *, returns: bool = False) -> Value:
    """A kernel of the submission runs: the buffers handed to it are filled with what it makes of the others."""
    walk.note(frame, "launch", key, node, frozenset().union(*(value.tags for value in arguments.all())))
    if key not in walk.functions:
        return fill(walk, frame, node, arguments, returns=returns)
    walk.kernel(walk.functions[key])
    whole = [tag for value in arguments.all() if "sample" not in value.tags for tag in value.identity]
    walk.note(frame, "sampled", "whole", node, frozenset(whole), "whole")
    _constants(walk, frame, node, walk.functions[key], arguments)
    before = set(frame.written)
    stored = kernels.stored(walk.functions[key], arguments)
    result = fill(walk, frame, node, arguments, returns=returns)
    frame.written |= kernels.overwritten(walk.functions[key], arguments)
    if stored is not None:
        # Inputs that the kernel only reads are not its results.
        frame.written -= {token for token in frame.written - before if token.startswith("in:") and token not in stored}
        written = frozenset(token for token in stored if token.startswith("in:"))
        if written:
            walk.note(frame, "mutation", "a kernel's store", node, written)
    return result


def _constants(walk: Walk, frame: Frame, node: ast.AST, function: Function, arguments: Arguments) -> None:
    """Keep what a launch gives for the kernel's compile-time parameters: dtypes, modes, sizes."""
    names = [each.arg for each in function.node.args.args]
    for name, value in {**dict(zip(names, arguments.values, strict=False)), **arguments.named}.items():
        few = any(tag.startswith("part:") for tag in value.tags) and not value.tensor
        if few and coverage.bounds(function.node, name):
            walk.note(frame, "sampled", name, node, NOTHING, "short")
        says = any(tag == "shape" or tag.startswith("says:") for tag in value.tags)
        if value.const is not UNKNOWN or (not value.tensor and (value.names or says)):
            known = walk.given[function.key].get(name)
            walk.given[function.key][name] = value if known is None else merge(known, value)


def fill(walk: Walk, frame: Frame, node: ast.AST, arguments: Arguments, *, returns: bool) -> Value:
    """Mark every buffer among `arguments` as written by a kernel, with what flows into it."""
    into: set[str] = set()
    tokens: set[str] = set()
    for value in arguments.all():
        walk.use(value)
        for each in objects.held(walk, value):
            walk.use(each)
            tokens |= each.buffers
            into |= {tag for tag in each.tags if tag.startswith(("lib:", "op:"))}
            into |= {tag for token in each.identity for tag in walk.contents[token] if tag.startswith("lib:")}
    for token in tokens:
        if not token.startswith("in:"):
            walk.contents[token] |= frozenset(into) | {"computed"}
    frame.written |= tokens
    if frame.graph is not None:
        walk.note(frame, "capture", frame.graph + ":launch", node)
    if not returns:
        return ANY
    fresh = f"alloc:{place(frame.scope, node)}:kernel"
    frame.written.add(fresh)
    walk.contents[fresh] |= frozenset(into) | {"computed"}
    return Value(tags=frozenset({fresh}))


def _extension(walk: Walk, frame: Frame, node: ast.AST, rest: str, arguments: Arguments) -> Value:
    key, _, attr = rest.partition("|")
    walk.note(frame, "launch", f"ext:{key}|{attr}", node)
    if attr.startswith(("get_function", "get_global")):
        return Value(frozenset({f"ext:{key}|{arguments.first().const}"}))
    return fill(walk, frame, node, arguments, returns=True)


def _box_method(walk: Walk, frame: Frame, node: ast.AST, rest: str, arguments: Arguments) -> Value:
    box, _, attr = rest.rpartition("|")
    owner = Value(frozenset({box}))
    if attr in ("get", "pop", "setdefault", "__getitem__", "popitem"):
        key = arguments.first()
        walk.keys["stored:" + box] |= key.tags
        value = expressions.element(walk, frame, owner)
        table = walk.tables.get(box, NOTHING)
        if table and "shape" in key.tags:
            value = Value(value.names, value.tags | table | {"shape"}, UNKNOWN, value.items)
        if len(arguments.values) > 1:
            if attr == "setdefault":
                attributes.set_element(walk, frame, owner, key, arguments.values[1], node)
            names = arguments.values[1].names - value.names
            if "shape" in value.tags and names and not any(kernels.launches(walk, name) for name in names):
                walk.note(frame, "branch", place(frame.scope, node), node, value.tags, "table")
            value = merge(value, arguments.values[1])
        return value
    if attr in ("append", "add", "update", "extend", "insert", "appendleft", "__setitem__"):
        if attr in ("append", "add") and box in walk.persistent and not frame.setup:
            walk.counters.add(box)
        for value in arguments.values[-1:]:
            attributes.set_element(walk, frame, owner, arguments.first(), value, node)
        return ANY
    if attr in ("values", "items", "copy", "keys"):
        return owner
    return derived(*arguments.all())


def _graph(walk: Walk, frame: Frame, node: ast.AST, rest: str, arguments: Arguments) -> Value:
    key, _, attr = rest.partition("|")
    graph = "graph:" + key
    if attr == "capture_begin":
        frame.graph = graph
        walk.note(frame, "capture", graph, node)
    elif attr == "capture_end":
        frame.graph = None
    elif attr == "replay":
        walk.note(frame, "replay", graph, node)
        frame.written |= {token for token in walk.live_stores if token.startswith("stored:")} | set(walk.contents)
    return ANY


def decorate(walk: Walk, frame: Frame, node: ast.expr, value: Value, function: Function) -> Value:
    """What `value` becomes under a decorator."""
    decorator = expressions.evaluate(walk, frame, node)
    texts = decorator.names | {"@" + each for each in decorator.tags if each.startswith("made:")}
    if texts & {"builtins.staticmethod", "builtins.classmethod"}:
        function.static = "builtins.staticmethod" in texts
        function.of_class = "builtins.classmethod" in texts
        return value
    if texts & {"builtins.property", "functools.cached_property"}:
        function.is_property = True
        return value
    if "setter" in expressions.dotted_text(node):
        return value
    if any(each.split(".")[:2] == ["torch", "library"] for each in texts):
        first = node.args[0] if isinstance(node, ast.Call) and node.args else None
        if isinstance(first, ast.Constant) and "::" in str(first.value):
            walk.registered.setdefault("torch.ops." + str(first.value).replace("::", "."), value)
        return value  # registering an operation leaves the function callable as it was
    made = invoke(walk, frame, node, decorator, Arguments([value])) if decorator.names else value
    started = any(each.startswith("pallas:") for each in made.names)
    if (function.jit is not None and not started) or not made.names:
        return value
    return made


def computed(walk: Walk, frame: Frame, node: ast.AST, name: str, values: list[Value]) -> Value:
    """A library computes `name` from `values`."""
    return libraries.compute(walk, frame, node, name, values)


def jit(walk: Walk, value: Value, language: str) -> Value:
    """Make a kernel of each function that `value` may be."""
    for name in value.names:
        function = walk.functions.get(name.partition(":")[2].partition("|")[0])
        if function is not None and name.startswith(("def:", "bound:")):
            function.jit = function.jit or language
            walk.kernel(function)
    return value


def kernel_of(name: str) -> str | None:
    """The language of a decorator or call that makes kernels, by its canonical name."""
    if name in vocabulary.NKI_JITS:
        return "nki"
    return "triton" if name in vocabulary.JITS else None


def constant_text(value: Value) -> list[str]:
    """The strings that `value` holds."""
    found = [value.const] if isinstance(value.const, str) else []
    for item in value.items or ():
        found += constant_text(item)
    return found if value.const is not UNKNOWN or value.items else []
