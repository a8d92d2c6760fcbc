"""The history of grades, and whether it holds, as rows."""

from __future__ import annotations

from collections.abc import Sequence

from kgrade.audit.changes import Change
from kgrade.audit.verification import Verification
from kgrade.tui.audit_view import Listed, Page, Subject
from kgrade.tui.lines import Row, Rows, Span
from kgrade.tui.panes.layout import BLANK, Column, Entry, fact, sentence, table


def history_listing(changes: Sequence[Change], about: Subject | None, *, named: bool) -> Listed:
    """The saves of grades, newest first: when, whose, how long it took, what moved; `o` shows the rest.

    Without `named`, evaluators are left out.
    """
    page = Page()
    of = "all grades" if about is None else f"{about.kind} {about.name}"
    page.section(f"history of {of}", f"{len(changes)} saves, newest first; o opens one")
    if not changes:
        page.add(sentence("Nothing was saved that concerns it.", lead="— "))
        return page.listed()
    columns = [
        Column("when (UTC)"),
        Column("item", most=28),
        *([Column("evaluator", most=14)] if named else []),
        Column("took", right=True),
        Column("what moved", most=200),
    ]
    entries = [
        Entry(
            [
                change.when[:16].replace("T", " "),
                change.item,
                *([change.evaluator] if named else []),
                "" if change.took_s is None else f"{change.took_s} s",
                _moved(change, about),
            ],
            fold=Rows(_more(change, named)),
        )
        for change in changes
    ]
    page.add(table(columns, entries), [Subject("item", change.item) for change in changes])
    return page.listed()


def verification_listing(found: Verification, *, named: bool) -> Listed:
    """Alarms first, each with the command that shows it, then notes, then who signed what."""
    page = Page()
    alarms = len(found.alarms)
    page.section("verification", f"{len(found.grades)} grades, {found.commits} commits, {found.seals} seals")
    if alarms:
        page.add(sentence(f"{alarms} {'alarm' if alarms == 1 else 'alarms'}", "bad", lead="✗ "))
    else:
        page.add(sentence("No alarm: the history of grades holds as far as this clone shows it.", "good", lead="✓ "))
    if not found.seals:
        page.add(sentence("No seal: what was rewritten before this clone was made cannot be seen. kgrade seal", "warn"))
    for each in sorted(found.findings, key=lambda one: not one.alarm):
        page.add([BLANK])
        sign, style = ("✗", "bad") if each.alarm else ("~", "dim")
        lines = sentence(f"{each.kind}: {each.sentence}", style, lead=f"{sign} ")
        page.add([Row(lines[0].spans, mark="finding" if each.alarm else ""), *lines[1:]])
        page.add([Row((Span("  see: ", "dim"), Span(each.command, "strong")))])
    told: dict[tuple[str, str], list[int]] = {}
    for proof in found.grades:
        name = proof.path.rpartition("/")[2].removesuffix(".yaml") if named else "all"
        row = told.setdefault((name, proof.signature), [0, 0])
        row[0] += 1
        row[1] += proof.seal is not None
    if told:
        page.section("signatures")
        columns = [Column("evaluator"), Column("signature"), Column("grades", right=True), Column("sealed", right=True)]
        entries = [Entry([name, signature, *map(str, counts)]) for (name, signature), counts in told.items()]
        subjects = [Subject("evaluator", name) for name, _ in told] if named else []
        page.add(table(columns, entries), subjects)
    return page.listed()


def _moved(change: Change, about: Subject | None) -> str:
    """What moved, the criterion that is asked for first."""
    moved = dict(change.moved)
    ends = [moved[name][1] for name in ("verdict", "total") if name in moved]
    if (about is None or about.name not in moved) and all(old == "-" for old, _ in moved.values()):
        return f"new: {', '.join(ends)}" if moved else "comments only"
    first = {about.name: moved.pop(about.name)} if about and about.name in moved else {}
    total = {name: moved.pop(name) for name in ("verdict", "total") if name in moved}
    shown = [f"{name} {old} > {new}" for name, (old, new) in (first | total).items()]
    return ", ".join([*shown, *([f"{len(moved)} more"] if moved else [])]) or "comments only"


def _more(change: Change, named: bool) -> list[Row]:
    rows = []
    for name, (old, new) in change.moved.items():
        rows += fact(f"    {name}"[:12], f"{old} > {new}")
    rows += fact("    sheet", change.rubric)
    for target, blob in change.evidence.items():
        rows += fact("    evidence", f"{target} {blob[:12]}")
    return rows + fact("    commit", f"{change.commit[:12]}{f' by {change.author}' if named else ''}")
