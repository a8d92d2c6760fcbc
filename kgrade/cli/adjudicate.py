"""`kgrade adjudicate`: items on which grades differ, and a lead's decision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from kgrade.cli.failures import BadInput
from kgrade.cli.open import on_a_terminal, open_app
from kgrade.cli.output import columns, line, say, say_json
from kgrade.cli.queue import json_option, parse_item, queue_options

if TYPE_CHECKING:
    from kgrade.audit.adjudication import Case, Line
    from kgrade.audit.lead import Office
    from kgrade.records.adjudication import Cause
    from kgrade.records.rubric import Verdict

CAUSES = ("unclear-rubric", "unclear-task", "slip", "edge-case")


@click.command("adjudicate", short_help="See where grades differ, and decide.")
@click.argument("item", required=False, metavar="[ITEM]")
@click.option("--verdict", type=click.Choice(["accept", "revise", "reject", "hold"]), help="Your decision.")
@click.option("--cause", type=click.Choice(CAUSES), help="Why the grades differ.")
@click.option("--reason", help="The decision in a sentence that the evaluators will read.")
@click.option(
    "--score", "scores", multiple=True, metavar="CRITERION=LEVEL", help="Settle a criterion; may be repeated."
)
@click.option("--total", type=click.FloatRange(0, 100), help="Default: computed from the levels settled and agreed.")
@queue_options
@json_option
def command(
    item: str | None,
    verdict: str | None,
    cause: str | None,
    reason: str | None,
    scores: tuple[str, ...],
    total: float | None,
    queue: Path,
    evaluator: str | None,
    as_json: bool,
) -> None:
    """List the items on which grades differ; with ITEM, lay its grades side by side; with --verdict, decide it.

    A decision takes a verdict, a cause and a reason, and a level for each criterion on which the grades differ. On a
    terminal ITEM without a decision opens as a screen; piped, or with --json, it is printed.
    """
    from kgrade.audit.adjudication import open_case
    from kgrade.audit.lead import office_at
    from kgrade.cli.lead import lead_of

    given = verdict or cause or reason or scores or total is not None or as_json
    if item is not None and not given and on_a_terminal():
        wanted = parse_item(item)
        open_app(queue, evaluator, begin=lambda page: page.leading.adjudicate(wanted))
        return
    with office_at(queue) as office:
        if office.settings.blind:
            office.admit(lead_of(office, evaluator)[0])
        if item is None:
            _list(office, as_json)
            return
        case = open_case(office, parse_item(item))
        if verdict is None:
            if cause or reason or scores or total is not None:
                raise BadInput("a decision needs --verdict beside what you gave; without any, the grades are shown")
            say_json(case) if as_json else _show(case)
            return
        if cause is None or reason is None:
            raise BadInput(f"a decision needs --cause (one of {', '.join(CAUSES)}) and --reason")
        _decide(office, case, evaluator, verdict, cause, reason, dict(map(_level, scores)), total)


def _decide(
    office: Office,
    case: Case,
    evaluator: str | None,
    verdict: str,
    cause: str,
    reason: str,
    levels: dict[str, int],
    total: float | None,
) -> None:
    from kgrade.audit.adjudication import decide
    from kgrade.audit.effects import effects
    from kgrade.cli.lead import lead_of

    lead, by = lead_of(office, evaluator)
    saved, decision = decide(
        office,
        case,
        by,
        lead,
        verdict=cast("Verdict", verdict),
        cause=cast("Cause", cause),
        reason=reason,
        levels=levels,
        total=total,
    )
    say(line(f"{case.item}: {decision.verdict}, {decision.total:g}, in {saved.commit[:12]}"))
    for effect in effects(case, decision):
        say(line(effect.sentence))
    for note in saved.notes:
        say(line(note))


def _level(text: str) -> tuple[str, int]:
    name, mark, level = text.partition("=")
    if not mark or not level.isdigit():
        raise BadInput(f"--score {text!r} is no level of a criterion; expected CRITERION=LEVEL, such as numerics=3")
    return name, int(level)


def _list(office: Office, as_json: bool) -> None:
    from kgrade.audit.overview import disagreements
    from kgrade.audit.reading import standing_grades
    from kgrade.repository.grades import grade_branches

    snapshot = office.snapshot()
    found = disagreements(standing_grades(office.reader, grade_branches(office.queue, office.settings)).grades)
    items = [parse_item(each.item) for each in found]
    done = {str(item) for item in items if snapshot.entry(f"{item.folder}/adjudication.yaml") is not None}
    if as_json:
        say_json([{"decided": each.item in done, "disagreement": each} for each in found])
        return
    rows = [[d.item, d.criterion, str(d.gap), ", ".join(d.verdicts), "yes" if d.item in done else ""] for d in found]
    if rows:
        say(columns([["item", "criterion", "levels apart", "verdicts", "decided"], *rows]))
    say(f"{len(found) - len(done)} to decide, {len(done)} decided")


def _show(case: Case) -> None:
    say(line(f"{case.item}: {case.title}, under {case.rubric_id}"))
    for sentence in case.moved:
        say(line(f"look again: {sentence}"))
    say(columns([["criterion", *case.graders], *(_row(each) for each in case.criteria)]))
    if case.gates:
        say("\n" + columns([["gate", *case.graders], *(_row(each, {1: "yes", 0: "no"}) for each in case.gates)]))
    ends = [["verdict", *(grade.verdict or "-" for grade in case.grades)]]
    ends.append(["total", *("-" if grade.total is None else f"{grade.total:g}" for grade in case.grades)])
    say("\n" + columns(ends))
    for each in (*case.criteria, *case.gates):
        for grader, comment in zip(case.graders, each.comments, strict=True):
            if comment and (each.gap or len(set(each.levels)) > 1):
                say(line(f"{each.id}, {grader}: {comment}"))
    if case.decided is not None:
        decided = case.decided
        say(
            line(f"decided {decided.decided} by {decided.lead}: {decided.verdict}, {decided.total:g}; {decided.reason}")
        )


def _row(of: Line, words: dict[int, str] | None = None) -> list[str]:
    return [of.id, *("-" if level is None else (words or {}).get(level, str(level)) for level in of.levels)]
