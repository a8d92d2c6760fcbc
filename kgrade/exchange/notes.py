"""What an imported grade keeps, in its private note, of the words that it came with: a mark, and YAML below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgrade.records import yaml_text
from kgrade.records.faults import BadRecord
from kgrade.records.grade import Grade


def note_of(mark: str, values: Mapping[str, Any]) -> str:
    """Return the private note that holds `values` under `mark`."""
    return f"{mark}\n{yaml_text.write(dict(values)).decode()}"


def imported_note(grade: Grade, mark: str) -> dict[str, Any] | None:
    """Return what `grade` holds under `mark`; None where it holds none, or a person has written over it."""
    first, _, text = grade.private_note.partition("\n")
    if first != mark:
        return None
    try:
        held = yaml_text.read(text.encode(), grade.item)[0]
    except BadRecord:
        return None
    return held if isinstance(held, dict) else None
