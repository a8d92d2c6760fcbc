"""What the checks of a history of grades share: the branches, whom to trust, the seals, and what each commit wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from kgrade.audit import walk
from kgrade.audit.seals import Link, Memory, Trust
from kgrade.repository.branches import Branch
from kgrade.repository.runner import Git
from kgrade.repository.signing import Signed
from kgrade.repository.tree import TreeReader

_COMPARISON = re.compile(r"queue/[^/]+/comparisons/[^/]+/[^/]+\.yaml")


@dataclass
class Case:
    """One history of grades: what the checks share, and what the first of them find out for the rest."""

    reader: TreeReader
    queue: Branch
    stand: dict[str, str]
    links: list[Link]
    trust: Trust
    memory: Memory
    steps: list[walk.Step] = field(default_factory=list)
    signed: dict[str, Signed] = field(default_factory=dict)
    sealed_in: dict[str, str] = field(default_factory=dict)

    @property
    def git(self) -> Git:
        """The repository."""
        return self.reader.git

    @property
    def good(self) -> list[Link]:
        """The seals that count, oldest first."""
        return [link for link in self.links if link.seal is not None and not link.fault]


class Said(NamedTuple):
    """One file that is an evaluator's own word."""

    path: str
    evaluator: str
    kind: str


def said_in(step: walk.Step) -> list[Said]:
    """What a commit wrote that is one evaluator's own: grades and comparisons."""
    return [
        *(Said(path, evaluator, "grade") for path, evaluator in grades_of(step)),
        *(
            Said(move.path, move.path.split("/")[3], "comparison")
            for move in step.moves
            if _COMPARISON.fullmatch(move.path)
        ),
    ]


def grades_of(step: walk.Step) -> list[tuple[str, str]]:
    """The grades that a commit wrote: path and evaluator."""
    return [
        (move.path, move.path.rpartition("/")[2].removesuffix(".yaml"))
        for move in step.moves
        if "/grades/" in move.path
    ]
