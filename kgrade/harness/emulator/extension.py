"""A program that makes one extension of PyTorch, behind the wall: `python -m kgrade.harness.emulator.extension`.

It reads a request as JSON from standard input and answers with one object on standard output: `library` is the path of
what was made, or None and `why` says why, beside the compiler's `log`; `cannot` names a construct that CPU emulation
does not run.
A request with `findings`, which the checks of a `library` gave, is answered with the same `findings` and their lines.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from kgrade.harness.emulator.compiler import Compiler
from kgrade.harness.emulator.complaints import why_not
from kgrade.harness.emulator.constructs import CannotRun
from kgrade.harness.emulator.findings import Unreadable, read_findings
from kgrade.harness.emulator.torch_headers import TorchHeaders
from kgrade.harness.emulator.translation import translate

LOG_CHARACTERS = 20000


@dataclass(frozen=True)
class Ended:
    """A command that ran to its end."""

    returncode: int
    stdout: bytes
    stderr: bytes
    seconds: float
    stopped_by: str | None = None


def run(command: Sequence[str], *, readable: Sequence[Path], writable: Sequence[Path], limit_s: float) -> Ended:
    """Run `command` as it is: this process is behind the wall itself, and its limits hold for all that it starts."""
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, check=False)
    return Ended(done.returncode, done.stdout, done.stderr, time.monotonic() - begin)


def make(request: Mapping[str, Any]) -> dict[str, Any]:
    """Make the extension `name` of `sources`, a mapping of paths to texts, in the folder `out`.

    `places` says for some of the paths in which file, and on which line of it, the text begins: complaints and lines
    of faults name that place. `checks` compiles what sees faults of memory.
    """
    sources = {path: text.encode() for path, text in request["sources"].items()}
    places: dict[str, list[Any]] = request["places"]
    out = Path(request["out"])
    folder = out / "source"
    try:
        translated = translate(sources, split=not request["checks"], torch=True)
    except CannotRun as error:
        file, first = places.get(error.path, [error.path, 1])
        return {"library": None, "log": "", "cannot": f"{error.construct} ({file}:{error.line + first - 1})"}
    for path, text in translated.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(_placed(text, path, *places.get(path, [path, 1])))
    told = request["compiler"]
    compiler = Compiler(
        Path(told["executable"]), Path(told["cache"]), run, torch=TorchHeaders.told(told["torch"]), keeps=out / "kept"
    )
    made = compiler.compile(
        folder,
        out,
        request["checks"],
        arch=request["arch"],
        includes=[Path(path) for path in request["includes"]],
        defines=[f"TORCH_EXTENSION_NAME={request['name']}", *request["defines"]],
    )
    if made.shared is None:
        named = [places.get(path, [path])[0] for path in sources]
        return {"library": None, "log": made.log[-LOG_CHARACTERS:], "cannot": None, "why": why_not(made.log, named)}
    return {"library": str(made.shared), "log": made.log[-LOG_CHARACTERS:], "cannot": None}


def read(request: Mapping[str, Any]) -> dict[str, Any]:
    """Look up the lines in `sources`, the names that `make` gave to them, of which `findings` speaks."""
    try:
        found = read_findings(request["findings"], Path(request["library"]), request["sources"], run)
    except Unreadable as error:
        return {"findings": "", "unreadable": str(error)}
    lines = [msgspec.json.encode(each).decode() for each in found]
    return {"findings": "\n".join(lines), "unreadable": None}


def _placed(text: bytes, path: str, file: str, first: int) -> bytes:
    return text.replace(b'#line 1 "%b"' % path.encode(), b'#line %d "%b"' % (first, file.encode()), 1)


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(read(asked) if "findings" in asked else make(asked), sys.stdout)
