"""From the files of a submission to findings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from kgrade.harness.integrity import cuda, python, similarity
from kgrade.harness.integrity.asked import Asked, of_task
from kgrade.harness.integrity.findings import GRAVITY, of_rule, ordered
from kgrade.harness.integrity.model import Fact, Model
from kgrade.harness.integrity.rules import RULES
from kgrade.harness.integrity.signs import View
from kgrade.harness.integrity.values import Walk
from kgrade.records.evidence import Finding
from kgrade.records.task import Task

Word = Literal["clean", "notes", "suspect", "tell"]
_NATIVE_CALLS = ("ctypes.CDLL().", "ctypes.PyDLL().", "ctypes.cdll.", "torch.ops.")
_NEWLINE = re.compile(r"\r\n|\r|\n")


def analyse(
    files: Mapping[str, bytes],
    task: Task | None = None,
    reference: Mapping[str, bytes] | None = None,
    alike: Mapping[str, float] | None = None,
) -> list[Finding]:
    """Return the findings on `files`, by path, gravest first; paths stand in findings as they are given.

    `reference` holds the task's own files by path relative to the task's folder: the reference, and what it handed out
    under `start/`. `alike` says, by item id, what share of the files stands in another submission. Nothing is run. The
    cost grows with the length of the files, up to a bound beyond which a finding says what could not be followed.
    """
    given = dict(reference or {})
    asked = of_task(task, given)
    model = read(files, asked)
    _compare(model, files, given, alike or {})
    return _findings(View(model, asked), files)


def overall(findings: list[Finding]) -> Word:
    """One word for all of `findings`: that of the gravest."""
    severities = {finding.severity for finding in findings}
    if "tell" in severities:
        return "tell"
    return "suspect" if "suspect" in severities else "notes" if severities else "clean"


def read(files: Mapping[str, bytes], asked: Asked) -> Model:
    """Return the model of the submission that `files` are."""
    model = Model(sources={path: _NEWLINE.split(data.decode("utf-8", "replace")) for path, data in files.items()})
    walk = python.read(files, asked.call, model)
    called = {
        fact.name.partition("|")[2]
        for fact in walk.facts.values()
        if fact.kind == "launch" and fact.live and fact.name.startswith("ext:")
    }
    called |= {
        fact.name.rpartition(".")[2]
        for fact in walk.facts.values()
        if fact.kind == "call" and fact.live and fact.name.startswith(_NATIVE_CALLS)
    }
    _read_text(walk, model, called, asked)
    scripts = bool(walk.trees)
    for path, data in sorted(files.items()):
        if path.endswith(cuda.SUFFIXES):
            native = [asked.call.entry] if asked.call.entry and not scripts else None
            entries = (called if walk.extensions else None) if scripts else native
            cuda.read(path, data, model, entries, ask=asked.call, native=not scripts)
            model.has_entry = True
    return model


def _read_text(walk: Walk, model: Model, called: set[str], asked: Asked) -> None:
    """Read the native code that Python files hold as text."""
    texts = {text: (path, line) for path, line, text in walk.strings}
    for key, held in walk.extensions.items():
        path = key.rsplit(":", 2)[0]
        for text in held:
            if "{" in text and text not in texts:
                texts[text] = (path, _line_of(model, path, text, int(key.rsplit(":", 2)[1])))
    for text, (path, line) in texts.items():
        known = set(model.kernels)
        has_host = cuda.read(path, text.encode("utf-8", "replace"), model, called, line, asked.call)
        if called and not has_host:
            model.facts += [
                Fact("launch", name, path, kernel.line, live=True)
                for name, kernel in model.kernels.items()
                if name not in known
            ]


def _line_of(model: Model, path: str, text: str, otherwise: int) -> int:
    first = next((line.strip() for line in text.split("\n") if line.strip()), "")
    for number, line in enumerate(model.sources.get(path, []), start=1):
        if first and first in line:
            return number - next(at for at, each in enumerate(text.split("\n")) if each.strip())
    return otherwise


def _compare(
    model: Model, files: Mapping[str, bytes], reference: Mapping[str, bytes], alike: Mapping[str, float]
) -> None:
    """Note what the submission shares with the reference and with other submissions."""
    readable = {path: data for path, data in files.items() if path.endswith((".py", *cuda.SUFFIXES))}
    if not readable:
        return
    answer = similarity.of_files({path: data for path, data in reference.items() if not path.startswith("start/")})
    shared = {"reference": similarity.contained(similarity.of_files(readable), answer), **alike}
    model.facts += [Fact("alike", name, min(readable), 1, detail=f"{share:.3f}") for name, share in shared.items()]


def _findings(view: View, files: Mapping[str, bytes]) -> list[Finding]:
    found: dict[str, Finding] = {}
    for rule in RULES:
        for sign in rule.signs(view):
            path = sign.path or min(files, default="")
            snippet = view.model.snippet(path, sign.line)
            one = of_rule(rule, sign.severity, path, sign.line, snippet, sign.said)
            known = found.get(one.key)
            if known is None or GRAVITY[one.severity] < GRAVITY[known.severity]:
                found[one.key] = one
    return ordered(found.values())
