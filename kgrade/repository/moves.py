"""What the step from one commit to another does to files."""

from __future__ import annotations

from dataclasses import dataclass

from kgrade.repository.objects import object_id
from kgrade.repository.runner import Git


@dataclass(frozen=True, slots=True)
class FileMove:
    """What one step does to one file, in blob ids; None for no file."""

    path: str
    old: str | None
    new: str | None


def moves_between(git: Git, old: str | None, new: str | None, *below: str) -> list[FileMove]:
    """The files that differ from `old` to `new` (commits; None: no files), at or below the paths `below`.

    The cost follows the difference, not the size of the trees.
    """
    empty = object_id("tree", b"", git.object_format)
    command = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-abbrev",
    ]
    fields = git.run([*command, old or empty, new or empty, "--", *below]).stdout.split(b"\0")
    moves = []
    for head, path in zip(fields[0::2], fields[1::2]):
        _, _, before, after, _ = head.decode("ascii").split(" ")
        moves.append(
            FileMove(
                path.decode("utf-8", "surrogateescape"),
                None if before == git.null_oid else before,
                None if after == git.null_oid else after,
            )
        )
    return moves
