"""`kgrade audit-code FILE…`: signs of cheating in source files, without a queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli import failures
from kgrade.cli.output import line, say, say_json
from kgrade.cli.queue import json_option

if TYPE_CHECKING:
    from kgrade.records.evidence import Finding
    from kgrade.records.task import Task

_OWN = {"submissions", "evidence", "grades", "comparisons"}


@click.command("audit-code", short_help="Look for signs of cheating in source files.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "--task", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Judge against this task's folder."
)
@json_option
def command(files: tuple[Path, ...], folder: Path | None, as_json: bool) -> int:
    """Read FILE... as one submission; nothing of it is run. A folder stands for the files in it.

    Ends with one word for all of it: clean, notes, suspect or tell. Exit code 1 for suspect and tell. A finding is
    evidence for a person, never a verdict.
    """
    from kgrade.harness.integrity import findings, overall

    given = _read(files)
    task, own = _task(folder) if folder is not None else (None, {})
    found = findings(given, task, own)
    word = overall(found)
    if as_json:
        say_json({"overall": word, "findings": found})
    else:
        for finding in found:
            _tell(finding)
        say(word)
    return failures.FOUND_FAULTS if word in ("suspect", "tell") else failures.DONE


def _tell(finding: Finding) -> None:
    say(line(f"{finding.path}:{finding.line}: {finding.severity} {finding.rule} {finding.name}"))
    if finding.snippet:
        say(line(f"    {finding.snippet}"))
    say(line(f"  why      {finding.why}"))
    say(line(f"  settles  {finding.settles}"))


def _read(paths: tuple[Path, ...]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in paths:
        inside = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        if not inside:
            raise failures.BadInput(f"{path} holds no file; name the submission's source files")
        for each in inside:
            found[each.as_posix()] = each.read_bytes()
    return found


def _task(folder: Path) -> tuple[Task, dict[str, bytes]]:
    from kgrade.records import codec
    from kgrade.records.task import Task

    file = folder / "task.yaml"
    if not file.is_file():
        raise failures.BadInput(
            f"{folder} holds no task.yaml; --task names a task's folder, such as queue/softmax-rows"
        )
    own = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in _OWN
    }
    return codec.decode(Task, file.read_bytes(), str(file)), own
