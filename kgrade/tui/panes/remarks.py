"""What machines and people said about a line: findings of every target, my notes, and earlier notes found again."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from kgrade.records.evidence import Finding
from kgrade.tui.lines import Lines, Place, Rows, Span
from kgrade.tui.panes.layout import sentence
from kgrade.tui.panes.sections import collected

if TYPE_CHECKING:
    from kgrade.desk.item import Item
    from kgrade.desk.sheet import Sheet

SEVERITY_STYLES: Final = {"tell": "bad", "suspect": "warn", "note": "note"}
_ASIDE: Final = 36


class Sighting(NamedTuple):
    """A finding, and on which targets it was made with which result of the test that settles it (None: not run)."""

    finding: Finding
    results: dict[str, str | None]


def findings(item: Item) -> list[Sighting]:
    """Every finding once, the gravest first, then by place."""
    seen: dict[str, Sighting] = {}
    for target, file in collected(item):
        for finding in file.evidence.stages.integrity.findings:
            seen.setdefault(f"{finding.rule} {finding.key}", Sighting(finding, {})).results[target] = finding.result
    grave = list(SEVERITY_STYLES)
    return sorted(
        seen.values(), key=lambda one: (grave.index(one.finding.severity), one.finding.path, one.finding.line)
    )


class _Remark(NamedTuple):
    sign: Literal["!", "m"]
    short: str
    long: str
    style: str


class Remarks:
    """Remarks by place. A note's sign stands on each of its lines, its text beside the first."""

    def __init__(self, item: Item, sheet: Sheet) -> None:
        self._at: defaultdict[Place, list[_Remark]] = defaultdict(list)
        self._within: set[Place] = set()
        for sighting in findings(item):
            finding = sighting.finding
            short = f"{finding.rule} {finding.name}"
            style = SEVERITY_STYLES[finding.severity]
            remark = _Remark("!", short, f"{short} ({finding.severity}): {finding.why}", style)
            self._at[Place(finding.path, finding.line)].append(remark)
        for note in sheet.comments.values():
            about = f"note ({note.criterion})" if note.criterion else "note"
            self._add_note(Place(note.path, note.lines[0], note.side), note.lines[1], about, note.text)
        for old in item.notes_before:
            if old.status == "open" and old.lines:
                place = Place(old.note.path, old.lines[0], old.note.side)
                self._add_note(place, old.lines[1], "earlier note, still open", old.note.text)

    def _add_note(self, first: Place, last: int, about: str, text: str) -> None:
        self._at[first].append(_Remark("m", text, f"{about}: {text}", "note"))
        self._within.update(first._replace(line=line) for line in range(first.line, last + 1))

    def __bool__(self) -> bool:
        return bool(self._at)

    def lines(self, path: str, side: Literal["old", "new"] = "new") -> list[int]:
        """The lines of a file that a remark begins at, ascending."""
        return sorted(place.line for place in self._at if place.path == path and place.side == side)

    def sign(self, place: Place) -> str:
        """`!` where a finding is, `m` within a note, else nothing."""
        if any(remark.sign == "!" for remark in self._at.get(place, ())):
            return "!"
        return "m" if place in self._within else ""

    def aside(self, place: Place) -> tuple[Span, ...]:
        """The remark in a few words for the right edge, and how many more there are."""
        remarks = self._at.get(place)
        if not remarks:
            return ()
        first = remarks[0]
        text = " ".join(first.short.split())
        text = text if len(text) <= _ASIDE else f"{text[: _ASIDE - 1]}…"
        more = f" +{len(remarks) - 1}" if len(remarks) > 1 else ""
        return (Span(f"{first.sign} {text}{more}", first.style),)

    def in_full(self, place: Place) -> Lines | None:
        """All that was said about the line, for a fold below it."""
        remarks = self._at.get(place)
        if not remarks:
            return None
        rows = [row for one in remarks for row in sentence(one.long, one.style, indent="    ", lead=f"{one.sign} ")]
        return Rows(rows)
