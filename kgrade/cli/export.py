"""`kgrade export`: grades or preferences as rows; grades as annotation YAML, or in folders of other benchmarks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli.failures import BadInput, Lacking
from kgrade.cli.output import line, say
from kgrade.cli.queue import queue_option

if TYPE_CHECKING:
    from kgrade.audit.lead import Office
    from kgrade.exchange.answers import Written
    from kgrade.exchange.standing import Export, Graded
    from kgrade.records.grade import Grade, LineNote
    from kgrade.repository.tree import Snapshot

EPOCH = datetime.fromtimestamp(0, UTC)
FORMATS = ("jsonl", "csv", "parquet")
FOLDERS = ("annotations", "kernelbench", "flashinfer")


@click.command("export", short_help="Write grades or preference pairs for other programs.")
@click.argument("what", type=click.Choice(["grades", "preferences", *FOLDERS]))
@click.option("--format", "kind", type=click.Choice(FORMATS), help="Default: by the file's suffix, else jsonl.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="PATH", help="A file; for other formats a new folder."
)
@queue_option
def command(what: str, kind: str | None, output: Path | None, queue: Path) -> None:
    """Write one row for each grade of the queue, or for each preference between two submissions of a task.

    Every row says where its word comes from: one evaluator (single), several with the same verdict (unanimous), a lead
    (adjudicated), nobody yet (unresolved), or another format alone (imported). A preference is an explicit comparison,
    or two grades of one evaluator under the same sheet at least 10 points apart. In a blind queue authors are left out,
    and only its leads export.

    Annotations are one YAML file for each grade of a submission; those that were imported leave as they came, in one
    shape. KernelBench and flashinfer folders hold problems, answers and results, each result with what people said of
    it: a confirmed wrong result or cheating makes it incorrect there.
    """
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of
    from kgrade.exchange import rows
    from kgrade.exchange.standing import read_export
    from kgrade.repository.grades import grade_branches

    if what in FOLDERS and (output is None or kind is not None):
        raise BadInput(f"{what} are files in a folder; say which: --output DIR, without --format")
    if what not in FOLDERS and output is not None and output.is_dir():
        raise BadInput(f"{output} is a folder; expected the name of a file")
    chosen = "folder" if what in FOLDERS else kind or (output.suffix.removeprefix(".") if output else "jsonl")
    if chosen not in (*FORMATS, "folder"):
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
        if what in FOLDERS and output is not None:
            files, left_out = _folder(what, office, found)
            _write(output, files, what)
            _left_out(left_out)
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
    _left_out(found.faults)


def _folder(what: str, office: Office, found: Export) -> tuple[list[Written], list[str]]:
    """The files of an export that is a folder, and a sentence for each thing that stays."""
    from kgrade.exchange.annotating import annotation_files
    from kgrade.exchange.answers import Written, answers_of
    from kgrade.exchange.flashinfer_out import flashinfer_files
    from kgrade.exchange.kernelbench_out import kernelbench_files

    snapshot, named = office.snapshot(), not office.settings.blind
    if what == "annotations":
        made = annotation_files(found, _lines_of(snapshot), named=named)
        return [Written(name, data) for name, data in made], found.faults
    if what == "kernelbench":
        answers, parcel = answers_of(office.reader, snapshot, found, "kernelbench", "kernelbench", named=named)
        parcel = kernelbench_files(answers, parcel)
    else:
        answers, parcel = answers_of(office.reader, snapshot, found, "flashinfer", "flashinfer", named=named)
        parcel = flashinfer_files(answers, parcel, named=named)
    return list(parcel.files.values()), parcel.left_out


def _lines_of(snapshot: Snapshot) -> Callable[[Graded, Grade, LineNote], str]:
    """What gives the lines that a note is about, where they still stand as they were judged."""

    def text_of(item: Graded, grade: Grade, note: LineNote) -> str:
        path = f"{item.id.folder}/{note.path}"
        there = snapshot.entry(f"{item.id.folder}/solution")
        if note.side != "new" or there is None or there.oid != grade.about.solution_tree:
            return ""
        file = snapshot.entry(path)
        text = snapshot.read(path).decode(errors="replace") if file is not None and file.kind == "file" else ""
        return "".join(text.splitlines(keepends=True)[note.lines[0] - 1 : note.lines[1]])

    return text_of


def _write(folder: Path, files: Iterable[Written], what: str) -> None:
    """Write `files` into `folder`, which holds nothing yet: files of before would look like these."""
    count = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise BadInput(f"{folder} is not empty; expected a new folder")
        for count, file in enumerate(files, 1):  # noqa: B007
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
            if file.when is not None:
                seconds = max(0.0, (datetime.fromisoformat(file.when) - EPOCH).total_seconds())
                os.utime(path, (seconds, seconds))
    except OSError as why:
        raise BadInput(f"{folder} cannot be written: {why.strerror}") from None
    noun = "annotations" if what == "annotations" else "files"
    say(line(f"wrote {count:,} {noun} to {folder}"), err=True)


def _left_out(faults: Iterable[str]) -> None:
    for fault in faults:
        say(line(f"left out: {fault}"), err=True)
