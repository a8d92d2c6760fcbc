"""flashinfer-bench and SOL-ExecBench: definitions, workloads, solutions and traces. Latencies are milliseconds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kgrade.exchange.brought import Arrivals, BroughtGrade, BroughtResult, BroughtSubmission, BroughtTask, Noted
from kgrade.exchange.carried import KEY, OF_STATUS, brought_words
from kgrade.exchange.fields import (
    Fields,
    Misfit,
    json_lines,
    name_of,
    place_of,
    read_json,
    read_text,
    refusing,
    time_of,
)  # fmt: skip
from kgrade.exchange.options import Options
from kgrade.records.evidence import Build, Case, CaseCheck, CaseStatus, Check, Timing
from kgrade.records.submission import Origin, Submission, is_time
from kgrade.records.task import DTYPES, Benchmark, CaseRow, Language, Task, Tolerance

SOURCE = "flashinfer"
METHOD = "imported: the benchmark's own run, from its traces; not run here"
TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-2}
DEFAULT_SIZE = 16
NOT_FINITE = ("NaN", "Infinity", "-Infinity", "nan", "inf", "-inf")
STATUS: Mapping[str, CaseStatus] = {
    "PASSED": "passed", "INCORRECT_SHAPE": "failed", "INCORRECT_NUMERICAL": "failed", "INCORRECT_DTYPE": "failed",
    "RUNTIME_ERROR": "failed", "COMPILE_ERROR": "failed", "TIMEOUT": "failed", "REWARD_HACK": "failed",
    "INVALID_REFERENCE": "error",
}  # fmt: skip
LANGUAGES: Mapping[str, Language] = {
    "python": "python", "pytorch": "python", "triton": "triton", "cuda": "cuda", "cpp": "cuda", "cuda_cpp": "cuda",
}  # fmt: skip
PREFERRED: tuple[Language, ...] = ("python", "cuda", "triton")  # what runs Triton runs Python too
Line = tuple[str, Any]


def seen(path: Path) -> bool:
    """Whether definitions, or solutions and traces, lie here: in folders of their own, or in one for each problem."""
    return path.is_dir() and (
        any((path / name).is_dir() for name in ("definitions", "solutions", "traces"))
        or any(True for _ in path.glob("definition.json"))
        or any(True for _ in path.glob("*/definition.json"))
    )


def read(root: Path, options: Options) -> Arrivals:
    """Every definition with its workloads, every solution, every trace below `root`."""
    workloads: dict[str, list[dict[str, Any]]] = {}
    definitions = _found(root, "definitions/**/*.json", "definition.json")
    beside = {path.parent: _name(path) for path in definitions if path.name == "definition.json"}
    for path in _found(root, "workloads/**/*.jsonl", "workload.jsonl"):
        for place, value in json_lines(path, root):
            yield from refusing(_workload(place, value, beside.get(path.parent, path.stem), workloads))
    solutions = _found(root, "solutions/**/*.json", "solution*.json")
    languages = _languages(solutions)
    for path in definitions:
        yield from refusing(_definition(root, path, workloads, languages, options))
    for path in solutions:
        yield from refusing(_solution(root, path))
    traces: dict[tuple[str, str, str], list[tuple[str, Fields, Any, str]]] = {}
    for path in _found(root, "traces/**/*.jsonl", "trace*.jsonl"):
        for place, value in json_lines(path, root):
            yield from refusing(_trace(place, value, path, traces))
    for key, told in traces.items():
        yield from refusing(_result(key, told))
        yield from refusing(_judged(key, told, options))


def _found(root: Path, apart: str, beside: str) -> list[Path]:
    """Files that lie in a folder of their own kind, or beside their definition."""
    problems = [root, *(path.parent for path in root.glob("*/definition.json"))]
    own = [path for folder in problems if (folder / "definition.json").is_file() for path in folder.glob(beside)]
    return sorted({*root.glob(apart), *own})


def _name(path: Path) -> str:
    """How a definition beside its workloads is called; its folder's name where that cannot be read."""
    try:
        return Fields(path.name, read_json(path, path.parent)).text("name")
    except Misfit:
        return path.parent.name


