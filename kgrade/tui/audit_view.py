"""What the audit looks like as rows: plain functions from its records to lines, and what each line is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from kgrade.audit.agreement import Agreement, Band, Figure, OfCriterion, OfPair
from kgrade.audit.coverage import PACE_DAYS, Coverage
from kgrade.audit.drift import RECENT, Standing, Suspicion
from kgrade.audit.overview import Disagreement
from kgrade.audit.phrases import figure, levels, minutes, share
from kgrade.tui.lines import Lines, Row, Rows, Span
from kgrade.tui.panes.layout import BLANK, Column, Entry, heading, sentence, table
from kgrade.tui.panes.plots import Axis, plain, whiskers

_BANDS: Final[Mapping[Band | None, tuple[str, str]]] = {
    "good": ("✓", "good"),
    "tentative": ("~", "warn"),
    "mend the sheet": ("!", "bad"),
    None: ("—", "dim"),
}
_BAND_KEY: Final = "✓ good, from .800; ~ tentative, from .667; ! below: mend the sheet; — no value"
_PLOT: Final = 41
_UNIT: Final = Axis(0.0, 1.0, log=False)
_BAR: Final = 30


class Subject(NamedTuple):
    """What a line is about, and what Enter opens there."""

    kind: Literal["criterion", "evaluator", "item"]
    name: str


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows, and the subject of each (None: of none)."""

    lines: Lines
    subjects: Sequence[Subject | None]


@dataclass
class Page:
    """Rows gathered one after the other, each with its subject."""

    rows: list[Row] = field(default_factory=list)
    subjects: list[Subject | None] = field(default_factory=list)

    def add(self, rows: Sequence[Row], subjects: Sequence[Subject | None] = ()) -> None:
        """Add `rows`; `subjects` are those of the last of them."""
        self.rows += rows
        self.subjects += [*[None] * (len(rows) - len(subjects)), *subjects]

    def section(self, title: str, note: str = "") -> None:
        """Begin a section, a blank row before it unless it is the first."""
        self.add([*([BLANK] if self.rows else []), heading(title, note)])

    def listed(self) -> Listed:
        """What was gathered."""
        return Listed(Rows(self.rows), self.subjects)


def agreement_listing(agreed: Agreement, *, wide: bool) -> Listed:
    """Agreement by criterion, the lowest first, then by gate; with `wide`, alpha's interval as a plot beside it."""
    page = Page()
    if not agreed.grades:
        page.add([*sentence("There is no grade yet, so there is nothing to agree on.")])
        page.add(sentence("Grades are saved with S on the grading screen.", "dim"))
        return page.listed()
    by_rubric: dict[str, list[OfCriterion]] = {}
    for of in agreed.criteria:
        by_rubric.setdefault(of.rubric, []).append(of)
    for rubric, criteria in by_rubric.items():
        page.section(rubric, f"{agreed.doubly_rated} items rated twice or more; lowest agreement first")
        names = [Subject("criterion", of.criterion) for of in criteria]
        page.add(table(_criterion_columns(wide), [_criterion(of, wide) for of in criteria]), names)
        page.add(list(_reasons([(of.criterion, of.alpha) for of in criteria])))
    if agreed.gates:
        page.section("gates", "the share of pairs that say the same; AC1: Gwet")
        columns = [Column("gate", most=34), Column("items", right=True), Column("exact", right=True), Column("AC1")]
        entries = [Entry([of.gate, str(of.items), share(of.exact), _value(of.ac1)]) for of in agreed.gates]
        page.add(table(columns, entries), [Subject("criterion", of.gate) for of in agreed.gates])
        page.add(list(_reasons([(of.gate, of.ac1) for of in agreed.gates])))
    page.add([BLANK, *sentence(_BAND_KEY, "dim")])
    page.add(sentence("alpha: Krippendorff, ordinal; AC2: Gwet, quadratic; 95 % intervals over items", "dim"))
    return page.listed()


