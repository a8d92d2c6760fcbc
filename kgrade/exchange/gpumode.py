"""GPU MODE: problem folders with `task.yml`, submissions with their `#!POPCORN` header, results in nanoseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kgrade.exchange.brought import Arrivals, BroughtResult, BroughtSubmission, BroughtTask, Noted, Refused
from kgrade.exchange.fields import (
    Fields,
    Misfit,
    name_of,
    place_of,
    pretty,
    read_json,
    read_text,
    read_yaml,
    refusing,
    time_of,
)  # fmt: skip
from kgrade.exchange.modules import language_of
from kgrade.exchange.options import Options
from kgrade.records.evidence import Build, Case, CaseCheck, CaseStatus, Check, Timing
from kgrade.records.submission import Origin, Submission
from kgrade.records.task import Benchmark, CaseRow, Task, Tolerance

SOURCE = "gpumode"
METHOD = "imported: GPU MODE's own run, from its result; not run here"
ANSWER = "@SUBMISSION@"
_HEADER = re.compile(rb"^(?:#!|//!)POPCORN leaderboard ", re.MULTILINE)
_STATUS: Mapping[str, CaseStatus] = {"pass": "passed", "fail": "failed"}


def seen(path: Path) -> bool:
    """Whether problem folders with a task.yml lie here."""
    return path.is_dir() and any(True for _ in _problems(path))


def read(root: Path, options: Options) -> Arrivals:
    """Every problem below `root`, with the submissions and results in its folder."""
    for path in sorted(_problems(root)):
        folder = path.parent
        answers = sorted(_answers(folder))
        try:
            name = name_of(folder.resolve().name)
            yield from _problem(root, folder, name, [each.read_bytes() for each in answers], options)
        except Misfit as why:
            yield Refused(place=why.place, why=why.why)
            continue
        for answer in answers:
            yield from refusing(_answer(root, name, answer))
            for result in _results_of(answer):
                yield from refusing(_result(root, name, answer, result))


def _problem(root: Path, folder: Path, name: str, answers: list[bytes], options: Options) -> Arrivals:
    path = folder / "task.yml"
    fields = Fields(place_of(path, root), read_yaml(path, root))
    files, answer = _files(root, folder, fields)
    if "reference.py" not in files:
        raise fields.misfit("files", "reference.py among them")
    for wanted in (b"def generate_input", b"def ref_kernel"):
        if wanted not in files["reference.py"] and b"check_implementation" not in files["reference.py"]:
            raise Misfit(place_of(folder / "reference.py", root), f"it has no {wanted.decode()[4:]}")
    cases, dropped = _rows(fields, "tests")
    timed, _ = _rows(fields, "benchmarks")
    if dropped:
        what = f"{dropped} of its tests have arguments that are no whole numbers, and do not come"
        yield Noted(place=fields.place, what=what)
    if not cases:
        raise fields.misfit("tests", "at least one test with whole numbers")
    lang = fields.text("lang", "py")
    record = Task(
        title=folder.resolve().name,
        type="generation",
        language="cuda" if lang == "cu" else language_of(answers),
        interface="gpumode",
        entry="custom_kernel",
        reference="reference.py:ref_kernel",
        checker="reference.py:check_implementation",
        targets=["cpu"],
        inputs={},
        outputs={},
        cases=cases,
        benchmark=Benchmark(cases=timed, baselines={"reference": "reference.py:ref_kernel"}) if timed else None,
        tolerance={"float32": Tolerance(atol=0, rtol=0)},
        rubric=options.rubric,
    )
    asked = f"# {record.title}\n\n{fields.text('description', '') or ''}".rstrip() + f"\n\nHand in `{answer}`.\n"
    yield BroughtTask(place=fields.place, name=name, record=record, prompt=asked, files=files)
    for known in (
        "config", "templates", "ranking_by", "test_timeout", "benchmark_timeout", "ranked_timeout", "gpus", "multi_gpu",
    ):  # fmt: skip
        fields.any(known, None)
    yield from fields.unknown()


def _files(root: Path, folder: Path, fields: Fields) -> tuple[dict[str, bytes], str]:
    """The problem's files by the names that they have beside the answer, and how the answer is called."""
    files, answer = {"task.yml": read_text(folder / "task.yml", root)}, "submission.py"
    for number, each in enumerate(fields.list("files")):
        one = Fields(fields.place, each, f"files[{number}]")
        name, source = one.text("name"), one.text("source")
        if source == ANSWER:
            answer = name
            continue
        path = (folder / source).resolve()
        if not path.is_relative_to(root.resolve()) or not path.is_file():
            raise one.misfit("source", "a file below what is imported; import the folder that holds it too")
        files[name] = read_text(path, root)
    return files, answer


def _rows(fields: Fields, name: str) -> tuple[list[CaseRow], int]:
    rows: list[CaseRow] = []
    dropped = 0
    for number, each in enumerate(fields.list(name, [])):
        arguments = {k: v for k, v in Fields(fields.place, each, f"{name}[{number}]").values.items() if k != "seed"}
        if all(type(value) is int for value in arguments.values()):
            rows.append({**arguments, "dtype": "float32"})
        else:
            dropped += 1
    return rows, dropped


