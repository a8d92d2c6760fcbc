"""`kgrade list`: every item of the queue, in its order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgrade.cli.output import columns, say, say_json
from kgrade.cli.queue import desk_at, json_option, queue_options

if TYPE_CHECKING:
    from kgrade.desk import Place
    from kgrade.repository.index_rows import GradeRow, ItemRow


@click.command("list", short_help="List the items of the queue and their state.")
@click.option("--mine", is_flag=True, help="Only what you have graded.")
@queue_options
@json_option
def command(queue: Path, evaluator: str | None, mine: bool, as_json: bool) -> None:
    """List the items in queue order: a task's review before its submissions, faulty items included."""
    with desk_at(queue, evaluator) as desk:
        me = desk.evaluator
        desk.refresh()
        desk.catch_up()
        places = [place for place in desk.rows() if not mine or _grade_of(place, me)]
        progress = desk.progress()
        blind = desk.settings.blind
    if as_json:
        say_json([_as_data(place, me, blind=blind) for place in places])
        return
    if places:
        say(columns([_cells(place, me) for place in places]))
        say()
    say(f"{progress.graded} of {progress.total} graded by {me}, {progress.today} today")


def _grade_of(place: Place, evaluator: str) -> GradeRow | None:
    return next((grade for grade in place.row.grades if grade.evaluator == evaluator), None)


def _as_data(place: Place, evaluator: str, *, blind: bool) -> dict[str, Any]:
    """The place as data; in a blind queue without the author, and without others' grades until one's own is in."""
    import msgspec

    fields: dict[str, Any] = msgspec.to_builtins(place.row)
    if blind:
        fields["author"] = ""
        if _grade_of(place, evaluator) is None:
            fields["grades"] = []
    return {**fields, "id": str(place.row.id), "state": place.state, "why": place.why}


def _evidence(row: ItemRow) -> str:
    """The stages that say something, by target: `cpu: build passed, check failed`."""
    said = []
    for each in row.evidence:
        stages = [f"{stage} {state}" for stage, state in (each.stages or {}).items() if state != "not-run"]
        said.append(f"{each.target}{' (stale)' if each.stale else ''}: {each.fault or ', '.join(stages) or 'not run'}")
    return "; ".join(said)


def _cells(place: Place, evaluator: str) -> list[str]:
    row, grade = place.row, _grade_of(place, evaluator)
    total = "" if grade is None or grade.total is None else f"{grade.total:g}"
    verdict = (grade.verdict or "") if grade else ""
    said = place.why or next(iter(row.faults), "") or row.title or _evidence(row)
    return [str(row.id), place.state, verdict, total, row.type, row.language, said]
