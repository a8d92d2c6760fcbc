"""KernelBench-Hard style folders: problems with `reference.py`, runs with `solution.py` and `result.json`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kgrade.exchange import annotated
from kgrade.exchange.brought import Arrivals, BroughtResult, BroughtSubmission, BroughtTask
from kgrade.exchange.fields import (
    Fields,
    Misfit,
    name_of,
    place_of,
    read_json,
    read_text,
    read_yaml,
    refusing,
    time_of,
)  # fmt: skip
from kgrade.exchange.hollow import hollow_task
from kgrade.exchange.modules import language_of, module_task
from kgrade.exchange.options import Options
from kgrade.records.evidence import Build, Check, Timing
from kgrade.records.submission import Origin, Submission

SOURCE = "kernelbench-hard"
METHOD = "imported: the run's own check and benchmark, from result.json; not run here"
LOGS = ("check.log", "benchmark.log")


def seen(path: Path) -> bool:
    """Whether run folders, or problems with a problem.yaml, lie here."""
    return path.is_dir() and (any(True for _ in _runs(path)) or any(True for _ in _problems(path)))


def read(root: Path, options: Options) -> Arrivals:
    """Every problem, run and annotation below `root`."""
    runs = sorted(_runs(root))
    answers = {_problem_of(path.parent): path.parent / "solution.py" for path in runs}
    known = {path.parent.name for path in _problems(root)}
    for path in sorted(_problems(root)):
        yield from refusing(_problem(root, path.parent, answers.get(path.parent.name), options))
    for path in runs:
        yield from refusing(_run(root, path, known, options))
    yield from annotated.read(root, options)


def _problem(root: Path, folder: Path, answer: Path | None, options: Options) -> Arrivals:
    files = {path.name: read_text(path, root) for path in sorted(folder.iterdir()) if path.is_file()}
    place = place_of(folder, root)
    if "reference.py" not in files:
        raise Misfit(place, "reference.py is missing, expected a problem folder with it")
    about = Fields(place_of(folder / "problem.yaml", root), read_yaml(folder / "problem.yaml", root))
    title = about.text("title", None) or about.text("name", None) or folder.name
    sources = [answer.read_bytes()] if answer is not None and answer.exists() else []
    record = module_task(
        f"{place}/reference.py", files["reference.py"], file="reference.py", title=title, entry="Model",
        language=language_of(sources), rubric=options.rubric, shapes=files.get("shapes.py"),
    )  # fmt: skip
    asked = files.pop("PROMPT.txt", b"").decode() or f"# {title}\n"
    yield BroughtTask(place=place, name=name_of(folder.name), record=record, prompt=asked, files=files)


def _run(root: Path, path: Path, known: set[str], options: Options) -> Arrivals:
    folder, place = path.parent, place_of(path, root)
    fields = Fields(place, read_json(path, root))
    problem = fields.text("problem", None) or _problem_of(folder)
    run = fields.text("run_id", None) or folder.name
    task = name_of(problem)
    if problem not in known:
        yield hollow_task(place, task, problem, options.rubric)
    solution = folder / "solution.py"
    if not solution.exists():
        raise Misfit(place_of(folder, root), "solution.py is missing: the run handed nothing in")
    record = Submission(
        author=fields.text("model", None) or "not told",
        created=time_of(solution),
        origin=Origin(kind=SOURCE, ref=run),
        notes=fields.text("harness", None) or "",
    )
    files = {"solution.py": read_text(solution, root)}
    yield BroughtSubmission(place=place_of(solution, root), task=task, name=name_of(run), record=record, files=files)
    correct, reason = fields.flag("correct"), fields.text("failure_reason", None)
    mutated, peak = fields.flag("template_mutated", False), fields.number("peak_fraction", None)
    logs = [f"\n--- {name}\n".encode() + read_text(folder / name, root) for name in LOGS if (folder / name).exists()]
    yield BroughtResult(
        place=place,
        task=task,
        submission=name_of(run),
        source=SOURCE,
        hardware=fields.text("gpu", None) or "",
        collected=time_of(path),
        build=Build(status="not-run", reason="result.json does not tell"),
        check=_check(correct, reason, mutated),
        time=_time(peak),
        raw=read_text(path, root) + b"".join(logs),
    )
    for name in ("effort", "session_id", "elapsed_seconds", "usage", "has_solution"):
        fields.any(name, None)
    yield from fields.unknown()


def _check(correct: bool, reason: str | None, mutated: bool) -> Check:
    if mutated:
        return Check(
            status="failed", reason=f"the run changed the template; {reason or ''}".rstrip("; "), method=METHOD
        )
    if correct:
        return Check(status="passed", method=METHOD)
    return Check(status="failed", reason=reason or "it was not correct there", method=METHOD)


def _time(peak: float | None) -> Timing:
    if peak is None:
        return Timing(status="not-run", reason="result.json gives no peak_fraction", method=METHOD)
    return Timing(status="passed", method=METHOD, notes=[f"peak_fraction there: {peak:g} of the device's peak"])


def _problem_of(folder: Path) -> str:
    return annotated.problem_of(folder.name)


def _runs(root: Path) -> Iterator[Path]:
    for pattern in ("result.json", "*/result.json", "runs/*/result.json", "outputs/runs/*/result.json"):
        yield from (path for path in root.glob(pattern) if not path.with_name("task.yml").exists())


def _problems(root: Path) -> Iterator[Path]:
    for pattern in ("problem.yaml", "*/problem.yaml", "problems/*/problem.yaml"):
        yield from root.glob(pattern)
