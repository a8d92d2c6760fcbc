"""`kgrade assign`: who alone is offered an item."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli.failures import BadInput
from kgrade.cli.lead import items_argument, say_decided
from kgrade.cli.queue import parse_item, queue_options


@click.command("assign", short_help="Offer items to certain evaluators alone.")
@items_argument
@click.option("--to", "names", multiple=True, metavar="NAME", help="Who is offered the items; may be repeated.")
@click.option("--anyone", is_flag=True, help="Offer them to everyone again.")
@queue_options
def command(items: tuple[str, ...], names: tuple[str, ...], anyone: bool, queue: Path, evaluator: str | None) -> None:
    """Offer each ITEM to the evaluators named with --to and to nobody else; what others graded stays.

    The decision is a commit to assignments.yaml on the queue's branch. Only a lead of this queue can make it.
    """
    from kgrade.audit.assigning import assign
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of

    if bool(names) == anyone:
        raise BadInput("say to whom the items go: --to NAME, as often as needed, or --anyone")
    with office_at(queue) as office:
        lead, by = lead_of(office, evaluator)
        saved = assign(office, lead, by, [parse_item(item) for item in items], names)
        say_decided(saved, f"{len(items)} assigned to {', '.join(names) or 'everyone'}")
