"""`kgrade compare`: two submissions of a task side by side, and which is better."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, cast

import click

from kgrade.cli.failures import BadInput
from kgrade.cli.open import on_a_terminal, open_app
from kgrade.cli.output import columns, line, say, say_json
from kgrade.cli.queue import json_option, parse_item, queue_options


@click.command("compare", short_help="Put two submissions side by side, and say which is better.")
@click.argument("first", metavar="ITEM")
@click.argument("second", metavar="ITEM")
@click.option("--prefer", metavar="ITEM", help="The better one of the two, or `neither`.")
@click.option("--reason", help="Why, in a sentence.")
@queue_options
@json_option
def command(
    first: str, second: str, prefer: str | None, reason: str | None, queue: Path, evaluator: str | None, as_json: bool
) -> None:
    """Show the evidence and the grades of two submissions of one task; with --prefer, commit your preference.

    On a terminal both open as a screen; piped, or with --json, they are printed.
    """
    from kgrade.audit import comparing
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of

    if prefer is None and reason is None and not as_json and on_a_terminal():
        one, other = parse_item(first), parse_item(second)
        open_app(queue, evaluator, begin=lambda page: page.leading.compare(one, other))
        return
    with office_at(queue) as office:
        pair = comparing.open_pair(office, parse_item(first), parse_item(second))
        if prefer is None:
            if reason is not None:
                raise BadInput("a reason needs the preference it is for; add --prefer ITEM")
            shown = pair
            if office.settings.blind:
                shown = comparing.blinded(pair, lead_of(office, evaluator)[0])
            rows = list(comparing.rows(shown))
            if as_json:
                say_json([dict(zip(("what", str(pair.first.id), str(pair.second.id)), row)) for row in rows])
            else:
                say(columns([["", str(pair.first.id), str(pair.second.id)], *map(list, rows)]))
            return
        who, by = lead_of(office, evaluator)
        names = {str(pair.first.id): "first", str(pair.second.id): "second", "neither": "neither"}
        if prefer not in names:
            raise BadInput(f"--prefer {prefer!r} is neither of the two; expected {', '.join(names)}")
        choice = cast(Literal["first", "second", "neither"], names[prefer])
        saved, made = comparing.prefer(office, pair, by, who, choice, reason or "")
        say(line(f"{made.path} in {saved.commit[:12]}"))
        for note in saved.notes:
            say(line(note))
