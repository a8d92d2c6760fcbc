"""What the reader of Python knows while it reads: values, scopes, functions, and the facts written so far."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kgrade.harness.integrity.model import NOTHING, Fact, Kernel, Kind, Model, Tags


class Unknown:
    """The constant of a value that is not one."""


UNKNOWN = Unknown()
MOST_TAGS = 96
STEPS_PER_NODE = 12
FEWEST_STEPS = 20_000
MOST_STEPS = 1_500_000
MOST_DEPTH = 110
MOST_SUMMARIES = 6
IMPORT = "@import"
"""Marks a buffer that was made when the file was imported or an object was set up."""
IDENTITY = ("in:", "alloc:", "stored:")


class OutOfBudget(Exception):
    """The submission is too large to follow whole."""


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression may be: names it may stand for, tags of where it comes from, its constant, its elements."""

    names: Tags = NOTHING
    tags: Tags = NOTHING
    const: Any = UNKNOWN
    items: tuple[Value, ...] | None = None

    @property
    def identity(self) -> Tags:
        """The buffers that this value may be, or be a view of."""
        return frozenset(tag for tag in self.tags if tag.startswith(IDENTITY))

    @property
    def buffers(self) -> Tags:
        """The buffers that this value is, or whose address it is."""
        return self.identity | {tag[3:] for tag in self.tags if tag.startswith("at:")}

    @property
    def tensor(self) -> bool:
        """Whether anything says that this is a tensor; an object that is only kept between calls is none."""
        if any(tag.startswith(("in:", "alloc:", "lib:", "op:", "from:")) for tag in self.tags):
            return True
        kept = any(tag.startswith("stored:") for tag in self.tags)
        return kept and not any(name.endswith("()") for name in self.names)


ANY = Value()


def _bounded(tags: set[str] | Tags) -> Tags:
    return frozenset(tags) if len(tags) <= MOST_TAGS else frozenset(sorted(tags)[:MOST_TAGS])


def merge(*values: Value) -> Value:
    """A value that may be any of `values`."""
    if not values:
        return ANY
    first = values[0]
    if all(value is first for value in values[1:]):
        return first
    names = frozenset().union(*(value.names for value in values))
    tags = frozenset().union(*(value.tags for value in values))
    same = all(value.const is first.const for value in values[1:])
    parts = {len(value.items) for value in values if value.items is not None}
    items = None
    if len(parts) == 1 and all(value.items is not None or value == ANY for value in values):
        known = [value.items for value in values if value.items is not None]
        items = tuple(merge(*each) for each in zip(*known, strict=True))
    return Value(_bounded(names), _bounded(tags), first.const if same else UNKNOWN, items)


def derived(*values: Value, extra: Tags = NOTHING) -> Value:
    """What is computed from `values`: no longer the buffers themselves.

    What an earlier call kept stays so, unless an input of this call goes into it too.
    """
    tags = set(extra)
    everything = set().union(*(value.tags for value in values)) if values else set()
    fresh = any(tag.startswith(("in:", "from:")) for tag in everything)
    for tag in everything:
        if tag.startswith("in:"):
            tags.add("from:in")
        elif tag.startswith("alloc:"):
            tags.add("from:" + tag)
        elif tag.startswith("stored:") and fresh:
            tags.add("kept")
        else:
            tags.add(tag)
    return Value(tags=_bounded(tags))


@dataclass(slots=True, eq=False)
class Scope:
    """The variables of one module, class, function or lambda."""

    path: str
    parent: Scope | None = None
    owner: str | None = None
    is_class: bool = False
    variables: dict[str, Value] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    reading: str = ""


@dataclass(slots=True, eq=False)
class Function:
    """A function, method or lambda of the submission. `jit` names the language where it is a kernel.

    `stores` holds the parameters that a kernel in native code stores to.
    """

    key: str
    name: str
    path: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    owner: str | None = None
    jit: str | None = None
    kept: bool = False
    static: bool = False
    of_class: bool = False
    is_property: bool = False
    stores: Tags | None = None


