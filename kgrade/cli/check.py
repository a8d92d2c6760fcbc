"""`kgrade check [PATH]`: every fault of a queue, not the first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli import failures
from kgrade.cli.output import line, say, say_json
from kgrade.cli.queue import json_option

if TYPE_CHECKING:
    from kgrade.records.faults import Fault


@click.command("check", short_help="Find every fault of a queue.")
@click.argument("path", type=click.Path(path_type=Path), default=Path(), metavar="[PATH]")
@click.option("--commit", metavar="REV", help="Check what this commit holds, not the files as they lie there.")
@json_option
def command(path: Path, commit: str | None, as_json: bool) -> int:
    """Read every record of the queue at PATH (default: here) and tell each fault: where, what, what was expected.

    Exit code 1 when there are faults. Nothing is run and nothing is changed.
    """
    faults = _faults(path, commit)
    if as_json:
        say_json(faults)
    else:
        for fault in faults:
            say(line(str(fault)))
        say(f"{len(faults)} {'fault' if len(faults) == 1 else 'faults'}" if faults else "no faults")
    return failures.FOUND_FAULTS if faults else failures.DONE


def _faults(path: Path, commit: str | None) -> list[Fault]:
    from kgrade.repository.check import check
    from kgrade.repository.folder import Folder
    from kgrade.repository.runner import Git
    from kgrade.repository.tree import Snapshot, TreeReader

    git = Git.open(path)
    if git.work_tree is not None and commit is None:
        return check(Folder(git.work_tree))
    found = git.run(
        ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit or 'HEAD'}^{{commit}}"], check=False
    )
    if found.code:
        raise failures.BadInput(f"{path} has no commit {commit or 'HEAD'}; see: git log")
    reader = TreeReader(git)
    with reader.objects:
        return check(Snapshot(reader, found.text))
