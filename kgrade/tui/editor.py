"""$EDITOR, for long texts and for looking at a place: the terminal is handed over and taken back."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path, PurePosixPath

from textual.app import App, SuspendNotSupported


class EditorError(Exception):
    """The editor could not be used, in one sentence."""


def edited(app: App[int], text: str, *, suffix: str = ".md") -> str:
    """`text` as the person leaves it in their editor; raise EditorError if the editor fails."""
    with tempfile.TemporaryDirectory(prefix="kgrade-") as folder:
        path = Path(folder) / f"text{suffix}"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        _run(app, [str(path)])
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")


def looked_at(app: App[int], data: bytes, name: str, line: int) -> None:
    """Open a copy of a file at `line`; changes to it are lost, and it is not writable."""
    with tempfile.TemporaryDirectory(prefix="kgrade-") as folder:
        path = Path(folder) / (PurePosixPath(name).name or "file")
        try:
            path.write_bytes(data)
        except (OSError, ValueError) as why:
            # A tree can hold names that no folder on this machine can.
            raise EditorError(f"no copy could be made to look at: {why}") from None
        path.chmod(0o400)
        _run(app, [f"+{line}", str(path)])


def _run(app: App[int], arguments: list[str]) -> None:
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    try:
        with app.suspend():
            status = subprocess.run([*command, *arguments], check=False).returncode
    except SuspendNotSupported:
        raise EditorError("this terminal cannot be handed to an editor") from None
    except OSError as why:
        raise EditorError(f"{command[0]} could not be started: {why.strerror}; set EDITOR") from None
    if status:
        raise EditorError(f"{command[0]} ended with status {status}; the text is as it was")