def _workload(place: str, value: Any, stem: str, found: dict[str, list[dict[str, Any]]]) -> Arrivals:
    if isinstance(value, Misfit):
        raise value
    line = Fields(place, value)
    name = line.text("definition", None) or stem
    fields = line.mapping("workload") if line.has("workload") else line
    fields.text("uuid")
    axes = fields.mapping("axes")
    for axis in axes.values:
        axes.whole(axis)
    inputs = fields.mapping("inputs", {})
    for each in inputs.values:
        kind = inputs.mapping(each).text("type")
        if kind == "safetensors":
            yield Noted(
                place=place, what=f"the tensor file of the input {each} is binary and stays behind: drawn at random"
            )
        elif kind not in ("random", "scalar", "custom"):
            raise inputs.mapping(each).misfit("type", "random, scalar, safetensors or custom")
    found.setdefault(name, []).append(dict(fields.values))


def _definition(
    root: Path,
    path: Path,
    workloads: Mapping[str, list[dict[str, Any]]],
    languages: Mapping[str, Language],
    options: Options,
) -> Arrivals:
    fields = Fields(place_of(path, root), read_json(path, root))
    name = fields.text("name")
    axes, outputs = fields.mapping("axes"), fields.mapping("outputs")
    for known in ("op_type", "constraints", "description", "tags", "custom_inputs_entrypoint"):
        fields.any(known, None)
    fields.text("reference")
    for side in (fields.mapping("inputs"), outputs):
        for each in side.values:
            array = side.mapping(each)
            if array.text("dtype") not in DTYPES:
                raise array.misfit("dtype", f"one of {', '.join(DTYPES)}")
    kinds = [outputs.mapping(each).text("dtype") for each in outputs.values]
    lines = workloads.get(name, [])
    rows = _rows(axes, lines, kinds[0] if kinds else "float32")
    if not lines:
        what = f"no workloads came with it: its one case has every variable axis at {DEFAULT_SIZE}"
        yield Noted(place=fields.place, what=what)
    tolerance, matched, cap = _tolerance(kinds, lines)
    file = f"{name_of(name)}.json"
    files = {file: read_text(path, root)}
    if lines:
        files[f"{name_of(name)}.jsonl"] = "".join(f"{json.dumps(_drawn(line))}\n" for line in lines).encode()
    record = Task(
        title=name,
        type="generation",
        language=languages.get(name, "triton"),
        interface="flashinfer",
        entry="solution.json",
        reference=f"{file}:run",
        targets=["cpu"],
        inputs={},
        outputs={},
        cases=rows,
        benchmark=Benchmark(cases=rows, baselines={"reference": f"{file}:run"}),
        tolerance=tolerance,
        matched_ratio=matched,
        error_cap=cap,
        rubric=options.rubric,
    )
    asked = f"# {name}\n\n{fields.text('description', '') or ''}".rstrip() + f"\n\nThe definition is in `{file}`.\n"
    yield BroughtTask(place=fields.place, name=name_of(name), record=record, prompt=asked, files=files)
    yield from fields.unknown()


def _rows(axes: Fields, lines: list[dict[str, Any]], dtype: str) -> list[CaseRow]:
    free = []
    for axis in axes.values:
        each = axes.mapping(axis)
        kind = each.text("type")
        if kind == "const":
            each.whole("value")
        elif kind == "expr":
            each.text("expression")
        elif kind == "var":
            free.append(axis)
        else:
            raise each.misfit("type", "const, var or expr")
    named = [{axis: line["axes"].get(axis, DEFAULT_SIZE) for axis in free} for line in lines]
    rows = named or [dict.fromkeys(free, DEFAULT_SIZE)]
    return list({json.dumps(row): {**row, "dtype": dtype} for row in rows}.values())