@dataclass(slots=True, eq=False)
class Class:
    """A class of the submission, its bases by name, and what its attributes hold."""

    key: str
    name: str
    scope: Scope
    bases: Tags = NOTHING
    fields: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Frame:
    """One body being read. `written` holds the buffers that this call has filled by now."""

    scope: Scope
    live: bool
    setup: bool
    guards: tuple[str, ...] = ()
    branch_tags: dict[str, Tags] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    returns: list[Value] = field(default_factory=list)
    exits: list[set[str]] = field(default_factory=list)
    entry: bool = False
    conditional: int = 0
    impossible: int = 0
    graph: str | None = None
    unrolled: int = 0
    left_at: str = ""


def joined(ways: Sequence[set[str]], branch: str) -> set[str]:
    """What is filled after several ways meet: what all fill, and a mark on what only some do since `branch`."""
    everywhere = set.intersection(*ways)
    somewhere = set.union(*ways) - everywhere
    marks = {f"partly:{branch}|{token}" for token in somewhere if token.startswith("alloc:")}
    return everywhere | marks | {token for token in somewhere if token.startswith("partly:")}


@dataclass(slots=True)
class Walk:
    """Everything that is known while the files of one submission are read."""

    model: Model
    trees: dict[str, ast.Module]
    reference: str | None = None
    modules: dict[str, Scope] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    boxes: dict[str, Value] = field(default_factory=dict)
    tables: dict[str, Tags] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    persistent: set[str] = field(default_factory=set)
    keys: dict[str, Tags] = field(default_factory=lambda: defaultdict(frozenset))
    contents: dict[str, Tags] = field(default_factory=lambda: defaultdict(frozenset))
    attributes: dict[tuple[str, str], Value] = field(default_factory=dict)
    live_stores: set[str] = field(default_factory=set)
    counters: set[str] = field(default_factory=set)
    summaries: dict[Any, tuple[Value, set[str]]] = field(default_factory=dict)
    given: dict[str, dict[str, Value]] = field(default_factory=lambda: defaultdict(dict))
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    running: set[str] = field(default_factory=set)
    visited: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    registered: dict[str, Value] = field(default_factory=dict)
    extensions: dict[str, list[str]] = field(default_factory=dict)
    strings: list[tuple[str, int, str]] = field(default_factory=list)
    facts: dict[tuple[str, str, str, int], Fact] = field(default_factory=dict)
    steps: int = 0
    most_steps: int = MOST_STEPS
    depth: int = 0

    def step(self) -> None:
        """Count one step; raise OutOfBudget beyond the bound."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise OutOfBudget

    def use(self, *values: Value) -> None:
        """Note the inputs whose elements `values` may carry on."""
        for value in values:
            self.used |= {tag.removeprefix("at:") for tag in value.tags if tag.startswith(("in:", "at:in:"))}

    def note(self, frame: Frame, kind: Kind, name: str, node: ast.AST, about: Tags = NOTHING, detail: str = "") -> None:
        """Write a fact down, once for each place: seen again, it keeps only the guards that always stand."""
        line = getattr(node, "lineno", 1)
        key = (kind, name, frame.scope.path, line)
        fact = Fact(kind, name, frame.scope.path, line, _bounded(about), frame.live, frame.setup, frame.guards, detail)
        before = self.facts.get(key)
        if before is not None:
            guards = before.guards if before.live and not fact.live else fact.guards
            if before.live == fact.live:
                guards = tuple(guard for guard in before.guards if guard in fact.guards)
            fact = replace(
                fact,
                about=_bounded(before.about | about),
                live=before.live or fact.live,
                setup=before.setup or fact.setup,
                guards=guards,
                detail=detail or before.detail,
            )
        self.facts[key] = fact

    def kernel(self, function: Function) -> Kernel:
        """The kernel that `function` is, made when first asked for."""
        if function.key not in self.model.kernels:
            self.model.kernels[function.key] = Kernel(
                function.name, function.jit or "triton", function.path, function.node.lineno
            )
        return self.model.kernels[function.key]


def place(scope: Scope, node: ast.AST) -> str:
    """A short unique name of a place in the source."""
    return f"{scope.path}:{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"
