"""Line notes find their place again: by the hash of the lines they were written on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from kgrade.records.grade import LineNote

NoteStatus = Literal["open", "addressed", "gone"]


class OldNote(msgspec.Struct, frozen=True, kw_only=True):
    """A note from an earlier submission, seen from this one.

    `open`: the same lines still stand there, at `lines`; `addressed`: the file is there and those lines are not;
    `gone`: the file is no longer there.
    """

    note: LineNote
    status: NoteStatus
    lines: tuple[int, int] | None = None


def lines_sha256(lines: Sequence[str]) -> str:
    """The hash under which a note remembers `lines` (without their line ends)."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def text_lines(data: bytes) -> list[str]:
    """The lines of a file as notes count them."""
    return data.decode("utf-8", "surrogateescape").split("\n")


def find_again(
    notes: Sequence[LineNote], files: Mapping[str, bytes], old_files: Mapping[str, bytes] | None = None
) -> list[OldNote]:
    """Seek each of `notes` in `files`, those on the old side in `old_files`, by the paths that notes use.

    Such as `solution/kernel.py` for what was handed in, and `start/kernel.py` for what it began with.
    """
    return [_find(note, files if note.side == "new" else old_files or {}) for note in notes]


def _find(note: LineNote, files: Mapping[str, bytes]) -> OldNote:
    if note.path not in files:
        return OldNote(note=note, status="gone")
    lines = text_lines(files[note.path])
    first, last = note.lines
    span = last - first + 1
    nearest_first = sorted(range(len(lines) - span + 1), key=lambda start: abs(start - (first - 1)))
    for start in nearest_first:
        if lines_sha256(lines[start : start + span]) == note.text_sha256:
            return OldNote(note=note, status="open", lines=(start + 1, start + span))
    return OldNote(note=note, status="addressed")