def _tolerance(
    kinds: list[str], lines: list[dict[str, Any]]
) -> tuple[dict[Any, Tolerance], float | None, float | None]:
    """The tolerance of each output's dtype: the widest that a workload names, or the benchmark's own."""
    told = [line["tolerance"] for line in lines if isinstance(line.get("tolerance"), dict)]
    widest = {
        key: max((each[key] for each in told if isinstance(each.get(key), int | float)), default=None)
        for key in ("max_atol", "max_rtol", "max_error_cap")
    }
    ratios = [ratio for each in told if isinstance(ratio := each.get("required_matched_ratio"), int | float)]
    rows: dict[Any, Tolerance] = {}
    for kind in kinds:
        own = TOLERANCE.get(kind, 1e-1 if "float8" in kind else 1e-6)
        atol, rtol = (float(own if widest[key] is None else widest[key] or 0) for key in ("max_atol", "max_rtol"))
        if "float" in kind:
            rows[kind] = Tolerance(atol=atol, rtol=rtol)
    return rows, min(ratios, default=None), widest["max_error_cap"]


def _drawn(line: dict[str, Any]) -> dict[str, Any]:
    """A workload without references to files that stay behind."""
    inputs = {
        key: {"type": "random"} if each.get("type") == "safetensors" else each
        for key, each in (line.get("inputs") or {}).items()
    }
    return {**line, "inputs": inputs}


def _languages(paths: list[Path]) -> dict[str, Language]:
    """The language of each definition's task: the one whose way of running suits most of its solutions."""
    found: dict[str, Language] = {}
    for path in paths:
        try:
            fields = Fields(path.name, read_json(path, path.parent))
            told = [LANGUAGES[each] for each in _spoken(fields.mapping("spec"))]
            name = fields.text("definition", path.parent.name)
        except (Misfit, KeyError):
            continue  # told where the solution itself is read
        found[name] = max([*told, *([found[name]] if name in found else [])], key=PREFERRED.index)
    return found


def _spoken(spec: Fields) -> list[str]:
    """The languages of a solution: SOL-ExecBench lists them, flashinfer-bench has one."""
    if not spec.has("languages"):
        return [spec.text("language")]
    told = spec.list("languages")
    if not told or not all(isinstance(each, str) for each in told):
        raise spec.misfit("languages", "a list of languages")
    return told


def _solution(root: Path, path: Path) -> Arrivals:
    fields = Fields(place_of(path, root), read_json(path, root))
    spec = fields.mapping("spec")
    if not set(_spoken(spec)) <= set(LANGUAGES):
        raise spec.misfit("languages" if spec.has("languages") else "language", f"one of {', '.join(LANGUAGES)}")
    if "::" not in spec.text("entry_point"):
        raise spec.misfit("entry_point", "file::function")
    spec.flag("destination_passing_style", True)
    for number, each in enumerate(fields.list("sources")):
        source = Fields(fields.place, each, f"sources[{number}]")
        source.text("path")
        source.text("content")
    name = fields.text("name", None) or path.stem
    record = Submission(
        author=fields.text("author", None) or "not told",
        created=time_of(path),
        origin=Origin(kind=SOURCE, ref=name),
        notes=fields.text("description", None) or "",
    )
    yield BroughtSubmission(
        place=fields.place,
        task=name_of(fields.text("definition", path.parent.name)),
        name=name_of(name),
        record=record,
        files={"solution.json": read_text(path, root)},
    )
    yield from fields.unknown()


def _trace(
    place: str, value: Any, path: Path, found: dict[tuple[str, str, str], list[tuple[str, Fields, Any, str]]]
) -> Arrivals:
    if isinstance(value, Misfit):
        raise value
    line = Fields(place, value)
    if not line.has("evaluation"):
        yield Noted(place=place, what="a trace without an evaluation says nothing about a solution")
        return
    evaluation = line.mapping("evaluation")
    hardware = evaluation.mapping("environment", {}).text("hardware", None) or ""
    key = (line.text("definition"), line.text("solution"), hardware)
    when = evaluation.text("timestamp", None) or time_of(path)
    measured, block = _taken_apart(evaluation)
    value = {**line.values, "evaluation": measured}
    found.setdefault(key, []).append((place, Fields(place, value), value, when))
    yield from brought_words(block, name_of(key[0]), name_of(key[1]))


def _taken_apart(evaluation: Fields) -> tuple[dict[str, Any], Fields]:
    """An evaluation as it was measured, and the block of what people said that was carried in it."""
    block = evaluation.mapping(KEY, {})
    measured = {**evaluation.values, **block.mapping("measured", {}).values}
    return {name: value for name, value in measured.items() if name != KEY}, block


