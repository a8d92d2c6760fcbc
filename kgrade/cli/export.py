"""`kgrade export`: grades or preferences as JSON Lines, CSV or Parquet; grades as annotation YAML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli.failures import BadInput, Lacking
from kgrade.cli.output import line, say
from kgrade.cli.queue import queue_option

if TYPE_CHECKING:
    from kgrade.exchange.standing import Export, Graded
    from kgrade.records.grade import Grade, LineNote
    from kgrade.repository.tree import Snapshot

FORMATS = ("jsonl", "csv", "parquet")


@click.command("export", short_help="Write grades or preference pairs for other programs.")
@click.argument("what", type=click.Choice(["grades", "preferences", "annotations"]))
@click.option("--format", "kind", type=click.Choice(FORMATS), help="Default: by the file's suffix, else jsonl.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="PATH", help="A file, or a folder for annotations."
)
@queue_option
def command(what: str, kind: str | None, output: Path | None, queue: Path) -> None:
    """Write one row for each grade of the queue, or for each preference between two submissions of a task.

    Every row says where its word comes from: one evaluator (single), several with the same verdict (unanimous), a lead
    (adjudicated), nobody yet (unresolved), or another format alone (imported). A preference is an explicit comparison,
    or two grades of one evaluator under the same sheet at least 10 points apart. In a blind queue authors are left out,
    and only its leads export.

    Annotations are one YAML file for each grade of a submission, in a folder; those that were imported leave as they
    came, in one shape.
    """
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of
    from kgrade.exchange import rows
    from kgrade.exchange.standing import read_export
    from kgrade.repository.grades import grade_branches

    if what == "annotations" and (output is None or kind is not None):
        raise BadInput("annotations are YAML files in a folder; say which: --output DIR, without --format")
    if what != "annotations" and output is not None and output.is_dir():
        raise BadInput(f"{output} is a folder; expected the name of a file")
    chosen = "yaml" if what == "annotations" else kind or (output.suffix.removeprefix(".") if output else "jsonl")
    if chosen not in (*FORMATS, "yaml"):
        raise BadInput(
            f"{output} tells no format; name it {', '.join(f'*.{each}' for each in FORMATS)} or add --format"
        )
    if chosen == "parquet" and output is None:
        raise BadInput("Parquet is not text; say where it goes: --output grades.parquet")
    with office_at(queue) as office:
        settings = office.settings
        if settings.blind:
            office.admit(lead_of(office, None)[0])
        found = read_export(office.reader, office.snapshot(), grade_branches(office.queue, settings))
        if what == "annotations" and output is not None:
            _annotate(found, office.snapshot(), output, named=not settings.blind)
            return
    made = rows.grade_rows(found, named=not settings.blind) if what == "grades" else rows.preference_rows(found)
    try:
        data = {"jsonl": rows.as_jsonl, "csv": rows.as_csv, "parquet": rows.as_parquet}[chosen](made)
    except ImportError:
        raise Lacking("Parquet needs pyarrow; install it with: pip install pyarrow") from None
    if output is None:
        click.echo(data, nl=False)
    else:
        output.write_bytes(data)
        say(line(f"wrote {output}"), err=True)
    _left_out(found)


def _annotate(found: Export, snapshot: Snapshot, folder: Path, *, named: bool) -> None:
    """Write one file for each grade into `folder`, which holds nothing yet: files of before would look like these."""
    from kgrade.exchange.annotating import annotation_files

    def text_of(item: Graded, grade: Grade, note: LineNote) -> str:
        path = f"{item.id.folder}/{note.path}"
        there = snapshot.entry(f"{item.id.folder}/solution")
        if note.side != "new" or there is None or there.oid != grade.about.solution_tree:
            return ""
        file = snapshot.entry(path)
        text = snapshot.read(path).decode(errors="replace") if file is not None and file.kind == "file" else ""
        return "".join(text.splitlines(keepends=True)[note.lines[0] - 1 : note.lines[1]])

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise BadInput(f"{folder} is not empty; expected a new folder")
        count = 0
        for name, data in annotation_files(found, text_of, named=named):
            (folder / name).write_bytes(data)
            count += 1
    except OSError as why:
        raise BadInput(f"{folder} cannot be written: {why.strerror}") from None
    say(line(f"wrote {count:,} annotations to {folder}"), err=True)
    _left_out(found)


def _left_out(found: Export) -> None:
    for fault in found.faults:
        say(line(f"left out: {fault}"), err=True)
