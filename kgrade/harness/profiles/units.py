"""Numbers and units as profilers print them, and what they are in bytes, microseconds, counts and per cent."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_SECONDS = {"n": 1e-3, "u": 1.0, "µ": 1.0, "m": 1e3, "": 1e6}
# Case counts: an M is not an m, a B is not a b.
_TIME = re.compile(r"([nuµm]?)(?:s|sec|second|seconds)")
_BYTES = re.compile(r"(Ki|Mi|Gi|Ti|[KkMGT]?)(?:B|byte|bytes)")
_COUNT = re.compile(r"([KkMGT]?)(?:inst|instruction|block|warp|register|register/thread|thread|)")


class BadProfile(Exception):
    """A file that cannot be read as a profile; the sentence says what, where, and what was expected."""


def number(text: str) -> float | None:
    """Return the number that `text` holds, thousands marks left out; None for `n/a` and all that is no number."""
    if text.isdecimal() and text.isascii() and len(text) < 300:
        return float(text)
    whole, point, part = text.partition(".")
    if point and whole.isdecimal() and part.isdecimal() and text.isascii() and len(text) < 300:
        return float(text)
    text = text.strip()
    if not text or not _NUMBER.fullmatch(text) or not any(character.isdigit() for character in text):
        return None
    value = float(text.replace(",", ""))
    return value if math.isfinite(value) else None


def microseconds(value: float, unit: str) -> float | None:
    """Convert a time; None where `unit` is not one of time, or the time is negative."""
    found = _TIME.fullmatch(unit.strip())
    return value * _SECONDS[found[1]] if found and value >= 0 else None


def in_bytes(value: float, unit: str) -> float | None:
    """Convert a size; profilers' K, M and G are powers of ten, Ki, Mi and Gi powers of two.

    A size per block counts as that size. None where `unit` is not one of size, or the size is negative.
    """
    found = _BYTES.fullmatch(unit.strip().removesuffix("/block"))
    if found is None or value < 0:
        return None
    return value * (_BINARY.get(found[1]) or _PREFIXES[found[1]])


def counted(value: float, unit: str) -> float | None:
    """Return a count of instructions, blocks, warps or registers; None where `unit` is another one."""
    found = _COUNT.fullmatch(unit.strip())
    return value * _PREFIXES[found[1]] if found and value >= 0 else None


def per_cent(value: float, unit: str) -> float | None:
    """Return a percentage; None where `unit` is another one."""
    return value if unit.strip() in ("%", "percent") else None


def whole(value: float) -> int | None:
    """Return a count; None for a number that is none."""
    return int(value) if value == int(value) and 0 <= value < 2**63 else None


def dim(text: str) -> tuple[int, int, int] | None:
    """Read `(32, 4, 1)`; None for anything else."""
    found = re.fullmatch(r"\(?\s*(\d{1,10})\s*[,x]\s*(\d{1,10})\s*[,x]\s*(\d{1,10})\s*\)?", text.strip(), re.ASCII)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None
