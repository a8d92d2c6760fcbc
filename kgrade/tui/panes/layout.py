"""How facts become rows: headings, labelled facts, wrapped sentences, tables that fit their content, lines in a row."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

from rich.cells import cell_len

from kgrade.records.neutral import neutral
from kgrade.tui.lines import LazyRows, Lines, Place, Row, Rows, Span

WIDTH: Final = 78
"""Columns that sentences are wrapped to; a table puts what matters most within them."""

BLANK: Final = Row()
_LABEL: Final = 12
_LONGEST: Final = 20_000
_LONGEST_LABEL: Final = 1_000
_ALL_WIDTHS: Final = 200
"""Entries up to which a long table looks at all for the widths of its columns; of more, at about so many others too."""


def heading(text: str, note: str = "", style: str = "dim") -> Row:
    """A section's first row, with a short note after it."""
    text, note = text[:_LONGEST_LABEL], note[:_LONGEST_LABEL]
    spans = (Span(text, "heading"),)
    return Row(spans=(*spans, Span(f"  {note}", style)) if note else spans)


def fact(label: str, text: str, style: str = "") -> list[Row]:
    """A labelled fact, wrapped under its own first column."""
    lead = f"{label:<{_LABEL}} "
    first, *rest = wrapped(text, WIDTH - len(lead)) or [""]
    rows = [Row(spans=(Span(lead, "dim"), Span(first, style)))]
    return rows + [Row(spans=(Span(" " * len(lead)), Span(line, style))) for line in rest]


def sentence(text: str, style: str = "", indent: str = "", lead: str = "") -> list[Row]:
    """Text of any length on as many rows as it needs. `lead` stands before the first row, blanks before the others."""
    lines = wrapped(text, WIDTH - cell_len(indent + lead)) or [""]
    hang = indent + " " * cell_len(lead)
    return [Row(spans=(Span((hang if number else indent + lead) + line, style),)) for number, line in enumerate(lines)]


def wrapped(text: str, width: int) -> list[str]:
    """The words of `text` on lines of at most `width` cells where words allow; line ends in `text` are kept.

    Past 20,000 characters only how many more there are.
    """
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} ⟨{len(text) - _LONGEST:,} more characters⟩"
    return [line for paragraph in text.splitlines() for line in _filled(paragraph, width)]


def _filled(paragraph: str, width: int) -> Iterable[str]:
    line, used = "", 0
    for word in paragraph.split():
        cells = _cells(word)
        if line and used + 1 + cells > width:
            yield line
            line, used = word, cells
        else:
            line, used = (f"{line} {word}", used + 1 + cells) if line else (word, cells)
    yield line


