"""`kgrade show ITEM`: what was asked, what was handed in, what machines found, what people said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgrade.cli.output import columns, line, say, say_json
from kgrade.cli.queue import desk_at, item_argument, json_option, parse_item, queue_options

if TYPE_CHECKING:
    from kgrade.desk.item import EvidenceFile, Item


@click.command("show", short_help="Print one item: prompt, files, evidence, grades.")
@item_argument
@queue_options
@json_option
def command(item: str, queue: Path, evaluator: str | None, as_json: bool) -> None:
    """Print everything there is about ITEM, such as softmax-rows/s01, or softmax-rows for the task itself."""
    wanted = parse_item(item)
    with desk_at(queue, evaluator) as desk:
        found = desk.item(wanted)
    if as_json:
        say_json(_as_data(found))
    else:
        say("\n".join(_lines(found)))


def _as_data(item: Item) -> dict[str, Any]:
    import msgspec

    return {
        "item": str(item.id),
        "task": item.task,
        "submission": item.submission,
        "about": item.about,
        "rubric": item.rubric_ref,
        "files": {path: len(data) for path, data in item.files.items()},
        "solution": {path: len(data) for path, data in item.solution.items()},
        "evidence": {
            target: {"stale": each.stale, **msgspec.to_builtins(each.evidence)}
            for target, each in item.evidence.items()
        },
        "grades": [entry.grade for entry in item.grades],
        "suggestions": item.suggestions,
        "faults": [str(fault) for fault in item.faults],
    }


def _lines(item: Item) -> Iterator[str]:
    task = item.task
    yield f"{item.id}  {line(task.title)}"
    yield f"{task.type}, {task.language}, for {', '.join(task.targets)}; rubric {item.rubric_ref.id}"
    if item.submission is not None:
        after = f", supersedes {item.submission.supersedes}" if item.submission.supersedes else ""
        yield f"by {line(item.submission.author)}, {item.submission.created}{after}"
        if item.submission.notes:
            yield line(item.submission.notes)
    yield ""
    yield item.prompt.rstrip("\n")
    yield ""
    handed_in = item.solution if item.submission is not None else item.files
    yield columns([[path, f"{len(data)} bytes"] for path, data in sorted(handed_in.items())])
    yield ""
    if not item.evidence:
        yield f"no evidence yet; collect it with: kgrade collect {item.id}"
    for target, each in item.evidence.items():
        yield from _evidence_lines(target, each)
    for gate, why in item.suggestions.items():
        yield f"suggests the gate {gate}: {line(why)}"
    for entry in item.grades:
        total = "-" if entry.grade.total is None else f"{entry.grade.total:g}"
        yield f"graded by {entry.evaluator}: {entry.grade.verdict or 'no verdict'}, total {total}"
    yield from (f"fault: {fault}" for fault in item.faults)


def _evidence_lines(target: str, each: EvidenceFile) -> Iterator[str]:
    from kgrade.records.evidence import STAGES

    evidence = each.evidence
    where = "an interpreter on " if evidence.environment.interpreter else ""
    stale = "; STALE: the item changed since" if each.stale else ""
    yield f"evidence for {target}, {evidence.collected}, on {where}{line(evidence.environment.hardware)}{stale}"
    for stage in STAGES:
        reason = getattr(evidence.stages, stage).reason
        yield f"  {stage:<10} {evidence.state(stage)}" + (f": {line(reason)}" if reason else "")
