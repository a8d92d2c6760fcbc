"""`python -m tests.benchmarks`: measure everything, show one table, write one JSON result."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from tests.benchmarks.measuring import Measured
from tests.benchmarks.results import Results, put_into, read_results, tables, write_results

ROOT = Path(__file__).parents[2]


class _Gatherer:
    """Takes the measurements from the reports of a run."""

    def __init__(self) -> None:
        self.measured: list[tuple[Measured, str]] = []
        self.skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.skipped[report.nodeid.rpartition("::")[2]] = str(reason).removeprefix("Skipped: ")
        if report.when == "call":
            why = str(getattr(report, "wasxfail", "")).partition(": ")[0].removeprefix("reason: ")
            found = [value for name, value in report.user_properties if name == "measured"]
            self.measured += [(msgspec.convert(each, Measured), why) for each in found]


@click.command()
@click.argument("names", nargs=-1)
@click.option("--long", is_flag=True, help="The long forms too: 100,000 submissions, logs of a gigabyte.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write the result here; what is there is kept.")
@click.option("--only", default="", help="Those tests alone whose names fit, as pytest's -k takes it.")
@click.option("--page", type=click.Path(path_type=Path, exists=True), help="Put the tables of the result into a page.")
def main(names: tuple[str, ...], long: bool, file: Path | None, only: str, page: Path | None) -> None:
    """Run the benchmarks, or those whose files hold one of NAMES, such as `size saving`; needs a quiet machine."""
    files = [str(each) for each in sorted(ROOT.glob("tests/**/test_*.py")) if _is_asked(each, names)]
    if not files:
        raise click.UsageError(f"no benchmark is named {' or '.join(names)}")
    gatherer = _Gatherer()
    # Naming `long` is what lets the long forms in: see tests/selection.py.
    wanted = f"alone and not gpu and {'(long or not long)' if long else 'not long'}"
    code = pytest.main(["-q", "-n", "0", "-m", wanted, "-k", only, "--rootdir", str(ROOT), *files], plugins=[gatherer])
    results = read_results(file) if file else Results()
    results.take(gatherer.measured, gatherer.skipped)
    text = tables(results)
    click.echo(f"\n{text}")
    if file:
        write_results(file, results)
    if page:
        page.write_text(put_into(page.read_text(), text))
    sys.exit(code)


def _is_asked(file: Path, names: tuple[str, ...]) -> bool:
    return (not names or any(name in file.stem for name in names)) and bool(
        re.search(r"mark\.alone\b", file.read_text())
    )


if __name__ == "__main__":
    main()
