"""`kgrade list`: every item of the queue, in its order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli.output import columns, line, say, say_json
from kgrade.cli.queue import desk_at, json_option, queue_option

if TYPE_CHECKING:
    from kgrade.desk import QueueRow


@click.command("list", short_help="List the items of the queue and their state.")
@click.option("--mine", is_flag=True, help="Only what you have graded.")
@queue_option
@json_option
def command(queue: Path, mine: bool, as_json: bool) -> None:
    """List the items in queue order: a task's review before its submissions, faulty items included."""
    with desk_at(queue) as desk:
        rows = desk.my_grades() if mine else desk.rows()
        progress = desk.progress()
        evaluator = desk.evaluator
    if as_json:
        say_json([{**_identified(row)} for row in rows])
        return
    if not rows:
        say("nothing graded by you yet" if mine else "the queue is empty: no task under queue/")
        return
    say(columns([_cells(row) for row in rows]))
    say(f"\n{progress.graded} of {progress.total} graded by {evaluator}, {progress.today} today")


def _identified(row: QueueRow) -> dict[str, object]:
    import msgspec

    fields: dict[str, object] = msgspec.to_builtins(row)
    return {**fields, "id": str(row.id), "faults": [str(fault) for fault in row.faults]}


def _cells(row: QueueRow) -> list[str]:
    state = f"{row.state} by {row.holder}" if row.holder and row.state == "claimed" else row.state
    total = "" if row.my_total is None else f"{row.my_total:g}"
    said = str(row.faults[0]) if row.faults else line(row.title)
    return [str(row.id), state, row.mine or "", total, row.type, row.language, said]
