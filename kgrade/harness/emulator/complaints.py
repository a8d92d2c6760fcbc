"""What a compiler says against a translation, by the line of the submission that it comes of."""

from __future__ import annotations

import re
from collections.abc import Collection

MOST = 400  # characters
_SAID = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+)(?::\d+)?:\s+(?P<what>.*)$")


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
