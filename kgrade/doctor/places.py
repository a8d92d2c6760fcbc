"""Where kgrade keeps what is not in git: drafts and settings must be writable, and there must be room."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kgrade.doctor.line import Line

LEAST_ROOM_MB = 200


def examine() -> Iterator[Line]:
    """Yield whether drafts can be kept and scratch files made."""
    yield _writable("drafts", _state_folder(), "set XDG_STATE_HOME to a folder that you may write to", needed=True)
    yield _writable("scratch space", Path(tempfile.gettempdir()), "set TMPDIR to a folder with room", needed=True)


def _state_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME", "")
    return Path(home if home.startswith("/") else Path.home() / ".local" / "state") / "kgrade"


def _writable(subject: str, folder: Path, advice: str, *, needed: bool) -> Line:
    """Try it in the nearest folder that exists: asking permission bits would miss quotas and read-only mounts."""
    nearest = next(place for place in (folder, *folder.parents) if place.is_dir())
    try:
        with tempfile.TemporaryFile(dir=nearest) as trial:
            trial.write(b"kgrade")
            trial.flush()
        room = shutil.disk_usage(nearest).free >> 20
    except OSError as why:
        found = f"{nearest} cannot be written: {why.strerror}"
        return Line(subject=subject, status="problem", found=found, advice=advice, needed=needed)
    if room < LEAST_ROOM_MB:
        found = f"{folder} has {room} MB left"
        return Line(subject=subject, status="problem", found=found, advice=advice, needed=needed)
    return Line(subject=subject, status="ok", found=str(folder), needed=needed)