class Column(NamedTuple):
    """A column of a table: its title, whether numbers are lined up at the right, and the most cells it may take."""

    title: str
    right: bool = False
    most: int = 40


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a table; `fold` is what `o` opens below it, `to` the row that Enter goes to."""

    cells: Sequence[str | Span]
    mark: str = ""
    fold: Lines | None = None
    place: Place | None = None
    to: int | None = None


def table(columns: Sequence[Column], entries: Sequence[Entry], indent: str = "") -> list[Row]:
    """A table as rows: the titles, then one row an entry. Columns are as wide as their content."""
    cells = [_clipped_all(entry, columns) for entry in entries]
    widths = _widths(columns, cells)
    return [
        _titles(columns, widths, indent),
        *(_row(entry, line, columns, widths, indent) for entry, line in zip(entries, cells)),
    ]


def long_table(columns: Sequence[Column], count: int, make: Callable[[int], Entry], marks: Sequence[int]) -> Lines:
    """A table of `count` entries, each made when it is looked at; `marks` are the numbers of those with a mark.

    Columns are as wide as the first entries and some of the others need; a wider cell moves what stands after it.
    """
    some = sorted({*range(min(count, _ALL_WIDTHS)), *range(0, count, max(1, count // _ALL_WIDTHS))})
    widths = _widths(columns, [_clipped_all(make(number), columns) for number in some])

    def row(number: int) -> Row:
        if not number:
            return _titles(columns, widths, "")
        entry = make(number - 1)
        return _row(entry, _clipped_all(entry, columns), columns, widths, "")

    return LazyRows(count + 1, row, [number + 1 for number in marks])


def _titles(columns: Sequence[Column], widths: Sequence[int], indent: str) -> Row:
    return Row(spans=_padded([Span(column.title, "dim") for column in columns], columns, widths, indent))


def _row(entry: Entry, cells: Sequence[Span], columns: Sequence[Column], widths: Sequence[int], indent: str) -> Row:
    spans = _padded(cells, columns, widths, indent)
    return Row(spans=spans, mark=entry.mark, fold=entry.fold, place=entry.place, to=entry.to)


def _clipped_all(entry: Entry, columns: Sequence[Column]) -> list[Span]:
    return [_clipped(cell, column.most) for cell, column in zip(entry.cells, columns)]


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[Span]]) -> list[int]:
    return [
        max([cell_len(column.title), *(_cells(row[number].text) for row in cells)])
        for number, column in enumerate(columns)
    ]


def _padded(cells: Sequence[Span], columns: Sequence[Column], widths: Sequence[int], indent: str) -> tuple[Span, ...]:
    spans = [Span(indent)] if indent else []
    last = len(cells) - 1
    for number, (cell, column, width) in enumerate(zip(cells, columns, widths)):
        blanks = " " * (width - _cells(cell.text))
        gap = "" if number == last else "  "
        if column.right:
            spans += [Span(blanks), cell, Span(gap)]
        else:
            spans += [cell, Span(gap if number == last else blanks + gap)]
    return tuple(span for span in spans if span.text)


def _clipped(cell: str | Span, most: int) -> Span:
    span = cell if isinstance(cell, Span) else Span(cell)
    # No character of a cell takes less than a column, but for marks, of which each bears two.
    text = neutral(span.text[: 3 * most + 1])
    if cell_len(text) <= most:
        return span
    while cell_len(text) > most - 1:
        text = text[: most - 1 - max(0, cell_len(text[: most - 1]) - most + 1)]
    return Span(f"{text}…", span.style)


def _cells(text: str) -> int:
    return cell_len(text if text.isascii() and text.isprintable() else neutral(text))


def fold(text: str, rows: list[Row] | Lines, style: str = "dim", *, indent: str = "") -> Row:
    """A row that `o` opens."""
    return Row(spans=(Span(f"{indent}{text}, o opens", style),), fold=Rows(rows) if isinstance(rows, list) else rows)


class Joined:
    """Several `Lines`, one after the other, each still made only where it is looked at."""

    def __init__(self, parts: Sequence[Lines]) -> None:
        self._parts = parts
        self._ends = list(accumulate(len(part) for part in parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index: int, /) -> Row:
        if not 0 <= index < len(self):
            raise IndexError(index)
        number = bisect_right(self._ends, index)
        return self._parts[number][index - (self._ends[number - 1] if number else 0)]

    @property
    def marks(self) -> Sequence[int]:
        """The numbers of the rows with a mark."""
        starts = [0, *self._ends]
        return [start + mark for start, part in zip(starts, self._parts) for mark in part.marks]

    def find(self, needle: str) -> Iterator[int | None]:
        """Rows that hold `needle`; see `Lines.find`."""
        for start, part in zip([0, *self._ends], self._parts):
            for found in part.find(needle):
                yield None if found is None else start + found

    def go_on(self) -> None:
        """Nothing is to come: the parts are those of when they were joined."""


class Late:
    """Lines that are not known until someone looks, because finding them takes a while."""

    def __init__(self, make: Callable[[], Lines]) -> None:
        self._make = make

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, index: int, /) -> Row:
        return self._made[index]

    @property
    def marks(self) -> Sequence[int]:
        """The numbers of the rows with a mark."""
        return self._made.marks

    def find(self, needle: str) -> Iterator[int | None]:
        """Rows that hold `needle`; see `Lines.find`."""
        return self._made.find(needle)

    def go_on(self) -> float | None:
        """Let more of them come; see `Lines.go_on`."""
        return self._made.go_on()

    @cached_property
    def _made(self) -> Lines:
        return self._make()
