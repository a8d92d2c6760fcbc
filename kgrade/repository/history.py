"""Which commits touched an item, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kgrade.repository.runner import Git, printable

LIMIT = 200


class Touch(msgspec.Struct, frozen=True):
    """One commit: when (RFC 3339), who, its first line, and the paths below the folder that it changed."""

    commit: str
    when: str
    who: str
    what: str
    paths: tuple[str, ...]


def touches(git: Git, commit: str, folder: str, limit: int = LIMIT) -> list[Touch]:
    """The last `limit` commits of `commit`'s history that changed anything below `folder`."""
    command = [
        "log",
        f"--max-count={limit}",
        "-z",
        "--name-only",
        "--no-renames",
        "--format=%x01%H%x02%aI%x02%an%x02%s%x02",
    ]
    output = git.run([*command, commit, "--", folder]).stdout.decode("utf-8", "replace")
    found = []
    for part in output.split("\x01")[1:]:
        oid, when, who, what, names = part.split("\x02", 4)
        paths = (name.strip("\n") for name in names.split("\0"))
        below = tuple(name.removeprefix(f"{folder}/") for name in paths if name)
        found.append(Touch(oid, when, printable(who), printable(what), below))
    return found


def touched_last(git: Git, commit: str, paths: Sequence[str]) -> str | None:
    """Which of `paths` a commit of `commit`'s history changed last; None when none of them ever was."""
    command = ["log", "--max-count=1", "-z", "--name-only", "--no-renames", "--format="]
    names = git.run([*command, commit, "--", *paths]).stdout.decode("utf-8", "replace").split("\0")
    return next((name for name in (name.strip("\n") for name in names) if name in paths), None)


def newest_first(git: Git, commit: str, paths: Sequence[str]) -> list[str]:
    """Those of `paths` that `commit`'s history changed, the one that was changed last first."""
    command = ["log", "-z", "--name-only", "--no-renames", "--format="]
    names = git.run([*command, commit, "--", *paths]).stdout.decode("utf-8", "replace").split("\0")
    wanted = set(paths)
    return list(dict.fromkeys(name for name in (name.strip("\n") for name in names) if name in wanted))
