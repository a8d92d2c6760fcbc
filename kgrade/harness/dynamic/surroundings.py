"""What the submission did to its surroundings: names, switches, files, processes, code made at run time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kgrade.harness.dynamic.session import NotRun, Outcome, Session, Sighting
from kgrade.harness.run import ItemSource
from kgrade.records.evidence import Severity

CLOCKS = ("time.", "torch.cuda.synchronize", "torch.cuda.Event", "torch.cuda.Stream", "triton.testing.do_bench",
          "jax.block_until_ready")  # fmt: skip
COMPARISONS = {"allclose", "isclose", "equal", "array_equal", "assert_close", "assert_allclose", "assert_equal",
               "isnan", "isinf", "isfinite", "eq", "ne", "__eq__", "__ne__", "max", "abs"}  # fmt: skip
COMPUTES = ("torch.", "jax.", "numpy.", "triton.")
SWITCHES = ("torch.", "jax.config.")
QUIET = ("torch.backends.cudnn.benchmark", "torch.get_num_threads", "jax.config.jax_compilation_cache")
COMPILERS = ("nvcc", "gcc", "g++", "c++", "cc ", "clang", "ninja", "ptxas", "ldconfig", "hipcc")
OPENLY = ("E1", "R5", "T6", "T9")
SAID = {
    "E1": "code made at run time was executed",
    "E2": "a process or a connection was started",
    "E3": "a file was written, renamed or removed",
    "R5": "the objects of the process were searched",
    "S13": "an environment variable was set",
    "T2": "the process was forked",
    "T6": "frames, traces or code objects were reached into",
    "T9": "a signal was sent",
    "T10": "native code was loaded or memory read by address",
}


def replaced_names(session: Session, place: Callable[[str], str]) -> Outcome:
    """Compare the callables of watched modules with what they were before the submission was imported."""
    found = []
    for entry in _entries(session, "replaced"):
        name, file, line = _text(entry, "name"), place(_text(entry, "file")), _line(entry)
        if _text(entry, "file") and not file:
            continue  # a library that arranges itself when it is first used
        found.append(Sighting(_rule_of(name), "tell", f"{name} is not what it was before the import", file, line))
    quiet = "clocks, comparisons, framework functions and the harness are the objects that they were"
    return Outcome("; ".join(each.said for each in found) or quiet, tuple(found))


def moved_switches(session: Session, place: Callable[[str], str]) -> Outcome:
    """Compare the process's switches with what they were before the submission was imported."""
    found = []
    for entry in _entries(session, "moved"):
        name = _text(entry, "name")
        said = f"{name} went from {_text(entry, 'before')} to {_text(entry, 'after')}"
        rule, severity = ("T6", "suspect") if name in ("sys.gettrace", "sys.getprofile") else ("S13", "note")
        if name.startswith(SWITCHES) and not name.startswith(QUIET):
            severity = "suspect"
        found.append(Sighting(rule, severity, said))  # type: ignore[arg-type]
    quiet = "dtype, seed, precision, backend flags, environment and tracing stand as they stood"
    return Outcome("; ".join(each.said for each in found) or quiet, tuple(found))


def what_ran(session: Session, place: Callable[[str], str], source: ItemSource) -> Outcome:
    """Read what Python's audit hooks heard from the submission's own lines."""
    found = []
    names = {path.rpartition("/")[2] for path in source.task_files} | {"task.yaml"}
    for entry in _entries(session, "events"):
        rule, event, detail = _text(entry, "rule"), _text(entry, "event"), _text(entry, "detail")
        file, line = place(_text(entry, "file")), _line(entry)
        hidden = not _named(event, _source_line(source, file, line))
        said = f"{SAID.get(rule, 'an event was heard')} ({event}: {detail})"
        said += ", on a line that does not say so" if hidden else ""
        found.append(Sighting(rule, _weight(rule, detail, names, hidden), said, file, line))
    quiet = "no code made at run time, no process, no connection, no file written, no frame or heap searched"
    return Outcome("; ".join(each.said for each in found) or quiet, tuple(found))


def _weight(rule: str, detail: str, names: set[str], hidden: bool) -> Severity:
    """What a line says openly was judged when it was read; here it is a note, unless the deed is a sign by itself."""
    if rule == "E3":
        return "tell" if any(name in detail for name in names) else "note"
    if rule == "E2":
        return "note" if any(name in detail for name in COMPILERS) else "suspect"
    return "suspect" if hidden and rule in OPENLY else "note"


def _named(event: str, text: str) -> bool:
    return any(word in text for word in {"exec": ("exec", "eval")}.get(event, (event.rpartition(".")[2],)))


def _source_line(source: ItemSource, file: str, line: int) -> str:
    text = (source.solution or {}).get(file.removeprefix("solution/"), b"").decode("utf-8", "replace")
    lines = text.splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""


def files_changed(before: Mapping[str, str], after: Mapping[str, str]) -> Outcome:
    """Compare the hashes of every file of the task and the submission."""
    found = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    sightings = tuple(Sighting("E3", "tell", f"{path} is not what it was before the run") for path in found)
    return Outcome(
        "; ".join(each.said for each in sightings) or f"all {len(before)} files are what they were", sightings
    )


def hashes(folder: Path) -> dict[str, str]:
    """The sha256 of every file below `folder`, by path relative to it; links are not followed."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _rule_of(name: str) -> str:
    last = name.rpartition(".")[2]
    if name.startswith("the harness: "):
        return "T6"
    if name.startswith(CLOCKS):
        return "T5"
    if last in COMPARISONS:
        return "T7"
    return "U1" if name.startswith(COMPUTES) else "T6"


def _entries(session: Session, key: str) -> Iterator[dict[str, Any]]:
    said = session.left().get(key)
    if not isinstance(said, list):
        raise NotRun("the worker did not say")
    return (entry for entry in said if isinstance(entry, dict))


def _text(entry: dict[str, Any], key: str) -> str:
    return str(entry.get(key, "")).encode("utf-8", "replace").decode()[:200]


def _line(entry: dict[str, Any]) -> int:
    line = entry.get("line")
    return line if isinstance(line, int) and 0 < line < 1 << 24 else 0
