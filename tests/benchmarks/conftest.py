"""Gathers what was measured: one table at the end of the run, and one JSON result in pytest's cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import msgspec
import pytest

from tests.benchmarks.measuring import Measured
from tests.large_queue import PER_TASK, large_queue

_PROPERTY = "measured"
_RESULT = "kgrade/benchmarks"


@pytest.fixture(scope="module")
def queue_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A maker of queues with so many submissions, two tasks at least; one made for a file's tests is shared by them."""
    made: dict[int, Path] = {}

    def make(submissions: int) -> Path:
        if submissions not in made:
            made[submissions] = tmp_path_factory.mktemp("queue") / str(submissions)
            large_queue(made[submissions], submissions, per_task=min(PER_TASK, submissions // 2))
        return made[submissions]

    return make


@pytest.fixture
def keep(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Take note of a measurement for the table, and fail the test where its bound is passed.

    Where a bound is known not to be met, `because` says why: it stays as it is, and the test is an expected failure.
    """

    def kept(measured: Measured, because: str = "") -> None:
        record_property(_PROPERTY, asdict(measured))
        if because and not measured.is_kept:
            pytest.xfail(f"{because}: {_line(measured)}")
        assert measured.is_kept, f"past the bound: {_line(measured)}"

    return kept


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table and write the result. Measurements come with the reports, from other processes too."""
    reports = [report for group in ("passed", "failed", "xfailed") for report in terminalreporter.stats.get(group, [])]
    found = [
        msgspec.convert(value, Measured)
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == _PROPERTY
    ]
    if not found:
        return
    terminalreporter.section("measured: median [95 % interval], bound")
    for measured in found:
        terminalreporter.line(_line(measured))
    if config.cache is not None:
        config.cache.set(_RESULT, [{**asdict(each), "is_kept": each.is_kept} for each in found])
        terminalreporter.line(f"as JSON: {config.cache._cachedir / 'v' / _RESULT}")


def _line(measured: Measured) -> str:
    said = f"{measured.median:.4g} [{measured.low:.4g}, {measured.high:.4g}] {measured.unit}"
    what = f"{measured.what}, {measured.size:,} submissions" if measured.size else measured.what
    words = f"{what:<56} {said}, bound {measured.bound:g}, n={measured.n}"
    words += "" if measured.is_kept else "  NOT MET"
    return f"{words}  ({measured.beside})" if measured.beside else words
