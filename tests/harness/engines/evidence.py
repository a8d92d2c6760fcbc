"""What two collections of the same bytes must agree in."""

from __future__ import annotations

from typing import Any

import msgspec

# What is drawn anew at each run (the secret seeds, and with them inputs, errors and where they are), and what is
# measured: everything else is the same wherever an item was collected.
VARYING = {
    "collected", "seed", "seconds", "first_call_s", "figures", "framework", "worst", "first", "magnitude",
    "samples", "import_seconds", "peak_bytes",
}  # fmt: skip


def comparable(evidence: bytes) -> Any:
    """The evidence as plain data, each value that varies from run to run replaced by its kind."""
    return _blanked(msgspec.json.decode(evidence))


def _blanked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: type(each).__name__ if key in VARYING else _blanked(each) for key, each in value.items()}
    return [_blanked(each) for each in value] if isinstance(value, list) else value
