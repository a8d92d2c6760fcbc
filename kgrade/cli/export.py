"""`kgrade export`: grades or preferences as JSON Lines, CSV or Parquet; feedback as Markdown."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli.failures import BadInput, Lacking
from kgrade.cli.output import line, say
from kgrade.cli.queue import queue_option

FORMATS = ("jsonl", "csv", "parquet")


@click.command("export", short_help="Write grades or preference pairs as JSON Lines, CSV or Parquet.")
@click.argument("what", type=click.Choice(["grades", "preferences"]))
@click.option("--format", "kind", type=click.Choice(FORMATS), help="Default: by the file's suffix, else jsonl.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Default: stdout."
)
@queue_option
def command(what: str, kind: str | None, output: Path | None, queue: Path) -> None:
    """Write one row for each grade of the queue, or for each preference between two submissions of a task.

    Every row says where its word comes from: one evaluator (single), several with the same verdict (unanimous), a lead
    (adjudicated), nobody yet (unresolved), or another format alone (imported). A preference is an explicit comparison,
    or two grades of one evaluator under the same sheet at least 10 points apart. In a blind queue authors are left out,
    and only its leads export.
    """
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of
    from kgrade.exchange import rows
    from kgrade.exchange.standing import read_export
    from kgrade.repository.grades import grade_branches

    chosen = kind or (output.suffix.removeprefix(".") if output else "jsonl")
    if chosen not in FORMATS:
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
    for fault in found.faults:
        say(line(f"left out: {fault}"), err=True)
