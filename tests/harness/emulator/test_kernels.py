"""Kernels in the manner of real work, each against numpy in float64, in order, in random order and under the checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.harness.emulator.kernels import (
    asynchronous,
    blocks,
    instructions,
    matrices,
    movement,
    ordering,
    reductions,
    rows,
)
from tests.harness.emulator.kernels.case import Make

pytestmark = pytest.mark.xdist_group("emulator")

# Of each kernel the file of its source, which lies beside that of its cases, and what makes a case.
CASES = {
    name: (Path(file.__file__).with_suffix(".cu"), make)
    for file in (reductions, movement, matrices, rows, ordering, instructions, asynchronous, blocks)
    for name, make in file.kernel.items()
}


def _run(loaded: Any, name: str, make: Make, seed: int = 0) -> None:
    case = make(np.random.default_rng(7))
    arguments = [*case.inputs, *case.outputs, *case.symbols, None]
    places = tuple(range(len(case.inputs), len(case.inputs) + len(case.outputs)))
    status = loaded.call(name, *arguments, seed=seed, outputs=places)
    assert status == 0, f"{status}: {loaded.fault}; {[finding.sentence() for finding in loaded.findings]}"
    results = case.outputs or case.inputs[-1:]
    for got, expected in zip(results, case.expected, strict=True):
        if expected is not None:
            scale = max(1.0, float(np.abs(np.asarray(expected, float)).max()))
            np.testing.assert_allclose(
                got.astype(float), np.asarray(expected, float), rtol=case.tolerance, atol=case.tolerance * scale
            )


def _loaded(load: Any, name: str, checks: bool = False) -> Any:
    return load(CASES[name][0].read_text(), checks)


@pytest.mark.parametrize("name", CASES)
def test_it_is_right(load: Any, name: str) -> None:
    _run(_loaded(load, name), name, CASES[name][1])


@pytest.mark.parametrize("name", CASES)
def test_it_is_right_in_any_order(load: Any, name: str) -> None:
    for seed in (1, 2, 3):
        _run(_loaded(load, name), name, CASES[name][1], seed)


@pytest.mark.parametrize("name", CASES)
def test_the_checks_find_nothing(load: Any, name: str) -> None:
    loaded = _loaded(load, name, checks=True)
    for seed in (0, 5):
        _run(loaded, name, CASES[name][1], seed)
        assert [finding.sentence() for finding in loaded.findings] == []
