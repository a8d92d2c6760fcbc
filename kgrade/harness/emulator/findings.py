"""What the checks of an emulated run say, with the lines of the source that they speak of."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from kgrade.harness.build.runner import Runner

Kind = Literal[
    "global-out-of-bounds", "shared-out-of-bounds", "misaligned", "shared-uninitialised", "global-uninitialised",
    "race", "divergent-barrier", "inactive-lane", "use-after-free", "hang",
]  # fmt: skip


class Other(msgspec.Struct, frozen=True):
    """The other thread of a race: what it did, and where."""

    did: str
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    file: str = ""
    line: int = 0


class Finding(msgspec.Struct, frozen=True):
    """One fault: kernel, block and thread that committed it, the access, and the line (0: in host code)."""

    kind: Kind
    what: str
    kernel: str
    file: str = ""
    line: int = 0
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    other: Other | None = None

    def sentence(self) -> str:
        """Say it in one line."""
        where = f"{self.file}:{self.line}" if self.line else "host code"
        who = f" block {self.block} thread {self.thread}" if self.thread else ""
        other = ""
        if self.other is not None:
            at = f"{self.other.file}:{self.other.line}"
            other = f"; the {self.other.did} is {at}, block {self.other.block} thread {self.other.thread}"
        return f"{where}: {self.kind} in {self.kernel or 'host code'}{who}: {self.what}{other}"


class Unreadable(Exception):
    """The text is not what the runtime writes: the kernel's process made it up, or broke the runtime's memory."""


def read_findings(text: str, library: Path, sources: Sequence[str], run: Runner) -> list[Finding]:
    """Return the findings in `text`, which `kgrade_emulator_findings` gave for `library`.

    `sources` are the relative paths of the solution: a line in one of them is preferred to one in the runtime's
    headers, whose functions are inlined there. `run` runs addr2line, which reads an object made from hostile source;
    without it, lines of memory accesses stay 0. Raises `Unreadable`.
    """
    try:
        raw = [json.loads(line) for line in text.splitlines()]
        parts = [part for entry in raw for part in (entry, entry.get("other", {}))]
        addresses = [part.pop("pc", 0) for part in parts]
        if not all(isinstance(address, int) and 0 <= address < 2**63 for address in addresses):
            raise Unreadable("an address that is none")
        lines = _lines_of([address for address in addresses if address], library, sources, run)
        for part, address in zip(parts, addresses, strict=True):
            if address in lines:
                part["file"], part["line"] = lines[address]
        return [msgspec.convert(entry, Finding) for entry in raw]
    except (ValueError, AttributeError, TypeError, msgspec.MsgspecError) as error:
        raise Unreadable(str(error)[:200]) from None


def told_findings(text: str) -> list[Finding]:
    """Return the findings in `text`, one JSON object a line, whose lines of source are known. Raises `Unreadable`."""
    try:
        return [msgspec.json.decode(line, type=Finding) for line in text.splitlines()]
    except (ValueError, msgspec.MsgspecError) as error:
        raise Unreadable(str(error)[:200]) from None


def _lines_of(
    addresses: Sequence[int], library: Path, sources: Sequence[str], run: Runner
) -> dict[int, tuple[str, int]]:
    tool = shutil.which("addr2line")
    if tool is None or not addresses:
        return {}
    command = [tool, "-a", "-i", "-e", str(library), *(hex(address) for address in dict.fromkeys(addresses))]
    said = run(command, readable=[library.parent], writable=[], limit_s=120).stdout.decode(errors="replace")
    found: dict[int, tuple[str, int]] = {}
    address = 0
    for row in said.splitlines():
        if row.startswith("0x"):
            address = int(row, 16)
            continue
        file, _, number = row.rpartition(":")
        line = int(number.split()[0]) if number.split() and number.split()[0].isdigit() else 0
        source = next((path for path in sources if file == path or file.endswith("/" + path)), None)
        if source is not None and line and address not in found:
            found[address] = (source, line)
    return found
