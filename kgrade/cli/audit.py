"""`kgrade audit`: agreement, drift, coverage, and whether the history of grades holds; for leads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgrade.cli import failures
from kgrade.cli.open import on_a_terminal, open_app
from kgrade.cli.output import columns, line, say, say_json
from kgrade.cli.queue import json_option, queue_option

if TYPE_CHECKING:
    from kgrade.audit.agreement import Agreement
    from kgrade.audit.changes import Change
    from kgrade.audit.lead import NotALead, Office
    from kgrade.audit.overview import Overview
    from kgrade.audit.verification import Verification
    from kgrade.records.settings import Settings
    from kgrade.repository.branches import Branch
    from kgrade.repository.tree import TreeReader

SHOWN = 20


@click.command("audit", short_help="Read agreement, drift and coverage; verify the history of grades.")
@click.option("--verify", "verifies", is_flag=True, help="Check signatures, authors, dates, seals and sums instead.")
@click.option("--history", is_flag=True, help="List what changed in the grades instead, newest first.")
@click.option("--item", metavar="ITEM", help="With --history: of this item only.")
@click.option("--evaluator", metavar="NAME", help="With --history: of this evaluator only.")
@click.option("--criterion", metavar="ID", help="With --history: where this criterion moved only.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write one page with plots."
)
@queue_option
@json_option
def command(
    verifies: bool,
    history: bool,
    item: str | None,
    evaluator: str | None,
    criterion: str | None,
    html: Path | None,
    queue: Path,
    as_json: bool,
) -> int:
    """Tell how far evaluators agree, who drifts, what looks rushed or copied, and how much of the queue is graded.

    Without options and on a terminal the audit opens as a screen; piped, it is printed. With --verify, exit code 1 when
    there are alarms; each comes with the git command that shows it. In a blind queue only its leads see what single
    evaluators did.
    """
    if (item or evaluator or criterion) and not history:
        raise failures.BadInput("--item, --evaluator and --criterion choose what --history lists; add --history")
    if sum((verifies, history, html is not None)) > 1:
        raise failures.BadInput("--verify, --history and --html each show another thing; give one of them")
    if not (verifies or history or html or as_json) and on_a_terminal():
        return open_app(queue, begin=lambda page: page.leading.audit())
    with _opened(queue) as (office, shut):
        reader, branch, settings = office.reader, office.queue, office.settings
        if shut is not None and (verifies or history or html is not None):
            raise shut
        if verifies:
            return _verify(reader, branch, settings, as_json)
        if history:
            from kgrade.audit.changes import changes
            from kgrade.audit.findings import is_shallow
            from kgrade.repository.grades import grade_branches

            stand = grade_branches(branch, settings)
            found_changes = changes(reader, stand, item=item, evaluator=evaluator, criterion=criterion)
            _tell_history(found_changes, as_json, shallow=is_shallow(reader.git))
            return failures.DONE
        from kgrade.audit.overview import blinded, overview

        found = overview(reader, branch, settings)
        if shut is not None:
            found = blinded(found)
        if html is not None:
            from kgrade.audit.page import page
            from kgrade.audit.page_history import page_history

            html.write_text(page(found, page_history(reader, branch, settings), branch.short), encoding="utf-8")
            say(line(f"wrote {html}"))
        elif as_json:
            say_json(found)
        else:
            _tell(found)
    return failures.DONE


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Office, NotALead | None]]:
    """Open the queue; with it, why whoever works here may not see what single evaluators did, if they may not."""
    from kgrade.audit.lead import NotALead, office_at
    from kgrade.cli.lead import lead_of

    with office_at(path) as office:
        shut = None
        if office.settings.blind:
            try:
                office.admit(lead_of(office, None)[0])
            except NotALead as why:
                shut = why
        yield office, shut


def _verify(reader: TreeReader, branch: Branch, settings: Settings, as_json: bool) -> int:
    from kgrade.audit.verification import verify

    found = verify(reader, branch, settings)
    if as_json:
        say_json(found)
    else:
        _tell_verification(found)
    return failures.FOUND_FAULTS if found.alarms else failures.DONE


def _tell(found: Overview) -> None:
    from kgrade.audit.findings import SHALLOW
    from kgrade.audit.phrases import STANDING, standing_row

    agreed, covered = found.agreement, found.coverage
    hidden = agreed.grades and not agreed.evaluators
    people = "" if hidden else f" by {len(agreed.evaluators)} evaluators"
    say(f"{agreed.grades} grades{people}, {agreed.doubly_rated} items rated twice or more")
    left = "" if covered.days_left is None else f", {covered.days_left:.0f} days at {covered.per_day:.1f} grades a day"
    say(f"{covered.finished} of {covered.items} submissions finished, {covered.grades_left} grades to go{left}")
    for title, table in (("agreement", _criteria(agreed)), ("gates", _gates(agreed)), ("pairs", _pairs(agreed))):
        if len(table) > 1:
            say(f"\n{title}\n{columns(table)}")
    rows = [[*STANDING], *(standing_row(each) for each in found.standings)]
    if found.standings:
        say(f"\nevaluators (levels above or below the others)\n{columns(rows)}")
    if found.disagreements:
        rows = [[d.item, d.criterion, str(d.gap), ", ".join(d.evaluators)] for d in found.disagreements[:SHOWN]]
        more = len(found.disagreements) - SHOWN
        say(f"\nwidest disagreements\n{columns([['item', 'criterion', 'levels', 'evaluators'], *rows])}")
        if more > 0:
            say(f"and {more} more; --json lists all")
    for suspicion in found.suspicions:
        say(line(f"{suspicion.kind}: {suspicion.evaluator} on {suspicion.item}: {suspicion.why}"))
    for fault in found.faults:
        say(line(f"unreadable: {fault}"))
    if found.shallow:
        say(SHALLOW)


def _criteria(agreed: Agreement) -> list[list[str]]:
    from kgrade.audit.phrases import criterion_row

    head = ["rubric", "criterion", "items", "exact", "within 1", "alpha", "AC2", "band"]
    return [head, *(criterion_row(of) for of in agreed.criteria)]


def _gates(agreed: Agreement) -> list[list[str]]:
    from kgrade.audit.phrases import figure, share

    rows = [[of.rubric, of.gate, str(of.items), share(of.exact), figure(of.ac1)] for of in agreed.gates]
    return [["rubric", "gate", "items", "exact", "AC1"], *rows]


def _pairs(agreed: Agreement) -> list[list[str]]:
    from kgrade.audit.phrases import figure, levels

    rows = [
        [f"{of.first}, {of.second}", str(of.items), figure(of.kappa), figure(of.icc), levels(of.ahead)]
        for of in agreed.pairs
        if of.items
    ]
    return [["pair", "items", "kappa", "ICC of totals", "first ahead by"], *rows]


def _tell_history(found: list[Change], as_json: bool, *, shallow: bool) -> None:
    from kgrade.audit.findings import SHALLOW
    from kgrade.audit.phrases import moves

    if as_json:
        say_json(found)
        return
    for change in found:
        took = "" if change.took_s is None else f" in {change.took_s} s"
        who = f"{change.evaluator} ({change.author})"
        judged = " ".join([change.rubric, *(f"{target}={blob[:12]}" for target, blob in change.evidence.items())])
        say(line(f"{change.when} {change.item} {who}{took}, {judged}, {change.commit[:12]}: {moves(change)}"))
    say(f"{len(found)} saves")
    if shallow:
        say(SHALLOW)


def _tell_verification(found: Verification) -> None:
    for finding in sorted(found.findings, key=lambda each: not each.alarm):
        say(line(f"{'ALARM' if finding.alarm else 'note '} {finding.kind}: {finding.sentence}"))
        say(line(f"      see: {finding.command}"))
    told: dict[tuple[str, str], list[int]] = {}
    for grade in found.grades:
        row = told.setdefault((grade.path.rpartition("/")[2].removesuffix(".yaml"), grade.signature), [0, 0])
        row[0] += 1
        row[1] += grade.seal is not None
    if told:
        head = ["evaluator", "signature", "grades", "sealed"]
        say(columns([head, *([*key, str(grades), str(sealed)] for key, (grades, sealed) in told.items())]))
    say(f"{len(found.grades)} grades, {found.commits} commits, {found.seals} seals: {len(found.alarms) or 'no'} alarms")
