"""`kgrade audit`: what the history of grades shows, for leads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli import failures
from kgrade.cli.output import columns, line, say, say_json
from kgrade.cli.queue import json_option, queue_option

if TYPE_CHECKING:
    from kgrade.audit.verification import Verification


@click.command("audit", short_help="See whether the history of grades holds.")
@queue_option
@click.option("--verify", "verifies", is_flag=True, help="Check signatures, authors, dates, seals and sums.")
@json_option
def command(queue: Path, verifies: bool, as_json: bool) -> int:
    """Check the history of every grade in this clone.

    Each alarm comes with the git command that shows it. Exit code 1 when there are alarms.
    """
    if not verifies:
        raise failures.BadInput("say what to look at: kgrade audit --verify checks the history of grades")
    found = _verification(queue)
    if as_json:
        say_json(found)
    else:
        _tell(found)
    return failures.FOUND_FAULTS if found.alarms else failures.DONE


def _verification(path: Path) -> Verification:
    from kgrade.audit.verification import verify
    from kgrade.repository.opening import open_queue
    from kgrade.repository.runner import Git
    from kgrade.repository.tree import TreeReader

    reader = TreeReader(Git.open(path))
    with reader.objects:
        branch, settings = open_queue(reader)
        return verify(reader, branch, settings)


def _tell(found: Verification) -> None:
    for finding in sorted(found.findings, key=lambda each: not each.alarm):
        say(line(f"{'ALARM' if finding.alarm else 'note '} {finding.kind}: {finding.sentence}"))
        say(line(f"      see: {finding.command}"))
    told: dict[tuple[str, str], list[int]] = {}
    for grade in found.grades:
        row = told.setdefault((grade.path.rpartition("/")[2].removesuffix(".yaml"), grade.signature), [0, 0])
        row[0] += 1
        row[1] += grade.seal is not None
    if told:
        say(
            columns(
                [["evaluator", "signature", "grades", "sealed"], *([*k, str(n), str(s)] for k, (n, s) in told.items())]
            )
        )
    say(f"{len(found.grades)} grades, {found.commits} commits, {found.seals} seals: {len(found.alarms) or 'no'} alarms")
