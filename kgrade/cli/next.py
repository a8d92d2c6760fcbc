"""`kgrade next`: which item comes next, or why none does."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli.output import say, say_json
from kgrade.cli.queue import desk_at, json_option, queue_options


@click.command("next", short_help="Name the item that comes next for you.")
@queue_options
@json_option
def command(queue: Path, evaluator: str | None, as_json: bool) -> None:
    """Print the id of the next item; when there is none, nothing, and the reasons on stderr.

    Nothing is claimed: the app does that when it opens an item.
    """
    from kgrade.desk import EmptyQueue

    with desk_at(queue, evaluator) as desk:
        found = desk.next()
    if isinstance(found, EmptyQueue):
        if as_json:
            say_json({"item": None, "reasons": found.reasons, "hint": found.hint})
        else:
            say(f"nothing to grade: {'; '.join(found.reasons)}; {found.hint}", err=True)
    elif as_json:
        say_json({"item": str(found), "reasons": [], "hint": ""})
    else:
        say(str(found))
