"""Objects that were compiled before, by what they were compiled from."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MOST = 200  # of some 100 KB to 1 MB each


def key_of(command: Sequence[str], folders: Sequence[Path]) -> str:
    """Return a name for what `command` makes of the files in `folders`, wherever these lie."""
    digest = hashlib.sha256(repr(tuple(command)).encode())
    for number, folder in enumerate(folders):
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{number} {path.relative_to(folder)} {content}\n".encode())
    return digest.hexdigest()[:40]


@dataclass(frozen=True)
class Objects:
    """The objects in `folder`, which nobody but this user may write; the oldest go when there are too many."""

    folder: Path

    def fetch(self, key: str, to: Path) -> str | None:
        """Copy the object called `key` to `to` and return the log of its compilation; None where there is none."""
        kept = self.folder / f"{key}.so"
        try:
            log = kept.with_suffix(".log").read_text("utf-8")
            shutil.copyfile(kept, to)
            os.utime(kept)
        except FileNotFoundError:
            return None
        return log

    def add(self, key: str, made: Path, log: str) -> None:
        """Keep `made`, which a compiler wrote that had read hostile source: it must be a file of its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = self.folder / f"{key}.so"
        with (
            open(os.open(made, os.O_RDONLY | os.O_NOFOLLOW), "rb") as source,
            tempfile.NamedTemporaryFile(dir=self.folder, prefix=key, delete=False) as passing,
        ):
            shutil.copyfileobj(source, passing)
        kept.with_suffix(".log").write_text(log, "utf-8")
        Path(passing.name).replace(kept)
        for old in sorted(self.folder.glob("*.so"), key=_last_used, reverse=True)[MOST:]:
            for path in (old, old.with_suffix(".log")):
                path.unlink(missing_ok=True)


def _last_used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process has just removed it
        return 0.0
