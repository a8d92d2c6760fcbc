"""`kgrade save ITEM --file F`: a grade that was written elsewhere becomes a commit."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kgrade.cli.output import say, say_json
from kgrade.cli.queue import desk_at, item_argument, json_option, parse_item, queue_option


@click.command("save", short_help="Commit a grade from a YAML file.")
@item_argument
@click.option("--file", "file", type=click.Path(path_type=Path), required=True, help="The grade's YAML; - is stdin.")
@queue_option
@json_option
def command(item: str, file: Path, queue: Path, as_json: bool) -> None:
    """Check the grade in FILE against the rubric, compute its points and total, commit and push it."""
    from kgrade.records import codec
    from kgrade.records.grade import Grade

    wanted = parse_item(item)
    data = sys.stdin.buffer.read() if str(file) == "-" else _read(file)
    grade = codec.decode(Grade, data, "stdin" if str(file) == "-" else str(file))
    with desk_at(queue) as desk:
        saved = desk.grade_file(wanted, grade)
    if as_json:
        said = {"item": str(saved.item), "path": saved.path, "commit": saved.commit}
        say_json({**said, "state": saved.state, "notes": saved.notes})
        return
    say(f"{saved.state}: {saved.path} in {saved.commit[:12]}")
    for note in saved.notes:
        say(note)


def _read(file: Path) -> bytes:
    from kgrade.cli.failures import BadInput

    try:
        return file.read_bytes()
    except OSError as why:
        raise BadInput(f"{file} cannot be read: {why.strerror}; expected a grade in YAML") from None
