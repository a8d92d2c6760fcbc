"""ComputeEval: problems in JSON Lines, each with a prompt, files and commands that build and test an answer.

What tests an answer there is a program of its own, which the harness does not run: answers are built, read and graded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kgrade.exchange.brought import Arrivals, BroughtSubmission, Noted, Refused
from kgrade.exchange.fields import Fields, Misfit, json_lines, name_of, time_of
from kgrade.exchange.hollow import unchecked_task
from kgrade.exchange.options import Options
from kgrade.records.submission import Origin, Submission

_KNOWN = (
    "type", "date", "metadata", "build_command", "test_command", "min_cuda_toolkit", "cuda_toolkit", "timeout_seconds",
    "compute_capability", "arch_list", "source_references", "requires_datacenter_gpu", "declaration", "cc_flags",
    "model", "baseline_solution", "context_files", "test_files", "test",
)  # fmt: skip


def seen(path: Path) -> bool:
    """Whether JSON Lines with problems lie here."""
    return any(re.search(rb'"task_id"\s*:', _begin(each)) is not None for each in _files(path))


def read(root: Path, options: Options) -> Arrivals:
    """Every problem and every answer below `root`."""
    for path in _files(root):
        for place, value in json_lines(path, root):
            try:
                if isinstance(value, Misfit):
                    raise value
                yield from _line(Fields(place, value), path, options)
            except Misfit as why:
                yield Refused(place=why.place, why=why.why)


def _line(fields: Fields, path: Path, options: Options) -> Arrivals:
    ident = fields.text("task_id")
    name = name_of(ident)
    if not fields.has("prompt") and (fields.has("solution") or fields.has("completion")):
        yield _answer(fields, ident, name, path)
    else:
        yield from _problem(fields, ident, name, options)
    for known in _KNOWN:
        fields.any(known, None)
    yield from fields.unknown()


def _problem(fields: Fields, ident: str, name: str, options: Options) -> Arrivals:
    said = f"what tests {ident} is a program of its own, which is kept and not run"
    task = unchecked_task(fields.place, name, ident, options.rubric, said)
    files = dict(task.files)
    for group in ("context_files", "test_files"):
        for number, each in enumerate(fields.list(group, [])):
            one = Fields(fields.place, each, f"{group}[{number}]")
            files[one.text("path")] = one.text("content").encode()
    if fields.has("test") and isinstance(fields.any("test"), str):
        files["test.cu"] = fields.text("test").encode()
    commands = [f"{key}: `{fields.text(key)}`" for key in ("build_command", "test_command") if fields.has(key)]
    asked = "\n\n".join([f"# {ident}", fields.text("prompt"), fields.text("declaration", "") or "", *commands])
    record = msgspec.structs.replace(task.record, language="cuda", interface="cuda", entry="answer")
    yield msgspec.structs.replace(task, record=record, prompt=asked.rstrip() + "\n", files=files)
    yield Noted(
        place=fields.place,
        what="its test program is kept and not run: answers are built, read and graded, and not checked",
    )


def _answer(fields: Fields, ident: str, name: str, path: Path) -> BroughtSubmission:
    if fields.has("solution") and not isinstance(fields.any("solution"), str):
        told = fields.mapping("solution").list("files")
        each = [Fields(fields.place, one, f"solution.files[{number}]") for number, one in enumerate(told)]
        files = {one.text("path"): one.text("content").encode() for one in each}
    else:
        files = {"solution.cu": fields.text("solution" if fields.has("solution") else "completion").encode()}
    author = fields.text("model", None) or path.stem
    origin = Origin(kind="computeval", ref=f"{fields.place} {ident}")
    record = Submission(author=author, created=time_of(path), origin=origin)
    ordinal = fields.place.rpartition(":")[2]
    return BroughtSubmission(
        place=fields.place, task=name, name=name_of(path.stem, ordinal), record=record, files=files
    )


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield from [root] if root.suffix == ".jsonl" else []
    else:
        yield from sorted({*root.glob("*.jsonl"), *root.glob("data/*.jsonl")})


def _begin(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(1 << 16)
