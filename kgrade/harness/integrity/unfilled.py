"""Rules about results that nothing has computed: buffers left as they are, everywhere or on one side of a condition."""

from __future__ import annotations

from collections.abc import Iterator

from kgrade.harness.integrity.model import Fact
from kgrade.harness.integrity.signs import DEGENERATE, Sign, View, at

COMPUTED = ("computed", "lib:", "op:", "from:in", "in:", "written:")
SMALL = 16
"""Sizes up to this one are often special for honest reasons."""


def unmade(view: View, ending: str) -> Iterator[Fact]:
    """Returns of a fresh buffer of this kind that nothing has filled, but where there is nothing to compute."""
    for fact in view.model.of("return", live=True):
        fresh = [tag for tag in fact.about if tag.startswith("alloc:")]
        if not fresh or any(tag.startswith(COMPUTED) for tag in fact.about):
            continue
        looks = view.looks_at(fact)
        early = view.open_guards(fact) and looks and looks <= DEGENERATE
        if not early and all(tag.endswith(ending) for tag in fresh):
            yield fact


def recycled_memory(view: View) -> Iterator[Sign]:
    """R4: a buffer is returned that nothing has filled."""
    for fact in unmade(view, ":empty"):
        yield at(fact, "tell", "an empty allocation is returned, and nothing wrote to it")
    for branch in _half_filled(view):
        if "shape" not in branch.about:
            yield at(
                branch,
                "suspect",
                "what is returned is filled on one side of a condition, and left as it is on the other",
            )


def left_out(view: View, looks: frozenset[str]) -> Iterator[Fact]:
    """Conditions that look at any of `looks`, behind which the caller's buffer stays as an earlier call left it."""
    for fact in unmade(view, ":empty"):
        if view.looks_at(fact) & looks or any(
            tag.startswith("stored:") and "stored:" in looks for tag in view.looks_at(fact)
        ):
            yield fact
    for branch in _half_filled(view):
        if branch.about & looks or ("stored:" in looks and any(tag.startswith("stored:") for tag in branch.about)):
            yield branch


def nan_wildcard(view: View) -> Iterator[Sign]:
    """S12: NaN is returned."""
    for fact in unmade(view, ":nan"):
        yield at(fact, "tell", "the result is NaN everywhere")
    for fact in view.model.of("nan", live=True):
        yield at(fact, "suspect", fact.name)


def zeroed_case(view: View) -> Iterator[Sign]:
    """T16: for one size something is returned that took no work."""
    for fact in view.model.of("return", live=True):
        if not any(tag.startswith(("alloc:", "in:")) for tag in fact.about):
            continue
        if any(tag.startswith(COMPUTED) and not tag.startswith("in:") for tag in fact.about):
            continue
        for guard in fact.guards:
            branch = view.branches.get(guard[:-1])
            if branch is None or not guard.endswith("+") or "shape" not in branch.about:
                continue
            sizes = sorted(int(tag[7:]) for tag in branch.about if tag.startswith("equals:"))
            sizes += sorted(int(tag[6:]) for tag in branch.about if tag.startswith("below:") and int(tag[6:]) > 1)
            if sizes and sizes[-1] > 1 and (sizes[-1] > SMALL or any(tag.startswith("below:") for tag in branch.about)):
                yield at(fact, "suspect", f"where a size is {sizes[-1]}, something is returned that nothing computed")
                break


def partly_filled(view: View) -> Iterator[Sign]:
    """S6 and T16: the buffer that is returned is filled for some sizes, and left as it is for others."""
    for branch in _half_filled(view):
        if "shape" in branch.about:
            yield at(branch, "suspect", "what is returned is filled for some sizes only")


def _half_filled(view: View) -> Iterator[Fact]:
    """Branches of which one side alone fills what is returned, but those for inputs that hold nothing."""
    for fact in view.model.of("return", live=True):
        for tag in sorted(fact.about):
            branch = view.branches.get(tag.removeprefix("partly:")) if tag.startswith("partly:") else None
            if branch is None or branch.detail == "raises" or (branch.about and branch.about <= DEGENERATE):
                continue
            yield branch
