"""What rules share: a sign, and questions about guards, launches and where results flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kgrade.harness.integrity import vocabulary
from kgrade.harness.integrity.asked import Asked
from kgrade.harness.integrity.model import Fact, Model, Tags
from kgrade.records.evidence import Severity

DEGENERATE = {"shape", "dtype", "is:0", "not:0", *(f"{how}:{size}" for how in ("equals", "below") for size in (0, 1))}
"""What a branch may look at that sets aside inputs for which there is nothing to compute."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One place where a rule sees what it looks for; `said` names the particulars."""

    severity: Severity
    path: str
    line: int
    said: str = ""


def at(fact: Fact, severity: Severity, said: str = "") -> Sign:
    """A sign at the place of `fact`."""
    return Sign(severity, fact.path, fact.line, said)


class View:
    """A model beside what was asked, with what several rules want to know of it worked out once."""

    def __init__(self, model: Model, asked: Asked) -> None:
        self.model = model
        self.asked = asked
        self.branches = {fact.name: fact for fact in model.of("branch")}
        self.launches = list(model.of("launch"))
        self.returned = model.returned()
        unread = any(fact.detail == "unread" for fact in model.acting("code") if fact.name in vocabulary.BUILDERS)
        # What calls native code that was read is no launch by itself: those in that code are.
        read = [fact for fact in self.launches if fact.live and not (fact.name.startswith("ext:") and not unread)]
        self.useful = [fact for fact in read if not self._degenerate(fact)]
        self.real = [fact for fact in self.useful if self._works(fact, unread)]

    def _degenerate(self, fact: Fact) -> bool:
        """Whether a launch lies where the inputs are empty, and does nothing."""
        branches = [
            self.branches[guard[:-1]] for guard in fact.guards if guard[:-1] in self.branches and guard[-1] == "+"
        ]
        return any("is:0" in branch.about and branch.about <= DEGENERATE for branch in branches)

    def _works(self, fact: Fact, unread: bool) -> bool:
        kernel = self.model.kernels.get(fact.name)
        if kernel is not None:
            return not kernel.trifle
        # Native code in text is read by itself: its own launches count. What could not be read may work.
        return unread if fact.name.startswith("ext:") else True

    def open_guards(self, fact: Fact) -> list[str]:
        """The branches around `fact` that the analysis could not decide; what is refused before it is none."""
        return [
            guard
            for guard in fact.guards
            if guard == "except" or self.branches.get(guard[:-1], fact).detail not in ("decided", "literal", "raises")
        ]

    def looks_at(self, fact: Fact) -> Tags:
        """What the undecided branches around `fact` look at."""
        found = [self.branches[guard[:-1]].about for guard in self.open_guards(fact) if guard[:-1] in self.branches]
        return frozenset().union(*found)

    def flows(self, fact: Fact) -> bool:
        """Whether the result of a library call reaches what is returned."""
        return fact.detail in self.returned or fact.detail == "cxx"

    def calls_that_work(self) -> Iterator[tuple[Fact, str | None]]:
        """Library calls on a path from the entry whose result is returned, with their family of main work or None."""
        for fact in self.model.of("call", live=True):
            if "compute" in fact.about and self.flows(fact):
                yield fact, vocabulary.family(fact.name)

    def main(self, fact: Fact, family: str | None) -> bool:
        """Whether a library call does what the task is about."""
        last = fact.name.rpartition(".")[2]
        return (family is not None and family in self.asked.families) or last in self.asked.names

    def side(self, facts: Iterable[Fact], guard: str) -> list[Fact]:
        """Those of `facts` that lie on the side `guard` of a branch."""
        return [fact for fact in facts if guard in fact.guards]


def opposite(guard: str) -> str:
    """The other side of a branch."""
    return guard[:-1] + ("-" if guard.endswith("+") else "+")


def calls(view: View, *names: str, live_only: bool = False) -> Iterator[Fact]:
    """Calls that act, whose canonical name is one of `names`, or starts with one that ends in a dot."""
    exact = {name for name in names if not name.endswith(".")}
    prefixes = tuple(name for name in names if name.endswith("."))
    for fact in view.model.acting("call"):
        if live_only and not fact.live:
            continue
        if fact.name in exact or (prefixes and fact.name.startswith(prefixes)):
            yield fact
