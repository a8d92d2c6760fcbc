"""Reading what nvcc and `ptxas -v` print: resources of each kernel, and warnings."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"ptxas(?:-\w+)? info\s*: Compiling entry function '([^']+)' for '[^']+'")
_FUNCTION = re.compile(r"ptxas(?:-\w+)? info\s*: Function properties for (\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"ptxas(?:-\w+)? info\s*: Used (\d+) registers(.*)")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
_WARNING = re.compile(r"^(?:ptxas(?:-\w+)? )?.*\bwarning\s*(?:#[\w-]+)?\s*:\s*\S.*$", re.IGNORECASE)
_NOISE = ("Remark: The warnings can be suppressed",)
_MOST_WARNINGS = 50


@dataclass(frozen=True)
class Usage:
    """What ptxas reports for one kernel under its mangled name; sizes in bytes."""

    kernel: str
    registers: int
    spill_stores: int = 0
    spill_loads: int = 0
    stack: int = 0
    shared: int = 0


def read_usage(log: str) -> list[Usage]:
    """Return the kernels that `ptxas -v` lists in `log`, in its order; device functions beside them are left out."""
    found: list[Usage] = []
    entry: str | None = None
    frame = (0, 0, 0)
    in_entry = False
    for line in log.splitlines():
        if match := _ENTRY.match(line):
            entry, frame = match[1], (0, 0, 0)
        elif match := _FUNCTION.match(line):
            in_entry = match[1] == entry
        elif in_entry and (match := _STACK.search(line)):
            frame = (int(match[1]), int(match[2]), int(match[3]))
        elif entry and (match := _USED.match(line)):
            shared = _SHARED.search(match[2])
            stack, stores, loads = frame
            found.append(Usage(entry, int(match[1]), stores, loads, stack, int(shared[1]) if shared else 0))
            entry = None
    return found


def read_warnings(log: str) -> list[str]:
    """Return the distinct warnings of a compile log, each a line as the compiler printed it."""
    lines = (line.strip() for line in log.splitlines() if _WARNING.match(line) and not line.startswith((" ", "\t")))
    return list(dict.fromkeys(line for line in lines if not line.startswith(_NOISE)))[:_MOST_WARNINGS]
