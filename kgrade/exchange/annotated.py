"""Annotation YAML: one file a run, written by hand, in every shape that such files drift into.

`canonical` is the one shape that is written. The keys of `ORDER` come first; every other key keeps its name and its
place after them, so nothing that a person wrote is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kgrade.exchange.brought import Arrivals, BroughtGrade, BroughtSubmission, Noted, Refused
from kgrade.exchange.fields import Fields, Misfit, name_of, place_of, read_yaml, time_of
from kgrade.exchange.hollow import hollow_files, hollow_task
from kgrade.exchange.notes import note_of
from kgrade.exchange.options import Options
from kgrade.records.rubric import Verdict
from kgrade.records.submission import Origin, Submission

SOURCE = "kernelbench-hard"
MARK = "# annotation, imported"
ORDER = (
    "run_id", "model", "harness", "effort", "problem", "gpu", "peak_fraction", "correct", "verdict", "summary",
    "evidence", "implication", "quotes", "notes", "auditor", "contamination",
)  # fmt: skip
VERDICTS: dict[str, Verdict] = {
    "clean": "accept", "interesting": "accept", "rubric_leak": "revise", "reward_hack": "reject", "bug": "reject",
    "suspect": "hold", "harness_limited": "hold", "retryable_infra_failure": "hold", "timeout_unverified": "hold",
    "accept": "accept", "revise": "revise", "reject": "reject", "hold": "hold", "invalid": "hold",
}  # fmt: skip
_PREFIXES: dict[str, Verdict] = {"contaminat": "reject", "fail": "reject"}
_WHEN = re.compile(r"(20\d{2})(\d{2})(\d{2})_(\d{2})(\d{2})(\d{2})")
_PROBLEM = re.compile(r"(?:^|_)(\d{2}_[a-z][a-z0-9_]*)$")


def seen(path: Path) -> bool:
    """Whether YAML files that annotate runs lie here."""
    return any(True for _ in _files(path))


def read(root: Path, options: Options) -> Arrivals:
    """Every annotation below `root`, each with the run that it is about."""
    for path in sorted(_candidates(root)):
        try:
            yield from annotation(read_yaml(path, root), place_of(path, root), path, options)
        except Misfit as why:
            yield Refused(place=why.place, why=why.why)


def annotation(value: Any, place: str, path: Path, options: Options) -> Arrivals:
    """One annotation: its verdict, and the run that it is about, in case that is not here."""
    fields = Fields(place, value)
    if not ({"run_id", "verdict", "status"} & set(fields.values)):
        raise Misfit(place, "it has neither run_id nor verdict, expected an annotation of a run")
    run = fields.text("run_id", None) or path.stem
    problem = fields.text("problem", None) or problem_of(run)
    said = fields.text("verdict", None) or fields.text("status", None)
    quotes = [_quote(fields, number, each) for number, each in enumerate(fields.list("quotes", []))]
    verdict = verdict_of(said)
    if said and verdict is None:
        what = f"the verdict {said!r} is not known here; it is kept, and the grade says hold"
        yield Noted(place=place, what=what)
        verdict = "hold"
    task, name, when = name_of(problem), name_of(run), _when(run, path)
    yield hollow_task(place, task, problem, options.rubric)
    record = Submission(
        author=fields.text("model", None) or "not told",
        created=when,
        origin=Origin(kind="annotation", ref=run),
        notes="; ".join(
            f"{key}: {fields.values[key]}" for key in ("harness", "effort", "gpu") if fields.values.get(key)
        ),
    )
    files = hollow_files("the files of this run", f"the annotation {place}")
    yield BroughtSubmission(place=place, task=task, name=name, record=record, files=files, hollow=True)
    whole = canonical({"run_id": run, "problem": problem, **fields.values, "verdict": said, "quotes": quotes})
    yield BroughtGrade(
        place=place,
        task=task,
        submission=name,
        evaluator=options.evaluator_of(SOURCE),
        verdict=verdict,
        feedback=_feedback(whole),
        note=note_of(MARK, whole),
        saved=when,
    )


def verdict_of(said: str | None) -> Verdict | None:
    """What a foreign verdict means here; None for one that is not known, or none."""
    word = (said or "").strip().lower()
    return VERDICTS.get(word) or next((mine for prefix, mine in _PREFIXES.items() if word.startswith(prefix)), None)


def canonical(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` in the one order that is written; empty lists and missing verdicts are left out."""
    kept = {name: values[name] for name in ORDER if name in values and values[name] not in ([], None)}
    null = {name: None for name in ("peak_fraction", "correct") if name in values and values[name] is None}
    ordered = {name: (kept | null)[name] for name in ORDER if name in kept or name in null}
    return ordered | {name: value for name, value in values.items() if name not in ORDER}


def _quote(fields: Fields, number: int, value: Any) -> dict[str, Any]:
    quote = Fields(fields.place, value, f"quotes[{number}]")
    lines = quote.list("lines", [])
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in lines) or len(lines) > 2:
        raise quote.misfit("lines", "the first and the last line")
    found = {
        "file": quote.text("file"),
        "lines": lines,
        "label": quote.text("label", ""),
        "text": quote.text("text", ""),
    }
    return found | {name: each for name, each in quote.values.items() if name not in found}


def _feedback(whole: Mapping[str, Any]) -> str:
    parts = [f"Verdict there: {whole.get('verdict') or 'none'}"]
    scores = [f"{name} {whole[name]}" for name in ("peak_fraction", "correct") if name in whole]
    parts += [", ".join(scores)] if scores else []
    parts += [str(whole[name]).strip() for name in ("summary", "reason") if whole.get(name)]
    for name in ("evidence", "implication", "notes", "contamination"):
        if whole.get(name):
            parts.append(f"## {name.title()}\n\n{str(whole[name]).strip()}")
    for quote in whole.get("quotes", ()):
        where = f"{quote['file']}:{'-'.join(map(str, quote['lines']))}".rstrip(":")
        text = "\n".join(f"    {line}" for line in quote["text"].rstrip("\n").split("\n"))
        parts.append(f"## {where} {quote['label']}".rstrip() + f"\n\n{text}")
    return "\n\n".join(parts) + "\n"


def problem_of(run: str) -> str:
    """The problem that a run id names at its end; the whole id where it names none."""
    found = _PROBLEM.search(run)
    return found[1] if found else run


def _when(run: str, path: Path) -> str:
    found = _WHEN.search(run)
    if found is None:
        return time_of(path)
    year, month, day, hour, minute, second = found.groups()
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}Z"


def _candidates(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    yield from (path for path in root.glob("*.y*ml") if path.suffix in (".yaml", ".yml") and path.name != "task.yml")
    below = root / "annotations"
    if below.is_dir():
        yield from (path for path in below.glob("*.y*ml") if path.suffix in (".yaml", ".yml"))


def _files(root: Path) -> Iterator[Path]:
    """Candidates in which an annotation's keys are seen, without reading the YAML: a broken one counts too."""
    for path in _candidates(root):
        if path.suffix in (".yaml", ".yml") and not path.is_symlink():
            with path.open("rb") as file:
                if re.search(rb"^(run_id|verdict):", file.read(1 << 16), re.MULTILINE):
                    yield path
