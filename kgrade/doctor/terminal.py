"""The terminal: what it can show, how large it is, and what tmux does to the Escape key."""

from __future__ import annotations

import locale
import os
import re
import shutil
import sys
from collections.abc import Iterator

from kgrade.doctor.ask import ask
from kgrade.doctor.line import Line

SMALLEST = (80, 24)
LONGEST_ESCAPE_MS = 50


def examine() -> Iterator[Line]:
    """Yield what the app will find on the screen that this process writes to."""
    yield _kind()
    yield _size()
    yield _encoding()
    if "TMUX" in os.environ:
        yield from _tmux()


def _kind() -> Line:
    term = os.environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        return Line(
            subject="terminal",
            status="problem",
            found=f"TERM is {term or 'not set'}",
            advice="start kgrade in a terminal (over SSH: ssh -t), or export TERM=xterm-256color",
        )
    if not sys.stdout.isatty():
        return Line(subject="terminal", status="ok", found=f"{term}, output redirected")
    return Line(subject="terminal", status="ok", found=f"{term}, {_colours(term)}")


def _colours(term: str) -> str:
    if "NO_COLOR" in os.environ:
        return "no colours (NO_COLOR is set)"
    if os.environ.get("COLORTERM", "") in ("truecolor", "24bit") or term.endswith("-direct"):
        return "16 million colours"
    return "256 colours" if "256color" in term else "16 colours"


def _size() -> Line:
    size = shutil.get_terminal_size()
    found = f"{size.columns}x{size.lines}"
    if size < SMALLEST:
        return Line(
            subject="terminal size",
            status="problem",
            found=found,
            advice=f"enlarge the window to {SMALLEST[0]}x{SMALLEST[1]}; smaller ones work, with less on screen",
        )
    return Line(subject="terminal size", status="ok", found=found)


def _encoding() -> Line:
    encoding = locale.getpreferredencoding(do_setlocale=False)
    if encoding.replace("-", "").lower() == "utf8":
        return Line(subject="encoding", status="ok", found="UTF-8")
    return Line(subject="encoding", status="problem", found=encoding, advice="export LANG=C.UTF-8")


def _tmux() -> Iterator[Line]:
    version = ask(["tmux", "-V"], seconds=5)
    said = ask(["tmux", "show-options", "-sv", "escape-time"], seconds=5)
    if not said.ok:
        yield Line(
            subject="tmux",
            status="problem",
            found=f"TMUX is set and tmux does not answer: {said.why}",
            advice="start kgrade from a shell inside tmux itself",
        )
        return
    delay = int(said.out) if re.fullmatch(r"\d+\n?", said.out) else 500
    found = f"{version.out.strip()}, escape-time {delay} ms"
    if delay > LONGEST_ESCAPE_MS:
        yield Line(
            subject="tmux",
            status="problem",
            found=found,
            advice="put `set -s escape-time 20` into ~/.tmux.conf, else Esc takes that long",
        )
        return
    yield Line(subject="tmux", status="ok", found=found)
