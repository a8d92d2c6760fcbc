"""What two collections of the same bytes must agree in."""

from __future__ import annotations

from typing import Any

import msgspec

TIMES = {"collected", "seconds"}
# The tests of the integrity stage go on for as long as there is time for them, and say how far they came; a finding
# quotes the test that settles it.
TIMED = {"tests": ("status", "said"), "findings": ("result",)}


def comparable(evidence: bytes) -> Any:
    """The evidence as plain data, without times and what hangs on them; seeds must have been the same."""
    found = msgspec.json.decode(evidence)
    for part, names in TIMED.items():
        for each in found["stages"].get("integrity", {}).get(part, []):
            each.update(dict.fromkeys(names))
    return _without_times(found)


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: None if name in TIMES else _without_times(each) for name, each in value.items()}
    return [_without_times(each) for each in value] if isinstance(value, list) else value
