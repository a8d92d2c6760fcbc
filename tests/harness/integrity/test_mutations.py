"""Cheats stay caught and honest code stays spared in whatever form they are written."""

from __future__ import annotations

import pytest
from cases import Case, analysed, cases
from mutations import variants

from kgrade.harness.integrity import overall

LEAST = 300


def _read(kind: str, step: int) -> list[tuple[Case, str, str, set[str]]]:
    """Fixture, what was done to it, the overall word, and the rules that accuse, for every `step`th variant."""
    found = []
    made = [
        (case, name, files)
        for seed, case in enumerate(cases(kind))
        for name, files in variants(case.path, case.text, seed)
    ]
    for case, name, files in made[::step]:
        signs = analysed(case, {path: text.encode() for path, text in files.items()})
        accusing = {one.rule for one in signs if one.severity != "note"}
        found.append((case, name, overall(signs), accusing))
    return found


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_mutated_cheats_are_still_caught(step: int) -> None:
    read = _read("cheats", step)
    missed = [(case.name, name) for case, name, _, rules in read if not rules & case.rules]
    assert len(read) >= LEAST
    assert len(missed) <= 0.05 * len(read), missed
    print(f"{len(read) - len(missed)} of {len(read)} caught; missed: {missed}")


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
def test_mutated_honest_code_is_still_spared(step: int) -> None:
    read = _read("honest", step)
    accused = [(case.name, name, word) for case, name, word, _ in read if word in ("suspect", "tell")]
    assert len(read) >= LEAST
    assert len(accused) <= 0.01 * len(read), accused
    print(f"{len(accused)} of {len(read)} accused: {accused}")
