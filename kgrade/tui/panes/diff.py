"""What was changed: the solution against a base, unified and side by side.

A base is one of the item's (`previous`, `start`, `reference`) or `NOTHING`, against which every line is new: that is
how code written from nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kgrade.tui.highlight import HighlightedText
from kgrade.tui.lines import LazyRows, Lines, Place, Row, Rows, SourceText, Span, holds, message
from kgrade.tui.pane import Glance, Pane
from kgrade.tui.panes import figures
from kgrade.tui.panes.changed_words import changed_parts
from kgrade.tui.panes.coming import Coming
from kgrade.tui.panes.comparison import FilePair, Hunk, HunkLine, HunkLines, pairs
from kgrade.tui.panes.layout import BLANK, fold, sentence
from kgrade.tui.panes.remarks import Remarks

if TYPE_CHECKING:
    from kgrade.desk.item import Item
    from kgrade.desk.sheet import Sheet

NOTHING: Final = "nothing"
_WITHOUT_START: Final = ("start", "previous")
_COARSE: Final = "too different or too large to be aligned closely: long stretches show as replaced"
_FOUND_AT_ONCE: Final = 256
_COMPARING: Final = "… comparing the rest"


def bases(item: Item) -> list[str]:
    """The bases in the order in which a key cycles through them; the first is shown at first."""
    given = list(item.bases)
    return [*given, NOTHING] if any(name in _WITHOUT_START for name in given) else [NOTHING, *given]


def pane(item: Item, sheet: Sheet, base: str | None = None, *, ignore_space: bool = False) -> Pane:
    """The solution of `item` against `base`; with `ignore_space`, lines that differ in blanks only are the same."""
    if item.submission is None:
        where = "i shows what is asked, s the reference and the code handed out"
        return Pane(message("— A task itself is under review: there is no solution to compare.", f"  {where}."))
    if not item.solution:
        return Pane(
            message(
                "! solution/ holds no file: there is nothing to compare.", "  L shows where the submission came from."
            )
        )
    base = base if base in bases(item) else bases(item)[0]
    remarks = Remarks(item, sheet)
    views = [_FileView(pair, base, remarks) for pair in pairs(item.bases.get(base, {}), item.solution)]
    head = Rows(_head(item, base, ignore_space))

    def unified() -> Iterator[Lines | None]:
        yield head
        for view in views:
            yield from view.unified(ignore_space)

    def split() -> Iterator[Lines | None]:
        yield head
        for view in views:
            yield from view.split(ignore_space)

    others = {name: partial(pane, item, sheet, name, ignore_space=ignore_space) for name in bases(item)}
    if base == NOTHING:
        return Pane(Coming(unified, _COMPARING), glance(item), None, others)
    blanks = partial(pane, item, sheet, base, ignore_space=not ignore_space)
    return Pane(Coming(unified, _COMPARING), glance(item), Coming(split, _COMPARING), others, blanks)


def glance(item: Item) -> Glance:
    """What the solution is compared with at first."""
    return Glance("new" if bases(item)[0] == NOTHING and item.submission else "")


def _head(item: Item, base: str, ignore_space: bool) -> list[Row]:
    others = ", ".join(name for name in bases(item) if name != base)
    what = "every line is new, there is no base" if base == NOTHING else f"solution against {base}"
    blanks = ", differences in blanks left out" if ignore_space else ""
    return sentence(f"{what}{blanks}{f'  (B: {others})' if others else ''}", "dim")


class _FileView:
    """One pair of files as rows, in both layouts."""

    def __init__(self, pair: FilePair, base: str, remarks: Remarks) -> None:
        self._pair = pair
        self._base = base
        self._remarks = remarks
        self._remarked_new = remarks.lines(f"solution/{pair.new_path}") if pair.new_path else []
        self._remarked_old = remarks.lines(self._label(pair.old_path) or "", "old") if pair.old_path else []
        self._digits = len(str(max(len(pair.old), len(pair.new), 1)))
        self._parts: dict[tuple[int, int], _Parts | None] = {}

    def unified(self, ignore_space: bool) -> Iterator[Lines | None]:
        """The file's rows with removed lines above the added ones."""
        return self._lines(HunkLines, self._row, ignore_space)

    def split(self, ignore_space: bool) -> Iterator[Lines | None]:
        """The file's rows with the old line at the left and the new one at the right."""
        return self._lines(partial(HunkLines, side_by_side=True), self._split_row, ignore_space)

    def _lines(
        self, order: Callable[[Hunk], HunkLines], make: Callable[[HunkLine], Row], ignore_space: bool
    ) -> Iterator[Lines | None]:
        kind = self._pair.kind
        if kind == "binary":
            yield Rows([BLANK, self._title("not text, so not shown", "warn")])
        elif kind == "same":
            whole = self._gap(0, 0, len(self._pair.new), make)
            held = whole[0] if whole else Row()
            told = f", {figures.count(len(self._remarked_new), 'remark')} there" if held.mark else ""
            title = self._title(f"the same on both sides{told}, o opens")
            yield Rows([BLANK, replace(title, fold=held.fold, mark=held.mark, sign=held.sign)])
        else:
            yield from self._compared(order, make, ignore_space)

    def _compared(
        self, order: Callable[[Hunk], HunkLines], make: Callable[[HunkLine], Row], ignore_space: bool
    ) -> Iterator[Lines | None]:
        """The title, then hunk by hunk with what stands unchanged between them behind folds; None between."""
        told = "comparing…"
        yield LazyRows(2, lambda index: self._title(told) if index else BLANK)
        alignment = self._pair.alignment(ignore_space)
        added = removed = old = new = 0
        said_coarse = False
        for hunk in self._pair.hunks(alignment):
            if hunk is None:
                yield None
                continue
            if alignment.coarse and not said_coarse:
                said_coarse = True
                yield Rows(sentence(_COARSE, "warn", lead="~ "))
            yield Rows(self._above(hunk, old, new, make))
            yield self._made(order(hunk), make, self._is_one_sided)
            old, new = hunk.old_end, hunk.new_end
            added += sum(change.new_end - change.new for change in hunk.changes)
            removed += sum(change.old_end - change.old for change in hunk.changes)
        told = f"+{added:,} -{removed:,}"
        if added or removed:
            yield Rows(self._gap(old, new, len(self._pair.old) - old, make))
        else:
            why = "differs only in blanks" if ignore_space else "differs only in the newline at the end of the file"
            yield Rows([Row(spans=(Span(f"  ~ {why}", "dim"),))])

    @property
    def _is_one_sided(self) -> bool:
        return self._pair.kind in ("added", "removed")

    def _title(self, note: str, style: str = "dim") -> Row:
        pair = self._pair
        old, new = self._label(pair.old_path), pair.new_path and f"solution/{pair.new_path}"
        name = f"{old} -> {new}" if old and new and pair.old_path != pair.new_path else new or old or ""
        words = {"added": "new file", "removed": "removed"}.get(pair.kind, "")
        if pair.kind == "binary":
            before, after = pair.sizes
            words = f"binary, {figures.size(before)} -> {figures.size(after)},"
        elif pair.kind == "same" and pair.old_path != pair.new_path:
            words = "renamed,"
        return Row(spans=(Span(name, "heading"), Span(f"  {words + ' ' if words else ''}{note}", style)))

    def _label(self, path: str | None) -> str | None:
        """The old side's path as notes name it: beside the task's files, or in the solution it replaces."""
        if path is None or self._base == "reference":
            return path
        return f"{'solution' if self._base == 'previous' else self._base}/{path}"

    def _above(self, hunk: Hunk, old: int, new: int, make: Callable[[HunkLine], Row]) -> list[Row]:
        """What stands above a hunk: unchanged lines from `old` and `new` on behind a fold, and its own heading."""
        rows = self._gap(old, new, hunk.old - old, make)
        if not self._is_one_sided:
            spans = f"@@ -{_range(hunk.old, hunk.old_end)} +{_range(hunk.new, hunk.new_end)} @@"
            rows.append(Row(spans=(Span(spans, "hunk"),), mark="hunk"))
        return rows

    def _made(self, lines: HunkLines, make: Callable[[HunkLine], Row], whole: bool) -> LazyRows:
        """The lines of a hunk, marked where remarks begin; of a file that is wholly new the first is marked too."""
        marks = self._marks(lines)
        if whole and lines:
            marks.setdefault(0, "hunk")

        def made(index: int) -> Row:
            row = make(lines[index])
            return replace(row, mark=marks[index]) if index in marks else row

        return LazyRows(len(lines), made, sorted(marks), find=partial(self._find, lines))

    def _find(self, lines: HunkLines, needle: str) -> Iterator[int | None]:
        """The lines of a hunk that hold `needle` on a side that is shown; see `Lines.find`."""
        for start in range(0, len(lines), _FOUND_AT_ONCE):
            some = [lines[number] for number in range(start, min(start + _FOUND_AT_ONCE, len(lines)))]
            old = _texts(self._pair.old.source, [line.old for line in some if line.old is not None])
            new = _texts(self._pair.new.source, [line.new for line in some if line.new is not None])
            for number, line in enumerate(some, start):
                if any(holds(text[at], needle) for text, at in ((new, line.new), (old, line.old)) if at is not None):
                    yield number
            yield None

    def _gap(self, old: int, new: int, count: int, make: Callable[[HunkLine], Row]) -> list[Row]:
        """What stands unchanged, behind a fold, which says when there are remarks in it."""
        if count <= 0:
            return []
        remarked = [line - 1 - new for line in self._remarked_new if new < line <= new + count]
        marks = frozenset(remarked)

        def made(step: int) -> Row:
            row = make(HunkLine(old + step, new + step))
            return replace(row, mark="finding") if step in marks else row

        told = f", {figures.count(len(remarked), 'remark')} there" if remarked else ""
        row = fold(f"… {figures.count(count, 'unchanged line')}{told}", LazyRows(count, made, remarked))
        return [replace(row, mark="finding", sign="!") if remarked else row]

    def _marks(self, lines: HunkLines) -> dict[int, str]:
        new, old = set(self._remarked_new), set(self._remarked_old)
        if not new and not old:
            return {}

        def remarked(line: HunkLine) -> bool:
            if line.new is not None:
                return line.new + 1 in new
            return line.old is not None and line.old + 1 in old

        return {number: "finding" for number in range(len(lines)) if remarked(lines[number])}

    def _row(self, line: HunkLine) -> Row:
        """A row of the unified layout."""
        side, place = self._side(line)
        numbers = f"{_number(line.old, self._digits)} {_number(line.new, self._digits)} {side} "
        spans, blanks_only = self._spans(line, new=line.new is not None)
        return Row(
            spans=spans,
            gutter=(Span(numbers, _BASE_OF[side] or "number"),),
            aside=self._remarks.aside(place) or blanks_only,
            base="" if self._pair.kind == "added" else _BASE_OF[side],
            place=place,
            sign=self._remarks.sign(place),
            fold=self._remarks.in_full(place),
        )

    def _split_row(self, line: HunkLine) -> Row:
        """A row of the split layout: the old line, and beside it the new one, which notes are about if it is there."""
        changed = line.old is None or line.new is None or line.partner is not None
        right = self._half(line, new=True, changed=changed)
        left = self._half(line, new=False, changed=changed)
        place = right.place or left.place
        return replace(left, place=place, fold=right.fold or left.fold, beside=replace(right, fold=None))

    def _half(self, line: HunkLine, *, new: bool, changed: bool) -> Row:
        number = line.new if new else line.old
        if number is None:
            return Row(gutter=(Span(" " * (self._digits + 3), "number"),))
        side = ("+" if new else "-") if changed else " "
        place = self._place(number, new)
        one = (
            HunkLine(None if new else number, number if new else None, line.old if new else line.new)
            if changed
            else line
        )
        spans, blanks_only = self._spans(one, new=new)
        return Row(
            spans=spans,
            gutter=(Span(f"{_number(number, self._digits)} {side} ", _BASE_OF[side] or "number"),),
            aside=self._remarks.aside(place) or blanks_only,
            base="" if self._pair.kind == "added" else _BASE_OF[side],
            place=place,
            sign=self._remarks.sign(place),
            fold=self._remarks.in_full(place),
        )

    def _side(self, line: HunkLine) -> tuple[str, Place]:
        if line.new is not None:
            return ("+" if line.old is None else " "), self._place(line.new, new=True)
        assert line.old is not None
        return "-", self._place(line.old, new=False)

    def _place(self, number: int, new: bool) -> Place:
        """Where a note goes. The old side's path tells which base it is about, so that it never turns up at another."""
        if new:
            return Place(f"solution/{self._pair.new_path}", number + 1)
        return Place(self._label(self._pair.old_path) or "", number + 1, "old")

    def _spans(self, line: HunkLine, *, new: bool) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        """The spans of a line, with the words that changed marked, and a remark when only blanks did."""
        text: HighlightedText = self._pair.new if new else self._pair.old
        number = line.new if new else line.old
        assert number is not None
        if (line.old is not None and line.new is not None) or self._pair.kind in ("added", "removed"):
            return text[number], ()
        plain = text.source[number]
        if line.partner is None:
            return (Span(plain),), ()
        parts = self._changed(*((line.partner, number) if new else (number, line.partner)))
        if parts is None:
            return (Span(plain),), ()
        ranges = parts.new if new else parts.old
        return _marked(plain, ranges), ((Span("~ blanks only", "dim"),) if parts.blanks_only else ())

    def _changed(self, old: int, new: int) -> _Parts | None:
        key = (old, new)
        if key not in self._parts:
            before, after = self._pair.old.source[old], self._pair.new.source[new]
            found = changed_parts(before, after)
            blanks_only = "".join(before.split()) == "".join(after.split())
            self._parts[key] = None if found is None else _Parts(*found, blanks_only)
        return self._parts[key]


_BASE_OF: Final = {"+": "added", "-": "removed", " ": ""}


class _Parts(NamedTuple):
    old: list[tuple[int, int]]
    new: list[tuple[int, int]]
    blanks_only: bool


def _texts(source: SourceText, numbers: Sequence[int]) -> dict[int, str]:
    """The text of lines that stand close together."""
    if not numbers:
        return {}
    first, last = min(numbers), max(numbers)
    return dict(enumerate(source.window(first, last + 1), first))


def _marked(text: str, ranges: Sequence[tuple[int, int]]) -> tuple[Span, ...]:
    spans = []
    at = 0
    for start, end in ranges:
        spans += [Span(text[at:start]), Span(text[start:end], "changed")]
        at = end
    spans.append(Span(text[at:]))
    return tuple(span for span in spans if span.text)


def _number(number: int | None, digits: int) -> str:
    return " " * digits if number is None else f"{number + 1:{digits}}"


def _range(start: int, end: int) -> str:
    return f"{start + 1 if end > start else start},{end - start}"
