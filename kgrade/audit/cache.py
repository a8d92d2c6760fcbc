"""What statistics need of each version of a grade, kept by its blob: a grade that was read once is not parsed again.

Under the git folder, and only a cache: it may be deleted at any time, and what cannot be written is done without.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from kgrade.audit.ratings import Graded

VERSION = 1
WAIT_S = 5.0
_DECODER = msgspec.msgpack.Decoder(Graded | str)


class GradeCache:
    """Grades by blob, and the sentence of each blob that is no grade."""

    def __init__(self, path: Path) -> None:
        self._base = _opened(path)

    def known(self, blobs: Collection[str]) -> dict[str, Graded | str]:
        """Return those of `blobs` that are here."""
        wanted = set(blobs)
        decode = _DECODER.decode
        try:
            rows = self._base.execute("SELECT blob, said FROM grades")
            return {blob: decode(said) for blob, said in rows if blob in wanted}
        except (sqlite3.DatabaseError, msgspec.DecodeError):
            return {}

    def keep(self, found: Mapping[str, Graded | str]) -> None:
        """Add what was read."""
        rows = [(blob, msgspec.msgpack.encode(said)) for blob, said in found.items()]
        with contextlib.suppress(sqlite3.DatabaseError), self._base:
            self._base.executemany("REPLACE INTO grades VALUES (?, ?)", rows)

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()


def _opened(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        base = sqlite3.connect(path, timeout=WAIT_S)
        if base.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            base.close()
            path.unlink()
            base = sqlite3.connect(path, timeout=WAIT_S)
        return _with_table(base)
    except (OSError, sqlite3.DatabaseError):
        return _with_table(sqlite3.connect(":memory:"))


def _with_table(base: sqlite3.Connection) -> sqlite3.Connection:
    with base:
        base.execute("CREATE TABLE IF NOT EXISTS grades (blob TEXT PRIMARY KEY, said BLOB NOT NULL) WITHOUT ROWID")
        base.execute(f"PRAGMA user_version = {VERSION}")
    return base