def evaluators_listing(standings: Sequence[Standing], pairs: Sequence[OfPair]) -> Listed:
    """How each evaluator stands to the others, then the grid of pairs, then each pair in full."""
    page = Page()
    if not standings:
        page.add(sentence("Nobody has graded here yet."))
        return page.listed()
    page.section("severity and drift", "levels above or below the others, same items")
    columns = [
        Column("evaluator", most=20),
        *(Column(title, right=True) for title in ("grades", "shared", "all", f"last {RECENT}", "to gold")),
        Column("severe      |      mild"),
    ]
    entries = []
    for s in standings:
        apart = [levels(s.severity), levels(s.recent), f"{levels(s.to_gold)}{f' of {s.golden}' if s.golden else ''}"]
        entries.append(Entry([s.evaluator, str(s.grades), str(s.shared), *apart, _leaning(s.severity)]))
    page.add(table(columns, entries), [Subject("evaluator", s.evaluator) for s in standings])
    met = [of for of in pairs if of.items]
    if met:
        _grid(page, [s.evaluator for s in standings], met)
        page.section("pairs", "weighted kappa; ICC(A,1) of totals; levels first is ahead")
        columns = [Column("pair", most=30), *(Column(t, right=True) for t in ("items", "kappa", "ICC", "ahead"))]
        entries = [
            Entry([f"{of.first} & {of.second}", str(of.items), _value(of.kappa), _value(of.icc), levels(of.ahead)])
            for of in met
        ]
        page.add(table(columns, entries), [Subject("evaluator", of.first) for of in met])
        page.add(list(_reasons([(f"{of.first} & {of.second}", of.kappa) for of in met])))
    else:
        page.add([BLANK, *sentence("No two evaluators have graded the same item, so there is no grid.", lead="— ")])
    return page.listed()


def time_listing(standings: Sequence[Standing], suspicions: Sequence[Suspicion]) -> Listed:
    """The time an item takes each evaluator, and grades that look rushed or copied."""
    page = Page()
    timed = [s for s in standings if s.median_s is not None]
    page.section("time per item", "active time, median")
    if timed:
        longest = max(s.median_s or 0 for s in timed)
        columns = [Column("evaluator", most=20), *(Column(title, right=True) for title in ("grades", "median"))]
        entries = [
            Entry([s.evaluator, str(s.grades), minutes(s.median_s), _bar((s.median_s or 0) / longest)]) for s in timed
        ]
        page.add(table([*columns, Column("")], entries), [Subject("evaluator", s.evaluator) for s in timed])
    else:
        page.add(sentence("No grade says how long it took.", lead="— "))
    page.section("worth a look", f"{len(suspicions)} grades" if suspicions else "no grade looks rushed or copied")
    for each in suspicions:
        head = Row((Span("! ", "warn"), Span(f"{each.kind:<7} {each.evaluator} on {each.item}")), mark="finding")
        why = sentence(each.why, "dim", indent="          ")
        page.add([head, *why], [Subject("item", each.item)] * (1 + len(why)))
    return page.listed()


def coverage_listing(covered: Coverage, faults: Sequence[str], *, named: bool) -> Listed:
    """How much of the queue is graded, by whom, when it will be done, and what could not be read."""
    page = Page()
    page.section("coverage", f"{covered.wanted:,} {'grade' if covered.wanted == 1 else 'grades'} wanted in all")
    whole = max(covered.items, 1)
    for label, count in (("finished", covered.finished), ("begun", covered.graded)):
        text = f"{label:<9} {count:>5} of {covered.items:<5} {round(100 * count / whole):>3} %  "
        page.add([Row((Span(text), Span(_bar(count / whole, 40), "good" if label == "finished" else "")))])
    page.section("forecast")
    pace = f"{covered.per_day:.1f} grades a day over the last {PACE_DAYS} days"
    if covered.grades_left == 0:
        page.add(sentence("Every submission has the grades it wants.", "good", lead="✓ "))
    elif covered.days_left is None:
        why = f"no grade in the last {PACE_DAYS} days, so there is no pace to go by"
        page.add(sentence(f"{covered.grades_left} grades to go; n/a: {why}.", lead="— "))
    else:
        page.add(sentence(f"{covered.grades_left} grades to go, at {pace}: about {covered.days_left:.0f} days."))
    if named and covered.by_evaluator:
        page.section("grades by evaluator")
        most = max(covered.by_evaluator.values())
        entries = [Entry([name, str(n), _bar(n / most)]) for name, n in covered.by_evaluator.items()]
        columns = [Column("evaluator", most=20), Column("grades", right=True), Column("")]
        page.add(table(columns, entries), [Subject("evaluator", name) for name in covered.by_evaluator])
    if faults:
        page.section("unreadable", "these grades count nowhere; kgrade check names the mend")
        for fault in faults:
            page.add(sentence(fault, "bad", lead="✗ "))
    return page.listed()


