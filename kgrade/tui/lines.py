"""What the line view shows: rows with random access, made when looked at. Nothing here knows a terminal."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from kgrade.records.neutral import decoded

_BLOCK: Final = 1 << 14
_NEWLINE: Final = re.compile(rb"\n")
_FOUND_AT_ONCE: Final = 1024
_LONGEST: Final = 100_000
"""Characters of one line that are shown."""

_SHOWN_AS_THEY_ARE: Final = bytes([*range(0x20, 0x7F)]) + b"\n"
_LONGEST_BYTES: Final = 4 * _LONGEST


AT_ONCE: Final = 0.0


class Span(NamedTuple):
    """A piece of a row. `text` may be hostile, the view makes it safe; `style` is a name of `palette`."""

    text: str
    style: str = ""


class Place(NamedTuple):
    """A line of a file that a note can be anchored to or an editor opened at. `line` counts from 1."""

    path: str
    line: int
    side: Literal["old", "new"] = "new"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the evidence.

    `gutter` (line numbers) stands still when the text moves sideways and goes on narrow screens; `aside`
    stands at the right edge. `base` is the style of the whole row. `mark` says what `]` and `[` find here: a
    hunk, an error, a failed case, a finding. `sign` is one character that is always shown, such as ``m`` for
    a note. `fold` holds the rows that `o` opens below this one. `beside` is the right half of a split row. `to` is
    the number of the row that Enter goes to from here, in the same lines.
    """

    spans: tuple[Span, ...] = ()
    gutter: tuple[Span, ...] = ()
    aside: tuple[Span, ...] = ()
    base: str = ""
    place: Place | None = None
    mark: str = ""
    sign: str = ""
    fold: Lines | None = None
    beside: Row | None = None
    to: int | None = None

    @property
    def text(self) -> str:
        """The row without its gutter, as searched and copied."""
        return "".join(span.text for span in self.spans)


def row(text: str, style: str = "", *, mark: str = "", place: Place | None = None) -> Row:
    """A row of one span."""
    return Row(spans=(Span(text, style),), mark=mark, place=place)


class Lines(Protocol):
    """Rows by number. Both methods are called while drawing, so they must be quick for any index."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Row: ...

    @property
    def marks(self) -> Sequence[int]:
        """The numbers of the rows with a `mark`, ascending."""

    def find(self, needle: str) -> Iterator[int | None]:
        """The rows that hold `needle`, ascending; None now and then, where a search may pause."""

    def go_on(self) -> float | None:
        """Work for a moment on rows that are still to come.

        Return None if all were there already; AT_ONCE if more work brings more; else the seconds to wait for more.
        """


class Rows:
    """Rows that are there already."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._marks = [index for index, row in enumerate(rows) if row.mark]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int, /) -> Row:
        return self._rows[index]

    @property
    def marks(self) -> Sequence[int]:
        """The numbers of the rows with a mark."""
        return self._marks

    def find(self, needle: str) -> Iterator[int | None]:
        """Rows that hold `needle`; see `Lines.find`."""
        return _found_in(self, needle)

    def go_on(self) -> None:
        """Nothing is to come."""


def message(*lines: str) -> Rows:
    """An empty state: what is not there and why, then what to do next."""
    return Rows([row(line, "" if index == 0 else "dim") for index, line in enumerate(lines)])


class LazyRows:
    """`count` rows, each made by `make(number)` when it is looked at.

    `find` searches what the rows are made from, where that is quicker than making them all.
    """

    def __init__(
        self,
        count: int,
        make: Callable[[int], Row],
        marks: Sequence[int] = (),
        find: Callable[[str], Iterator[int | None]] | None = None,
    ) -> None:
        self._count = count
        self._make = make
        self._marks = marks
        self._find = find

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int, /) -> Row:
        return self._make(index)

    @property
    def marks(self) -> Sequence[int]:
        """The numbers of the rows with a mark, as given."""
        return self._marks

    def find(self, needle: str) -> Iterator[int | None]:
        """Rows that hold `needle`; see `Lines.find`."""
        return self._find(needle) if self._find else _found_in(self, needle)

    def go_on(self) -> None:
        """Nothing is to come."""


def holds(text: str, needle: str) -> bool:
    """Whether `text` holds `needle`; capitals count only if `needle` has some."""
    return needle in (text.lower() if needle == needle.lower() else text)


def _found_in(lines: Lines, needle: str) -> Iterator[int | None]:
    for index in range(len(lines)):
        if holds(lines[index].text, needle):
            yield index
        if index % _FOUND_AT_ONCE == _FOUND_AT_ONCE - 1:
            yield None


