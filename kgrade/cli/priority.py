"""`kgrade priority`: which items come first."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli.lead import items_argument, say_decided
from kgrade.cli.queue import parse_item, queue_options


@click.command("priority", short_help="Offer items earlier, or later, than the others.")
@items_argument
@click.option(
    "--level", required=True, type=click.IntRange(-100, 100), help="Higher comes first; 0 is every item's own."
)
@queue_options
def command(items: tuple[str, ...], level: int, queue: Path, evaluator: str | None) -> None:
    """Give each ITEM a priority: of what is open, the highest is offered first, and drafts before all.

    The decision is a commit to assignments.yaml on the queue's branch. Only a lead of this queue can make it.
    """
    from kgrade.audit.assigning import prioritise
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of

    with office_at(queue) as office:
        lead, by = lead_of(office, evaluator)
        saved = prioritise(office, lead, by, [parse_item(item) for item in items], level)
        say_decided(saved, f"{len(items)} at priority {level}")