def disagreements_listing(found: Sequence[Disagreement], decided: set[str], *, named: bool) -> Listed:
    """The items on which grades differ, the widest gap first; those that a lead decided come last."""
    page = Page()
    if not found:
        page.add(sentence("No two grades of an item differ.", lead="✓ ", style="good"))
        return page.listed()
    ordered = sorted(found, key=lambda each: each.item in decided)
    left = len(found) - sum(each.item in decided for each in found)
    page.section("where grades differ", f"{left} to decide, {len(found) - left} decided; Enter opens one")
    columns = [
        Column("", most=1),
        Column("item", most=32),
        Column("widest", most=16),
        Column("apart", right=True),
        Column("totals", right=True, most=14),
        Column("verdicts", most=24),
        *([Column("evaluators", most=40)] if named else []),
    ]
    entries = [
        Entry(
            [
                Span("✓", "good") if each.item in decided else Span("!", "warn"),
                each.item,
                each.criterion,
                str(each.gap),
                ", ".join(f"{total:g}" for total in each.totals),
                ", ".join(each.verdicts),
                *([", ".join(each.evaluators)] if named else []),
            ],
            mark="" if each.item in decided else "finding",
        )
        for each in ordered
    ]
    page.add(table(columns, entries), [Subject("item", each.item) for each in ordered])
    return page.listed()


def _criterion_columns(wide: bool) -> list[Column]:
    numbers = [Column(title, right=True) for title in ("items", "exact", "±1")]
    ruler = f"{'0':<{_UNIT.place(0.667, _PLOT)}}.667 .8{'1':>{_PLOT - _UNIT.place(0.667, _PLOT) - 7}}"
    plot = [Column(ruler, most=_PLOT)] if wide else []
    return [Column("", most=1), Column("criterion", most=18), *numbers, Column("alpha"), Column("AC2"), *plot]


def _criterion(of: OfCriterion, wide: bool) -> Entry:
    sign, style = _BANDS[of.band]
    shares = [str(of.items), share(of.exact), share(of.within_one)]
    cells: list[str | Span] = [Span(sign, style), of.criterion, *shares, _value(of.alpha), _value(of.ac2)]
    return Entry(
        [*cells, _interval(of.alpha)] if wide else cells, mark="finding" if of.band == "mend the sheet" else ""
    )


def _value(found: Figure) -> str:
    return "n/a" if found.value is None else figure(found)


def _interval(found: Figure) -> str:
    if found.value is None or found.low is None or found.high is None:
        return ""
    return whiskers(found.low, found.value, found.high, _UNIT, _PLOT)


def _reasons(figures: Sequence[tuple[str, Figure]]) -> Iterator[Row]:
    """Why some have no value: each reason once, with those it is the reason of."""
    of_reason: dict[str, list[str]] = {}
    for name, found in figures:
        if found.value is None:
            of_reason.setdefault(found.why, []).append(name)
    for why, names in of_reason.items():
        every = len(names) == len(figures) > 1
        yield from sentence(f"n/a for {'all of them' if every else ', '.join(names)}: {why}", "dim", lead="— ")


def _grid(page: Page, names: Sequence[str], pairs: Sequence[OfPair]) -> None:
    """Everybody against everybody: weighted kappa, and over how many items."""
    page.section("grid", "weighted kappa, and the items both graded; · no item in common")
    of_pair = {frozenset((of.first, of.second)): of for of in pairs}
    columns = [Column("", most=12), *(Column(name, right=True, most=12) for name in names)]
    entries = [Entry([name, *(_grid_cell(of_pair.get(frozenset((name, other))), name == other) for other in names)])
               for name in names]  # fmt: skip
    page.add(table(columns, entries), [Subject("evaluator", name) for name in names])


def _grid_cell(of: OfPair | None, same: bool) -> Span:
    if same:
        return Span("—", "dim")
    if of is None:
        return Span("·", "dim")
    value = "n/a" if of.kappa.value is None else f"{of.kappa.value:.2f}"
    return Span(f"{value}/{of.items}")


def _leaning(severity: float | None) -> str:
    """A bar to the left of the middle for severe, to the right for mild; a half is 2 levels long."""
    if severity is None:
        return ""
    half = _BAR // 2 - 3
    length = min(half, round(abs(severity) / 2 * half))
    mark = "#" if plain() else "█"
    left = mark * length if severity < 0 else ""
    right = mark * length if severity > 0 else ""
    return f"{left:>{half}}|{right}"


def _bar(part: float, width: int = _BAR) -> str:
    return ("#" if plain() else "█") * round(part * width)
