"""`kgrade requeue`: items that are to be graded once more."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli.lead import items_argument, say_decided
from kgrade.cli.queue import parse_item, queue_options


@click.command("requeue", short_help="Ask for one grade more of items, finished or retired ones too.")
@items_argument
@queue_options
def command(items: tuple[str, ...], queue: Path, evaluator: str | None) -> None:
    """Ask for one grade more of each ITEM than it has. Who graded it already is not offered it again.

    A claim whose holder was not seen for its lease and a quarter of an hour is given back. The decision is a commit to
    assignments.yaml on the queue's branch. Only a lead of this queue can make it.
    """
    from kgrade.audit.assigning import requeue
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of

    with office_at(queue) as office:
        lead, by = lead_of(office, evaluator)
        saved = requeue(office, lead, by, [parse_item(item) for item in items])
        say_decided(saved, f"{len(items)} asked for once more")
