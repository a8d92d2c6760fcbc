"""Two versions of a solution, file by file, and each file's changes gathered into hunks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Final, Literal, NamedTuple

from kgrade.tui.highlight import HighlightedText
from kgrade.tui.lines import SourceText
from kgrade.tui.panes.alignment import Alignment, Match, align

CONTEXT: Final = 3
"""Unchanged lines shown around a change."""

_SNIFFED: Final = 8_000
_MOST_LINES: Final = 400_000

Kind = Literal["same", "changed", "added", "removed", "binary"]


class Change(NamedTuple):
    """Lines `old` to `old_end` of the base stand replaced by `new` to `new_end`; from 0, ends excluded."""

    old: int
    old_end: int
    new: int
    new_end: int


class Hunk(NamedTuple):
    """Changes less than twice `CONTEXT` lines apart, and the lines of both sides that show them in context."""

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

    def alignment(self, ignore_space: bool) -> Alignment:
        """Which lines correspond; past a size nothing but equal files is sought."""
        return _aligned(self._old or b"", self._new or b"", ignore_space)

    def hunks(self, alignment: Alignment) -> list[Hunk]:
        """The changes between the matches, neighbours gathered."""
        return _gathered(_changes(alignment.matches, len(self.old), len(self.new)), len(self.old))


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


def in_one(hunk: Hunk) -> list[HunkLine]:
    """The lines of a hunk, removed ones above the added ones."""
    lines: list[HunkLine] = []
    old, new = hunk.old, hunk.new
    for change in hunk.changes:
        lines += [HunkLine(old + step, new + step) for step in range(change.old - old)]
        gone, come = range(change.old, change.old_end), range(change.new, change.new_end)
        both = min(len(gone), len(come))
        lines += [HunkLine(number, None, come[step] if step < both else None) for step, number in enumerate(gone)]
        lines += [HunkLine(None, number, gone[step] if step < both else None) for step, number in enumerate(come)]
        old, new = change.old_end, change.new_end
    return lines + [HunkLine(old + step, new + step) for step in range(hunk.old_end - old)]


def in_two(hunk: Hunk) -> list[HunkLine]:
    """The lines of a hunk, each removed one on one line with the added one that stands in its place."""
    lines: list[HunkLine] = []
    old, new = hunk.old, hunk.new
    for change in hunk.changes:
        lines += [HunkLine(old + step, new + step) for step in range(change.old - old)]
        gone, come = range(change.old, change.old_end), range(change.new, change.new_end)
        both = min(len(gone), len(come))
        lines += [HunkLine(gone[step], come[step], partner=come[step]) for step in range(both)]
        lines += [HunkLine(number, None) for number in gone[both:]]
        lines += [HunkLine(None, number) for number in come[both:]]
        old, new = change.old_end, change.new_end
    return lines + [HunkLine(old + step, new + step) for step in range(hunk.old_end - old)]


@lru_cache(maxsize=64)
def _aligned(old: bytes, new: bytes, ignore_space: bool) -> Alignment:
    """Kept, because a pane is made again after every edit of the sheet."""
    left, right = SourceText(old), SourceText(new)
    if len(left) + len(right) > _MOST_LINES:
        return Alignment([], coarse=True)
    return align(_keys(left, ignore_space), _keys(right, ignore_space))


def _keys(source: SourceText, ignore_space: bool) -> list[str]:
    lines = source.window(0, len(source)) if len(source) else []
    return ["".join(line.split()) for line in lines] if ignore_space else lines


def _changes(matches: list[Match], old_end: int, new_end: int) -> list[Change]:
    changes = []
    a = b = 0
    for match in [*matches, Match(old_end, new_end, 0)]:
        if match.old > a or match.new > b:
            changes.append(Change(a, match.old, b, match.new))
        a, b = match.old + match.size, match.new + match.size
    return changes


def _gathered(changes: list[Change], old_lines: int) -> list[Hunk]:
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change.old - groups[-1][-1].old_end <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    hunks = []
    for group in groups:
        first, last = group[0], group[-1]
        before = min(CONTEXT, first.old)
        after = min(CONTEXT, old_lines - last.old_end)
        hunks.append(Hunk(first.old - before, last.old_end + after, first.new - before, last.new_end + after, group))
    return hunks
