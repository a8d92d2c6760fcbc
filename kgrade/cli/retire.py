"""`kgrade retire`: items that nobody is to grade any more."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli.lead import items_argument, say_decided
from kgrade.cli.queue import parse_item, queue_options


@click.command("retire", short_help="Take items out of the queue; their grades stay.")
@items_argument
@click.option("--reason", required=True, help="Why, in a sentence that the evaluators will read.")
@queue_options
def command(items: tuple[str, ...], reason: str, queue: Path, evaluator: str | None) -> None:
    """Offer each ITEM to nobody any more; `kgrade requeue ITEM` brings it back. Grades that were given stay.

    The decision is a commit to assignments.yaml on the queue's branch. Only a lead of this queue can make it.
    """
    from kgrade.audit.assigning import retire
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of

    with office_at(queue) as office:
        lead, by = lead_of(office, evaluator)
        saved = retire(office, lead, by, [parse_item(item) for item in items], reason)
        say_decided(saved, f"{len(items)} retired")
