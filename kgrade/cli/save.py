"""`kgrade save ITEM --file F`: a grade that was written elsewhere becomes a commit."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kgrade.cli.output import say, say_json
from kgrade.cli.queue import desk_at, item_argument, json_option, parse_item, queue_options


@click.command("save", short_help="Commit a grade from a YAML file.")
@item_argument
@click.option("--file", "file", type=click.Path(path_type=Path), required=True, help="The grade's YAML; - is stdin.")
@queue_options
@json_option
def command(item: str, file: Path, queue: Path, evaluator: str | None, as_json: bool) -> None:
    """Check the grade in FILE against the rubric, compute its points and total, commit it, and push it.

    A push that fails loses nothing: the grade is Committed, and the next push takes it along.
    """
    wanted = parse_item(item)
    data = sys.stdin.buffer.read() if str(file) == "-" else _read(file)
    with desk_at(queue, evaluator) as desk:
        saved = desk.grade_file(wanted, data, "stdin" if str(file) == "-" else str(file))
        desk.sync()
        status, note = desk.standing(wanted)
    notes = [*saved.notes, *([note] if note else [])]
    if as_json:
        said = {"item": str(saved.item), "path": saved.path, "commit": saved.commit}
        say_json({**said, "state": status, "notes": notes})
        return
    say(f"{status}: {saved.path} in {saved.commit[:12]}")
    for note in notes:
        say(note)


def _read(file: Path) -> bytes:
    from kgrade.cli.failures import BadInput

    try:
        return file.read_bytes()
    except OSError as why:
        raise BadInput(f"{file} cannot be read: {why.strerror}; expected a grade in YAML") from None
