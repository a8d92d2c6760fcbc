"""One fault of one file, told so that a person can mend it: what, where, what was expected, what to do."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A fault inside a record, before the file is known. `where` is a key path such as `cases[0].dtype`."""

    where: str
    found: str
    expected: str
    advice: str = ""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of the file `path`; `line` counts from 1 where it is known."""

    path: str
    where: str = ""
    line: int | None = None
    found: str
    expected: str
    advice: str = ""

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        place = f"{place}: {self.where}" if self.where else place
        sentence = f"{place}: found {self.found}, expected {self.expected}"
        return f"{sentence}; {self.advice}" if self.advice else sentence


class BadRecord(Exception):
    """A file that cannot be read as its record. `faults` holds every fault, in the order of the file."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults
