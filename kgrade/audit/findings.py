"""What verification finds: each thing with its place, one sentence, and the git command that shows it."""

from __future__ import annotations

from typing import Literal

import msgspec

from kgrade.repository.runner import Git

Kind = Literal[
    "seal", "removed", "rewritten", "rolled-back", "bad-signature", "mis-signed", "unsigned", "revoked-key",
    "edited-by-another", "not-a-lead", "settings", "back-dated", "late", "unsealed", "shallow",
    "unreadable", "misplaced", "wrong-total", "unknown-rubric", "bytes-missing",
]  # fmt: skip
NOTES: frozenset[Kind] = frozenset({"late", "unsealed", "shallow"})

SHALLOW = "this clone is shallow: what lies before its edge cannot be seen; git fetch --unshallow brings it"


def is_shallow(git: Git) -> bool:
    """Whether this clone's history was cut off when it was made."""
    return git.run(["rev-parse", "--is-shallow-repository"]).text == "true"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An alarm is what an honest history does not hold; all else is a note that a lead should know."""

    kind: Kind
    where: str
    sentence: str
    command: str
    alarm: bool


def finding(kind: Kind, where: str, sentence: str, command: str) -> Finding:
    """Return the finding, an alarm unless its kind is a note's."""
    return Finding(kind=kind, where=where, sentence=sentence, command=command, alarm=kind not in NOTES)