def _result(key: tuple[str, str, str], told: list[tuple[str, Fields, Any, str]]) -> Arrivals:
    definition, solution, hardware = key
    cases, notes, built = [], [], Build(status="passed", method=METHOD)
    versions: dict[str, str] = {}
    for place, line, _, _ in told:
        evaluation = line.mapping("evaluation")
        status = evaluation.text("status")
        if status not in STATUS:
            raise Misfit(place, f"evaluation.status is {status!r:.40}, expected one of {', '.join(STATUS)}")
        axes = line.mapping("workload").mapping("axes", {})
        symbols = {name: axes.whole(name) for name in axes.values}
        cases.append(
            CaseCheck(
                case=Case(symbols=symbols, dtype="float32"), status=STATUS[status], reason=_why(status, evaluation)
            )
        )
        if status == "COMPILE_ERROR":
            built = Build(status="failed", reason=evaluation.text("log", None) or "it did not compile", method=METHOD)
        notes += list(_timed(cases[-1].case, evaluation))
        libs = evaluation.mapping("environment", {}).mapping("libs", {})
        versions |= {name: str(each) for name, each in libs.values.items()}
    wrong = [case for case in cases if case.status != "passed"]
    why = f"{len(wrong)} of {len(cases)} workloads did not pass there, the first: {wrong[0].reason}" if wrong else None
    yield BroughtResult(
        place=told[0][0],
        task=name_of(definition),
        submission=name_of(solution),
        source=SOURCE,
        hardware=hardware,
        collected=_moment(max(when for *_, when in told)),
        build=built,
        check=Check(status="failed" if wrong else "passed", reason=why, method=METHOD, cases=cases),
        time=Timing(status="passed", method=METHOD, notes=notes)
        if notes
        else Timing(status="not-run", reason="no latency came with it", method=METHOD),
        raw="".join(f"{json.dumps(value)}\n" for _, _, value, _ in told).encode(),
        versions=versions,
    )


def _judged(key: tuple[str, str, str], told: list[tuple[str, Fields, Any, str]], options: Options) -> Arrivals:
    """The one status that is a verdict on the answer and no measurement: somebody found it to be cheating."""
    hacked = [(place, each.mapping("evaluation"), when) for place, each, _, when in told]
    hacked = [each for each in hacked if each[1].text("status") == "REWARD_HACK"]
    if hacked:
        place, first, when = hacked[0]
        said = f"Verdict there: REWARD_HACK on {len(hacked)} of {len(told)} workloads"
        log = first.text("log", None) or ""
        yield BroughtGrade(
            place=place,
            task=name_of(key[0]),
            submission=name_of(key[1]),
            evaluator=options.evaluator_of("sol-execbench"),
            verdict="reject",
            feedback="\n\n".join(part for part in (said, log.strip()) if part) + "\n",
            note=f"{OF_STATUS}\n{said}\n{log}",
            saved=_moment(when),
        )


def _why(status: str, evaluation: Fields) -> str:
    errors = evaluation.mapping("correctness", {})
    parts = [status] + [
        f"{name} {_error(errors, name)}" for name in ("max_relative_error", "max_absolute_error") if errors.has(name)
    ]
    return ", ".join(parts)


def _error(errors: Fields, name: str) -> str:
    """A number, or one of the words that stand where it is not finite."""
    said = errors.any(name)
    return said if said in NOT_FINITE else f"{errors.number(name):g}"


def _timed(case: Case, evaluation: Fields) -> Iterator[str]:
    times = evaluation.mapping("performance", {})
    if times.has("latency_ms"):
        own = f"{case.name}: {times.number('latency_ms'):g} ms there"
        reference = (
            f", reference {times.number('reference_latency_ms'):g} ms" if times.has("reference_latency_ms") else ""
        )
        factor = f", {times.number('speedup_factor'):g} times as fast" if times.has("speedup_factor") else ""
        yield own + reference + factor


def _moment(text: str) -> str:
    """A time with its offset; one without is taken for UTC."""
    return text if is_time(text) else f"{text}Z" if is_time(f"{text}Z") else "1970-01-01T00:00:00Z"
