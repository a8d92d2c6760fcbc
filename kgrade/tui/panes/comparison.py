"""Two versions of a solution, file by file, and each file's changes gathered into hunks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from kgrade.tui.highlight import HighlightedText
from kgrade.tui.panes.alignment import Aligning
from kgrade.tui.panes.shortest_edit import Match

CONTEXT: Final = 3
"""Unchanged lines shown around a change."""

_SNIFFED: Final = 8_000
_MOST_LINES: Final = 400_000
_LONGEST_HUNK: Final = 400
"""Lines from which on a hunk ends at the next unchanged line: it can be jumped from, and shown before all is known."""

_SPLIT_AT_ONCE: Final = 1 << 14
"""Bytes that are split into lines at a time."""

Kind = Literal["same", "changed", "added", "removed", "binary"]


class Change(NamedTuple):
    """Lines `old` to `old_end` of the base stand replaced by `new` to `new_end`; from 0, ends excluded."""

    old: int
    old_end: int
    new: int
    new_end: int


class Hunk(NamedTuple):
    """Changes that stand close together, and the lines of both sides that show them in context."""

    old: int
    old_end: int
    new: int
    new_end: int
    changes: list[Change]


class HunkLine(NamedTuple):
    """A line of a hunk: which line of each side (from 0, None: not on that side), and its partner on the other side."""

    old: int | None
    new: int | None
    partner: int | None = None


class FilePair:
    """A file of the solution beside the one of the base that it comes from; a side that is not there is None."""

    def __init__(self, old_path: str | None, old: bytes | None, new_path: str | None, new: bytes | None) -> None:
        self.old_path = old_path
        self.new_path = new_path
        self._old = old
        self._new = new
        self.old = HighlightedText(old or b"", old_path or "")
        self.new = HighlightedText(new or b"", new_path or "")

    @cached_property
    def kind(self) -> Kind:
        """Whether the file is the same, changed, added, removed, or not text."""
        if self._old == self._new:
            return "same"
        if any(data is not None and b"\0" in data[:_SNIFFED] for data in (self._old, self._new)):
            return "binary"
        if self._old is None:
            return "added"
        return "removed" if self._new is None else "changed"

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of both sides."""
        return len(self._old or b""), len(self._new or b"")

    def alignment(self, ignore_space: bool) -> Aligning:
        """Which lines correspond, as far as that was found; past a size nothing but equal files is sought."""
        return _aligning(_Text(self._old or b"", len(self.old)), _Text(self._new or b"", len(self.new)), ignore_space)

    def hunks(self, alignment: Aligning) -> Iterator[Hunk | None]:
        """The changes, neighbours gathered, in order; None each time that the alignment goes on."""
        old_lines = len(self.old)
        return _gathered(_changes(alignment, old_lines, len(self.new)), old_lines)


def pairs(base: Mapping[str, bytes], solution: Mapping[str, bytes]) -> list[FilePair]:
    """Files of both sides by path; a single file on each side is one pair whatever the names.

    A removed and an added file with the same bytes are one renamed file. Changed files come first, same ones last.
    """
    if len(base) == len(solution) == 1:
        (old_path, old), (new_path, new) = *base.items(), *solution.items()
        return [FilePair(old_path, old, new_path, new)]
    gone = {path: data for path, data in base.items() if path not in solution}
    found = []
    for path, data in solution.items():
        source = path if path in base else next((name for name, old in gone.items() if old == data), None)
        gone.pop(source or "", None)
        found.append(FilePair(source, base.get(source) if source else None, path, data))
    found += [FilePair(path, data, None, None) for path, data in gone.items()]
    return sorted(found, key=lambda pair: (pair.kind == "same", pair.new_path or pair.old_path or ""))