def _answer(root: Path, task: str, path: Path) -> Arrivals:
    origin = Origin(kind=SOURCE, ref=place_of(path, root))
    record = Submission(author=path.stem, created=time_of(path), origin=origin)
    suffix = path.suffix
    yield BroughtSubmission(
        place=place_of(path, root),
        task=task,
        name=name_of(path.stem),
        record=record,
        files={f"submission{suffix}": read_text(path, root)},
    )


def _result(root: Path, task: str, answer: Path, path: Path) -> Arrivals:
    place, value = place_of(path, root), read_json(path, root)
    whole = Fields(place, value)
    whole.flag("success")
    system, runs = whole.mapping("system", {}), whole.mapping("runs")
    check, build, notes = Check(status="not-run", reason="no test run came with it"), _compiled(runs), []
    for mode in runs.values:
        said = runs.mapping(mode).mapping("run")
        result = said.mapping("result", {})
        if any(key.startswith("test.") for key in result.values):
            check = _check(result)
        notes += list(_timed(mode, result))
    yield BroughtResult(
        place=place,
        task=task,
        submission=name_of(answer.stem),
        source=SOURCE,
        hardware=system.text("gpu", None) or "",
        collected=time_of(path),
        build=build,
        check=check,
        time=Timing(status="passed", method=METHOD, notes=notes)
        if notes
        else Timing(status="not-run", reason="no benchmark came with it", method=METHOD),
        raw=pretty(value),
        versions={key: str(each) for key, each in system.values.items() if key in ("torch", "runtime", "platform")},
    )
    whole.any("error", None)
    yield from whole.unknown()


def _compiled(runs: Fields) -> Build:
    for mode in runs.values:
        found = runs.mapping(mode).any("compilation", None)
        if found is not None:
            fields = Fields(runs.place, found, f"runs.{mode}.compilation")
            if fields.flag("success"):
                return Build(status="passed", method=METHOD)
            return Build(status="failed", reason=fields.text("stderr", None) or "it did not compile", method=METHOD)
    return Build(status="not-run", reason="nothing was compiled ahead there", method=METHOD)


def _check(result: Fields) -> Check:
    cases = []
    for number in range(_count(result, "test")):
        status = result.text(f"test.{number}.status")
        spec = result.text(f"test.{number}.spec", "")
        why = result.text(f"test.{number}.error", None) or result.text(f"test.{number}.message", None)
        symbols = {k: int(v) for k, v in re.findall(r"(\w+): (-?\d+)(?:;|$)", spec) if k != "seed"}
        if status not in _STATUS:
            raise result.misfit(f"test.{number}.status", "pass or fail")
        cases.append(CaseCheck(case=Case(symbols=symbols, dtype="float32"), status=_STATUS[status], reason=why))
    failed = [case for case in cases if case.status == "failed"]
    if failed or result.values.get("check") == "fail":
        why = f"{len(failed)} of {len(cases)} tests failed there"
        return Check(status="failed", reason=why, method=METHOD, cases=cases)
    return Check(status="passed", method=METHOD, cases=cases)


def _timed(mode: str, result: Fields) -> Iterator[str]:
    for number in range(_count(result, "benchmark")):
        at = f"benchmark.{number}"
        if f"{at}.mean" in result.values:
            figures = {key: _nanoseconds(result, f"{at}.{key}") for key in ("mean", "std", "best", "worst")}
            told = ", ".join(f"{key} {value / 1000:g} us" for key, value in figures.items() if value is not None)
            runs = result.values.get(f"{at}.runs", "?")
            yield f"{mode} there, {result.values.get(f'{at}.spec', number)}: {told}, {runs} runs"


def _nanoseconds(result: Fields, name: str) -> float | None:
    if name not in result.values:
        return None
    try:
        return float(result.values[name])
    except (TypeError, ValueError):
        raise result.misfit(name, "a number of nanoseconds") from None


def _count(result: Fields, kind: str) -> int:
    told: Any = result.values.get(f"{kind}-count", 0)
    try:
        return min(int(told), 10_000)
    except (TypeError, ValueError):
        raise result.misfit(f"{kind}-count", "a whole number") from None


def _problems(root: Path) -> Iterator[Path]:
    for pattern in ("task.yml", "*/task.yml", "*/*/task.yml"):
        yield from root.glob(pattern)


def _answers(folder: Path) -> Iterator[Path]:
    for path in (*folder.glob("*.py"), *folder.glob("submissions/*"), *folder.glob("*.cu")):
        if path.suffix in (".py", ".cu") and not path.is_symlink():
            named = path.name.startswith("submission") or path.parent.name == "submissions"
            if named or _HEADER.search(path.read_bytes()[:4096]):
                yield path


def _results_of(answer: Path) -> Iterator[Path]:
    names = [
        f"{answer.stem}.json",
        f"{answer.stem}.result.json",
        *(["result.json"] if answer.stem == "submission" else []),
    ]
    yield from (path for name in names if (path := answer.with_name(name)).is_file())
