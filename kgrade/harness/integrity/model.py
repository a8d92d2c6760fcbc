"""The small model of a submission that rules read: what it authors, launches, calls, keeps, changes and returns.

A front end (`python.py`, `cuda.py`) writes facts; a rule reads nothing else. Tags say where a value comes from:
`in:x` is an input itself (or a view of it), `from:in` something computed from inputs, `alloc:N` a fresh buffer,
`stored:C` what the container C kept from an earlier call, `lib:N` the result of library call N. `shape`, `data`,
`pointer`, `version`, `count`, `caller`, `environment`, `device`, `dtype`, `file`, `random`, `reference` name what a
host value was read from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "call", "launch", "return", "branch", "memo", "replay", "capture", "patch", "state", "mutation", "override",
    "subclass", "import", "cast", "accumulator", "shared", "sampled", "unreadable", "code", "stream", "counter",
    "alike", "dropped", "unused", "nan",
]  # fmt: skip
Tags = frozenset[str]
NOTHING: Tags = frozenset()


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that the submission does, and where.

    `name` is canonical (`torch.matmul`, whatever it was called by). `about` holds the tags of what it is done with.
    `live`: it lies on a path from the entry. `guards` are the host branches around it, `BRANCH+` or `BRANCH-`, and
    `except` inside a handler. `setup`: it runs at import or in a constructor, once.
    """

    kind: Kind
    name: str
    path: str
    line: int
    about: Tags = NOTHING
    live: bool = False
    setup: bool = False
    guards: tuple[str, ...] = ()
    detail: str = ""


@dataclass(slots=True)
class Kernel:
    """A kernel that the submission authors. `trifle`: it copies, or computes at most one operation an element.

    `blind`: nothing that it stores depends on what it loads.
    """

    name: str
    language: str
    path: str
    line: int
    trifle: bool = False
    blind: bool = False
    device_only: bool = False


@dataclass(slots=True)
class Model:
    """All facts of one submission; sources are kept for snippets."""

    kernels: dict[str, Kernel] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    sources: dict[str, list[str]] = field(default_factory=dict)
    has_entry: bool = False

    def of(self, *kinds: Kind, live: bool | None = None) -> Iterator[Fact]:
        """Facts of these kinds, in the order found; with `live`, only those that are (or are not) on a path."""
        for fact in self.facts:
            if fact.kind in kinds and (live is None or fact.live == live):
                yield fact

    def acting(self, *kinds: Kind) -> Iterator[Fact]:
        """Facts of these kinds that happen when the submission is imported, set up or called."""
        return (fact for fact in self.of(*kinds) if fact.live or fact.setup)

    def launched(self) -> set[str]:
        """Keys of the kernels that are launched on a path from the entry."""
        return {fact.name for fact in self.of("launch", live=True)}

    def returned(self) -> Tags:
        """The tags of everything that the entry may return."""
        return frozenset().union(*(fact.about for fact in self.of("return", live=True)))

    def snippet(self, path: str, line: int) -> str:
        """The line of source, stripped and bounded."""
        lines = self.sources.get(path, [])
        return lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""
