"""What a compiler says against a translation, by the line of the submission that it comes of."""

from __future__ import annotations

import re
from collections.abc import Collection

MOST = 400  # characters
_MISSING = re.compile(
    r"(?P<place>[^\s:][^:]*:\d+): [‘'](?P<name>[\w:]+)[’'] (?:was not declared in this scope|has not been declared"
    r"|is not a member of [‘'](?P<of>[\w:]+)[’']|in namespace [‘'](?P<space>[\w:]+)[’'] does not name"
    r"|does not name a type)"
)
_SAID = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+)(?::\d+)?:\s+(?P<what>.*)$")


def why_not(log: str, sources: Collection[str], root: str = "") -> str:
    """Say why a translation that nvcc may take does not compile: the name that is missing here, or the first error.

    `root` stands before the path of a source.
    """
    said = complaint(log, sources)
    missing = _MISSING.match(said)
    if missing is None:
        return f"its translation does not compile for CPU emulation: {said}"
    scope = missing["of"] or missing["space"]
    name = f"{scope}::{missing['name']}" if scope and scope != missing["name"] else missing["name"]
    return f"CPU emulation does not run {name} ({root}{missing['place']})"


def complaint(log: str, sources: Collection[str]) -> str:
    """Return the first error in `log`; where it lies in the runtime, with the line in `sources` that led to it.

    `sources` are the submission's own files as `log` names them, or as the end of a path there.
    """
    led: str | None = None
    lines = [line.strip() for line in log.splitlines()]
    for text in lines:
        said = _SAID.match(text)
        if said is None:
            led = None if ": In instantiation of" in text else led
            continue
        own = any(said["file"] == each or said["file"].endswith(f"/{each}") for each in sources)
        if own and said["what"].startswith("required from"):
            led = f"{said['file']}:{said['line']}"
        error = re.match(r"(?:fatal )?error: (.*)", said["what"])
        if error is not None:
            place = f"{said['file']}:{said['line']}" if own or led is None else led
            return f"{place}: {error[1]}"[:MOST]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no message")[:MOST]
