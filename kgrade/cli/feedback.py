"""`kgrade feedback ITEM`: Markdown for the author, made of the grades that stand."""

from __future__ import annotations

from pathlib import Path

import click

from kgrade.cli.failures import BadInput
from kgrade.cli.output import say, say_json
from kgrade.cli.queue import desk_at, item_argument, json_option, parse_item, queue_options


@click.command("feedback", short_help="Print the feedback for an item's author as Markdown.")
@item_argument
@queue_options
@json_option
def command(item: str, queue: Path, evaluator: str | None, as_json: bool) -> None:
    """Print what the evaluators say to the author of ITEM: verdicts, comments by criterion, notes on lines."""
    from kgrade.desk.feedback import feedback_markdown

    wanted = parse_item(item)
    with desk_at(queue, evaluator) as desk:
        found = desk.item(wanted, whole=True)
        named = not desk.settings.blind
        hidden = desk.hides(wanted)
    grades = [entry.grade for entry in found.grades]
    if not grades and hidden:
        raise BadInput(f"this queue is blind: what others say of {found.id} is shown once your own grade is in")
    if not grades:
        raise BadInput(f"{found.id} has no grade yet, so there is nothing to tell its author; grade it with: kgrade")
    text = feedback_markdown(str(found.id), found.task, found.rubric, grades, found.note_files, named=named)
    if as_json:
        say_json({"item": str(found.id), "markdown": text})
    else:
        say(text.rstrip("\n"))
