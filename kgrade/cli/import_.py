"""`kgrade import`: other people's formats into this queue."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli.failures import BAD_INPUT, DONE, BadInput
from kgrade.cli.output import columns, line, say
from kgrade.cli.queue import queue_option

if TYPE_CHECKING:
    from kgrade.exchange.landing import Row

FORMATS = ("annotations", "runs", "kernelbench", "gpumode", "flashinfer", "computeval", "plain")
SHOWN = 40


@click.command("import", short_help="Bring in problems, answers, results and verdicts from other formats.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--format", "kind", type=click.Choice(FORMATS), help="Default: seen from the files.")
@click.option("--dry-run", is_flag=True, help="Only show what would come, what would not, and why.")
@click.option("--as", "evaluator", metavar="EVALUATOR", help="Whose the verdicts are (default: the format's name).")
@click.option("--rubric", default="generation", show_default=True, help="The sheet by which new tasks are graded.")
@queue_option
def command(path: Path, kind: str | None, dry_run: bool, evaluator: str | None, rubric: str, queue: Path) -> int:
    """Bring what lies at PATH into the queue, in one commit. What is here already is not made again.

    Problems become tasks, answers submissions. Results become evidence that is marked as imported; verdicts become
    grades of a foreign evaluator and count in agreement. What cannot come is named with its reason, the rest comes,
    and the exit code is 2.
    """
    from kgrade.exchange.formats import Options, UnknownFormat
    from kgrade.exchange.importing import UnreadableFolder, import_folder
    from kgrade.records.slugs import is_slug
    from kgrade.repository.runner import Git
    from kgrade.repository.tree import TreeReader

    if evaluator is not None and not is_slug(evaluator):
        raise BadInput(f"{evaluator!r} cannot name an evaluator; expected a-z, 0-9 and -, such as kernelbench-hard")
    reader, told = TreeReader(Git.open(queue)), _telling()
    with reader.objects:
        try:
            options = Options(format=kind, evaluator=evaluator, rubric=rubric)
            found = import_folder(reader, path, options, dry=dry_run, told=told)
        except (UnknownFormat, UnreadableFolder) as why:
            raise BadInput(str(why)) from None
        finally:
            told("")  # what is said next begins on an empty line
    _tell(found.rows, found.format, dry=dry_run)
    for saved in found.saved:
        say(line(f"committed {saved.commit[:12]} to {saved.ref.rpartition('refs/heads/')[2]}"))
        for note in saved.notes:
            say(line(note))
    for note in found.notes:
        say(line(note))
    return BAD_INPUT if any(row.state == "refused" for row in found.rows) else DONE


def _telling() -> Callable[[str], None]:
    """Progress on one line where there is a terminal; nothing where there is none."""
    if not sys.stderr.isatty():
        return lambda text: None
    return lambda text: click.echo(f"\r\x1b[K{line(text)}\r", nl=False, err=True)


def _tell(rows: list[Row], found: str, *, dry: bool) -> None:
    from kgrade.exchange.landing import tally

    comes = [row for row in rows if row.state in ("new", "changed", "here already")]
    shown = comes if dry else []
    if shown:
        table = [[row.state, row.kind, row.place, row.lands.removeprefix("queue/")] for row in shown[:SHOWN]]
        say(columns([["state", "kind", "from", "to"], *table]))
        if len(shown) > SHOWN:
            say(f"and {len(shown) - SHOWN:,} more")
    for row in rows:
        if row.state == "refused":
            say(line(f"does not come: {row.place}: {row.why}"), err=True)
    notes = [row for row in rows if row.state == "note"]
    for row in notes[:SHOWN]:
        say(line(f"note: {row.place}: {row.why}"), err=True)
    if len(notes) > SHOWN:
        say(f"and {len(notes) - SHOWN:,} notes more", err=True)
    counts = tally(rows)
    parts = [
        f"{counts[state]:,} {state}" for state in ("new", "changed", "here already", "refused") if counts.get(state)
    ]
    say(line(f"{found}: {', '.join(parts) or 'nothing'}{'; nothing was written' if dry else ''}"))
