"""`kgrade audit-code FILE…`: signs of cheating in source files, without a queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli import failures
from kgrade.cli.output import line, say, say_json
from kgrade.cli.queue import json_option

if TYPE_CHECKING:
    from kgrade.harness.integrity.analysis import Word
    from kgrade.records.evidence import Finding
    from kgrade.records.task import Task

_OWN = {"submissions", "evidence", "grades", "comparisons"}


@click.command("audit-code", short_help="Look for signs of cheating in source files.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "--task", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Judge against this task's folder."
)
@click.option("--each", is_flag=True, help="Read every FILE as a submission of its own, several at once.")
@json_option
def command(files: tuple[Path, ...], folder: Path | None, each: bool, as_json: bool) -> int:
    """Read FILE... as one submission; nothing of it is run. A folder stands for the files in it.

    Ends with one word for all of it: clean, notes, suspect or tell. Exit code 1 for suspect and tell. A finding is
    evidence for a person, never a verdict.
    """
    from kgrade.harness.integrity import findings, findings_of_each, overall

    task, own = _task(folder) if folder is not None else (None, {})
    if each:
        answers = findings_of_each([_read((path,)) for path in files], task, own)
        return _each(zip(files, answers, strict=True), as_json)
    found = findings(_read(files), task, own)
    word = overall(found)
    if as_json:
        say_json({"overall": word, "findings": found})
    else:
        _tell(found)
        say(word)
    return _code(word)


def _each(answers: Iterable[tuple[Path, list[Finding]]], as_json: bool) -> int:
    """Tell what was found in each submission, as it comes, and how many got which word."""
    from kgrade.harness.integrity import overall

    words: Counter[Word] = Counter()
    told = []
    for path, found in answers:
        word = overall(found)
        words[word] += 1
        if as_json:
            told.append({"submission": path.as_posix(), "overall": word, "findings": found})
        else:
            _tell(found)
            say(line(f"{path.as_posix()}: {word}"))
    worst: Word = next(each for each in ("tell", "suspect", "notes", "clean") if words[each])
    if as_json:
        say_json({"overall": worst, "submissions": told})
    else:
        say(", ".join(f"{words[each]} {each}" for each in ("clean", "notes", "suspect", "tell") if words[each]))
    return _code(worst)


def _code(word: Word) -> int:
    return failures.FOUND_FAULTS if word in ("suspect", "tell") else failures.DONE


def _tell(found: list[Finding]) -> None:
    for finding in found:
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
            try:
                found[each.as_posix()] = each.read_bytes()
            except OSError as why:
                raise failures.BadInput(
                    f"{each} cannot be read: {why.strerror}; name source files or folders"
                ) from None
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