class HunkLines:
    """The lines of a hunk, each made when it is asked for.

    In one column removed lines stand above the added ones; `side_by_side`, each removed one on one line with the added
    one that stands in its place.
    """

    def __init__(self, hunk: Hunk, *, side_by_side: bool = False) -> None:
        self._hunk = hunk
        self._side_by_side = side_by_side
        self._begins = [(hunk.old, hunk.new), *((change.old_end, change.new_end) for change in hunk.changes)]
        """Where each change begins with the unchanged lines above it; last, the unchanged lines below all of them."""
        heights = [change.old - begin[0] + self._height(change) for change, begin in zip(hunk.changes, self._begins)]
        self._ends = list(accumulate([*heights, hunk.old_end - self._begins[-1][0]]))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, index: int, /) -> HunkLine:
        if not 0 <= index < len(self):
            raise IndexError(index)
        number = bisect_right(self._ends, index)
        step = index - (self._ends[number - 1] if number else 0)
        old, new = self._begins[number]
        if number == len(self._hunk.changes) or step < self._hunk.changes[number].old - old:
            return HunkLine(old + step, new + step)
        change = self._hunk.changes[number]
        return self._changed(change, step - (change.old - old))

    def _height(self, change: Change) -> int:
        gone, come = change.old_end - change.old, change.new_end - change.new
        return max(gone, come) if self._side_by_side else gone + come

    def _changed(self, change: Change, step: int) -> HunkLine:
        gone, come = change.old_end - change.old, change.new_end - change.new
        old, new = change.old + step, change.new + step
        if self._side_by_side:
            if step < min(gone, come):
                return HunkLine(old, new, partner=new)
            return HunkLine(old, None) if step < gone else HunkLine(None, new)
        if step < gone:
            return HunkLine(old, None, new if step < come else None)
        step -= gone
        return HunkLine(None, change.new + step, change.old + step if step < gone else None)


class _Text:
    """The bytes of a file with so many lines. The same object is known again at once, however large it is."""

    def __init__(self, data: bytes, lines: int) -> None:
        self.data = data
        self.lines = lines

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Text) and other.data is self.data

    def __hash__(self) -> int:
        return id(self.data)


class _Keys:
    """What the lines of a text are compared by; each is made when it or one below it is asked for first."""

    def __init__(self, text: _Text, ignore_space: bool) -> None:
        self._text = text
        self._ignore_space = ignore_space
        self._keys: list[bytes] = []
        self._at = 0

    def __len__(self) -> int:
        return self._text.lines

    def __getitem__(self, index: slice, /) -> list[bytes]:
        while len(self._keys) < min(index.stop, len(self)):
            self._go_on()
        return self._keys[index]

    def _go_on(self) -> None:
        data = self._text.data
        end = data.find(b"\n", self._at + _SPLIT_AT_ONCE)
        lines = data[self._at : end if end >= 0 else None].split(b"\n")
        if end < 0 and not lines[-1]:
            lines.pop()
        self._at = end + 1
        self._keys += [b"".join(line.split()) for line in lines] if self._ignore_space else lines


@lru_cache(maxsize=64)
def _aligning(old: _Text, new: _Text, ignore_space: bool) -> Aligning:
    """Kept, because a pane is made again after every edit of the sheet."""
    aligning = Aligning(_Keys(old, ignore_space), _Keys(new, ignore_space))
    if old.lines + new.lines > _MOST_LINES:
        aligning.leave()
    return aligning


def _changes(aligning: Aligning, old_end: int, new_end: int) -> Iterator[Change | None]:
    """What stands between the matches; None each time that the alignment goes on."""
    matches, number = aligning.matches, 0
    while True:
        while number < len(matches):
            a, b = _end(matches[number - 1]) if number else (0, 0)
            if matches[number].old > a or matches[number].new > b:
                yield Change(a, matches[number].old, b, matches[number].new)
            number += 1
        if aligning.is_whole:
            break
        aligning.step()
        yield None
    a, b = _end(matches[-1]) if matches else (0, 0)
    if old_end > a or new_end > b:
        yield Change(a, old_end, b, new_end)


def _end(match: Match) -> tuple[int, int]:
    return match.old + match.size, match.new + match.size


def _gathered(changes: Iterator[Change | None], old_lines: int) -> Iterator[Hunk | None]:
    group: list[Change] = []
    shown = 0
    for change in changes:
        if change is None:
            yield None
            continue
        between = change.old - group[-1].old_end if group else 0
        if between > 2 * CONTEXT or (between and group[-1].old_end - group[0].old > _LONGEST_HUNK):
            hunk = _hunk(group, shown, change.old)
            yield hunk
            shown, group = hunk.old_end, []
        group.append(change)
    if group:
        yield _hunk(group, shown, old_lines)


def _hunk(group: list[Change], start: int, stop: int) -> Hunk:
    """A hunk of the changes in `group`, with context after line `start` and before line `stop` of the base."""
    first, last = group[0], group[-1]
    before = min(CONTEXT, first.old - start)
    after = min(CONTEXT, stop - last.old_end)
    return Hunk(first.old - before, last.old_end + after, first.new - before, last.new_end + after, group)
