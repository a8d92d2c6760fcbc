"""`kgrade gold`: the levels that leads know to be right, against which evaluators are measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli.failures import BadInput
from kgrade.cli.output import columns, line, say, say_json
from kgrade.cli.queue import json_option, parse_item, queue_options

if TYPE_CHECKING:
    from kgrade.records.grade import Grade


@click.command("gold", short_help="Keep right answers where evaluators do not look.")
@click.argument("item", required=False, metavar="[ITEM]")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Your grade of ITEM, in YAML: the right levels.")
@click.option("--share", "place", metavar="PLACE", help="A remote, path or URL that only leads read: take and send.")
@queue_options
@json_option
def command(
    item: str | None, file: Path | None, place: str | None, queue: Path, evaluator: str | None, as_json: bool
) -> None:
    """List what is known to be right; with ITEM and --file, add to it; with --share, exchange it with other leads.

    Gold lies on a ref of its own in the leads' clones: it is never fetched with the queue nor sent to its remote. The
    audit tells how far each evaluator is from it. Only a lead of this queue can do any of this.
    """
    from kgrade.audit.gold import golden, keep, share
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of

    if (item is None) != (file is None):
        raise BadInput("a right answer is an ITEM and your grade of it: kgrade gold ITEM --file GRADE")
    with office_at(queue) as office:
        lead, by = lead_of(office, evaluator)
        office.admit(lead)
        if item is not None and file is not None:
            commit = keep(office, lead, by, _grade(queue, lead, item, file))
            say(line(f"{item} is gold, in {commit[:12]}"))
        if place is not None:
            say(line(f"{share(office, lead, by, place)} items known here and at {place}"))
        if item is not None or place is not None:
            return
        found = golden(office.reader)
        if as_json:
            say_json(found)
            return
        rows = [[each.item, each.lead, each.saved, _levels(each.levels)] for each in found]
        say(columns([["item", "lead", "saved", "levels"], *rows]) if rows else "nothing is known to be right yet")


def _grade(queue: Path, lead: str, item: str, file: Path) -> Grade:
    from kgrade.cli.queue import desk_at
    from kgrade.desk.saving import grade_in

    try:
        data = file.read_bytes()
    except OSError as why:
        raise BadInput(f"{file} cannot be read: {why.strerror}; expected a grade in YAML") from None
    with desk_at(queue, lead) as desk:
        return grade_in(data, str(file), desk.item(parse_item(item)), lead)


def _levels(levels: dict[str, int]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())
