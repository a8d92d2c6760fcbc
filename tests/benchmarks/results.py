"""What was measured, as one JSON result and as tables that people read. A result is kept by its name and its size."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from kgrade.repository.runner import git_version
from tests.benchmarks.measuring import Measured

BEGIN, END = "<!-- numbers: begin -->\n", "<!-- numbers: end -->\n"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement, on which day (ISO 8601) and on what it was made."""

    measured: Measured
    is_kept: bool
    why_not: str = ""
    on: str
    machine: str


class Results(msgspec.Struct, kw_only=True):
    """All that was measured, by name and size; `skipped` are sentences that name the tool that was missing."""

    schema: str = "kgrade/benchmarks@1"
    results: dict[str, Result] = {}
    skipped: dict[str, str] = {}

    def take(self, measured: Iterable[tuple[Measured, str]], skipped: Mapping[str, str]) -> None:
        """Put new measurements in the places of those before, each with why its bound is not met, if it is known."""
        on, machine = datetime.now(UTC).date().isoformat(), machine_in_words()
        for each, why in measured:
            name = f"{each.what}, {each.size:,} submissions" if each.size else each.what
            self.results[name] = Result(measured=each, is_kept=each.is_kept, why_not=why, on=on, machine=machine)
        self.skipped.update(skipped)


def read_results(file: Path) -> Results:
    """The results in `file`; none where it does not exist."""
    return msgspec.json.decode(file.read_bytes(), type=Results) if file.exists() else Results()


def write_results(file: Path, results: Results) -> None:
    """Write `results` to `file`, indented and in the order of names, so that two runs can be laid side by side."""
    results.results = dict(sorted(results.results.items()))
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def machine_in_words() -> str:
    """The kind of machine this is: cores, memory, and the versions on which the figures depend."""
    import textual

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    git = ".".join(map(str, git_version()))
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} on {platform.machine()}, "
        f"Python {platform.python_version()}, git {git}, Textual {textual.__version__}"
    )


def tables(results: Results) -> str:
    """The results as Markdown: first what does not depend on a queue's size, then the curves over it."""
    found = sorted(results.results.values(), key=lambda each: (each.measured.what, each.measured.size))
    plain = [each for each in found if not each.measured.size]
    sized = [each for each in found if each.measured.size]
    lines = [f"On {_list({each.on for each in found})}, on {_list({each.machine for each in found})}.", ""]
    if plain:
        lines += ["| what | measured | bound | |", "|---|---|---|---|", *map(_plain_line, plain), ""]
    if sized:
        sizes = sorted({each.measured.size for each in sized})
        lines += [
            f"| submissions | {' | '.join(f'{size:,}' for size in sizes)} | bound |",
            "|---" * (len(sizes) + 2) + "|",
        ]
        for what in dict.fromkeys(each.measured.what for each in sized):
            at = {each.measured.size: each for each in sized if each.measured.what == what}
            cells = [_cell(at[size]) if size in at else "" for size in sizes]
            lines.append(f"| {what} | {' | '.join(cells)} | {_bound(next(iter(at.values())).measured)} |")
        lines.append("")
    missed = [f"- {each.measured.what}: {each.why_not}" for each in found if not each.is_kept and each.why_not]
    if missed:
        lines += ["Past its bound (✗), and why:", "", *dict.fromkeys(missed), ""]
    if results.skipped:
        lines += ["Not run:", "", *(f"- {name}: {why}" for name, why in sorted(results.skipped.items())), ""]
    return "\n".join(lines)


def put_into(page: str, text: str) -> str:
    """`page` with `text` between its two marks; ValueError where it has none."""
    pattern = re.compile(f"(?<={re.escape(BEGIN)}).*?(?={re.escape(END)})", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no lines {BEGIN.strip()} and {END.strip()}")
    return pattern.sub(lambda found: f"\n{text}\n", page, count=1)


def _plain_line(each: Result) -> str:
    return f"| {each.measured.what} | {_cell(each)} | {_bound(each.measured)} | {each.measured.beside} |"


def _cell(each: Result) -> str:
    found = each.measured
    return f"{'' if each.is_kept else '✗ '}{found.median:.3g} ({found.low:.3g}…{found.high:.3g})"


def _bound(measured: Measured) -> str:
    return f"{measured.bound:g} {measured.unit}"


def _list(words: Iterable[str]) -> str:
    return "; ".join(sorted(words))
