"""Rules about whose work this is."""

from __future__ import annotations

from collections.abc import Iterator

from kgrade.harness.integrity.signs import Sign, View, at

ALIKE = 0.8
SAME = 0.985
PARTLY = 0.5


def reference_again(view: View) -> Iterator[Sign]:
    """B5: most of the submission stands in the reference too."""
    for fact in view.model.of("alike"):
        share = float(fact.detail)
        if fact.name == "reference" and share >= PARTLY and not view.real:
            yield at(fact, "suspect", f"{share:.0%} of the code stands in the task's reference")


def copied_answer(view: View) -> Iterator[Sign]:
    """E4: most of the submission stands in another one."""
    for fact in view.model.of("alike"):
        share = float(fact.detail)
        if fact.name != "reference" and share >= ALIKE:
            # Answers to one task that start from the same idea are alike; the same tokens all through are a copy.
            yield at(fact, "suspect" if share >= SAME else "note", f"{share:.0%} of the code stands in {fact.name}")