class Store(Protocol):
    """Bytes that are read piece by piece; more of them may come. They are counted in blocks of `block` bytes."""

    @property
    def block(self) -> int:
        """Bytes of a block."""

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int, /) -> bytes:
        """The bytes from `start` to `stop`."""

    @property
    def newlines(self) -> Sequence[int]:
        """How many newlines stand before each block that is there, and before the end."""


class _Held:
    """Bytes that are there already."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.block = _BLOCK
        self.newlines = [0]
        for start in range(0, len(data), _BLOCK):
            self.newlines.append(self.newlines[-1] + data.count(b"\n", start, start + _BLOCK))

    def __len__(self) -> int:
        return len(self._data)

    def read(self, start: int, stop: int, /) -> bytes:
        return self._data[start:stop]


class SourceText:
    """The lines of a file's bytes, found when asked for: a million lines open at once.

    Only the number of newlines before each block of the data is kept, and of a long line only its beginning is read.
    """

    def __init__(self, data: bytes | Store) -> None:
        self._store: Store = _Held(data) if isinstance(data, bytes) else data
        self._block: tuple[int, int, list[int]] = -1, 0, []
        """A block, how much of it was there, and where its newlines stand: the lines of a screen lie in few blocks."""

    def __len__(self) -> int:
        size = len(self._store)
        if not size:
            return 0
        block, last = divmod(size - 1, self._store.block)
        ends = self._ends(block)
        # Not by the last of the newlines: more may have come since the size was asked for.
        return self._store.newlines[block + 1] + (not ends or ends[-1] != last)

    def __getitem__(self, index: int, /) -> str:
        """Line `index` without its end; past 100,000 characters only how many more there are."""
        return self.window(index, index + 1)[0]

    def window(self, start: int, stop: int) -> list[str]:
        """Lines `start` to `stop` (not included); IndexError outside the text."""
        if not 0 <= start < stop <= len(self):
            raise IndexError(f"lines {start} to {stop} of {len(self)}")
        begin, end = self._offset(start), self._offset(stop)
        if end - begin <= (stop - start) * _LONGEST_BYTES:
            return [_shown(line) for line in self._store.read(begin, end).split(b"\n")[: stop - start]]
        ends = [self._offset(line) for line in range(start + 1, stop + 1)]
        return [self._beginning(line, line_end) for line, line_end in zip([begin, *ends], ends)]

    def find(self, needle: str, is_whole: Callable[[], bool] = lambda: True) -> Iterator[int | None]:
        """Numbers of the lines that hold `needle`; see `Lines.find`. While not `is_whole`, what comes is waited for."""
        at, whole = 0, False
        while not whole:
            whole = is_whole()
            # Of the last line that is there the end may be still to come.
            count = len(self) - (not whole)
            while at < count:
                stop = min(at + _FOUND_AT_ONCE, count)
                if self._may_hold(at, stop, needle):
                    for index, line in enumerate(self.window(at, stop), at):
                        if holds(line, needle):
                            yield index
                at = stop
                yield None
            yield None

    def _may_hold(self, start: int, stop: int, needle: str) -> bool:
        """Whether some of the lines may hold `needle`; false is certain, and soon known of plain text."""
        begin, end = self._offset(start), self._offset(stop)
        if not needle.isascii() or end - begin > _LONGEST:
            return True
        raw = self._store.read(begin, end)
        # What is shown of other bytes, a tab or an escape, is not what stands there.
        return bool(raw.translate(None, _SHOWN_AS_THEY_ARE)) or needle.encode() in (
            raw.lower() if needle == needle.lower() else raw
        )

    def _beginning(self, start: int, end: int) -> str:
        """What is shown of the line that stands from `start` to `end`, its own end included if it has one."""
        raw = self._store.read(start, min(end, start + _LONGEST_BYTES))
        if end - start <= _LONGEST_BYTES:
            return _shown(raw.removesuffix(b"\n"))
        text = decoded(raw)[:_LONGEST]
        return f"{text}⟨{end - start - len(text.encode('utf-8', 'surrogateescape'))} more bytes⟩"

    def _offset(self, line: int) -> int:
        """Where line `line` begins; the end of the data for the line after the last."""
        if line == 0:
            return 0
        newlines, size = self._store.newlines, self._store.block
        block = bisect_right(newlines, line - 1) - 1
        if block >= len(newlines) - 1:
            return len(self._store)
        return block * size + self._ends(block)[line - newlines[block] - 1] + 1

    def _ends(self, block: int) -> list[int]:
        """Where the newlines of a block stand, counted from its beginning."""
        start = block * self._store.block
        there = min(self._store.block, len(self._store) - start)
        if self._block[:2] != (block, there):
            piece = self._store.read(start, start + there)
            self._block = block, there, [found.start() for found in _NEWLINE.finditer(piece)]
        return self._block[2]


def _shown(line: bytes) -> str:
    text = decoded(line)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}⟨{len(text) - _LONGEST} more characters⟩"
