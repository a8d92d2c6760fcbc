"""KernelBench: problems by level, samples and results by run, baselines by machine. Times there are milliseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kgrade.exchange.brought import Arrivals, BroughtResult, BroughtSubmission, BroughtTask, Noted, Refused
from kgrade.exchange.carried import KEY, brought_words
from kgrade.exchange.fields import (
    Fields,
    Misfit,
    name_of,
    place_of,
    pretty,
    read_json,
    read_text,
    refusing,
    time_of,
)  # fmt: skip
from kgrade.exchange.modules import language_of, module_task
from kgrade.exchange.options import Options
from kgrade.records.evidence import Build, Check, Timing
from kgrade.records.submission import Origin, Submission

SOURCE = "kernelbench"
METHOD = "imported: KernelBench's own run, from eval_results.json; not run here"
NOT_RUN = -1.0
_PROBLEM = re.compile(r"(\d+)_(\w+)\.py")
_SAMPLE = re.compile(r"level_(\d+)_problem_(\d+)_sample_(\d+)_kernel\.py")
_LEVEL = re.compile(r"level(\d+)")

Problems = dict[tuple[int, int], Path]
Baselines = dict[str, list["Baseline"]]


class Baseline(NamedTuple):
    """What a baseline took for one problem: the sentence for people, and the file, level and figures it came from."""

    told: str
    path: str
    level: str
    stats: Mapping[str, Any]


def seen(path: Path) -> bool:
    """Whether problems by level, or samples of a run, lie here."""
    return path.is_dir() and any(True for _ in (*_problems(path), *_samples(path), *_results(path)))


def read(root: Path, options: Options) -> Arrivals:
    """Every problem, sample and result below `root`."""
    problems = {(level, number): path for level, number, path in _problems(root)}
    samples = sorted(_samples(root), key=lambda each: str(each[3]))
    sources: dict[tuple[int, int], list[Path]] = {}
    for level, number, _, path in samples:
        sources.setdefault((level, number), []).append(path)
    for (level, number), path in sorted(problems.items()):
        yield from refusing(_problem(root, level, number, path, sources.get((level, number), []), options))
    for level, number, sample, path in samples:
        yield from refusing(_sample(root, level, number, sample, path, problems))
    baselines: Baselines = {}
    for path in sorted(root.glob("results/timing/*/baseline_time_*.json")):
        yield from refusing(_baseline(root, path, baselines))
    for path in sorted(_results(root)):
        yield from refusing(_result_file(root, path, problems, baselines))


def task_name(level: int, number: int, path: Path | None) -> str:
    """What a problem is called here."""
    stem = path.stem if path is not None else f"{number}"
    return name_of(f"level{level}-{stem}")


def _problem(root: Path, level: int, number: int, path: Path, samples: list[Path], options: Options) -> Arrivals:
    place, source = place_of(path, root), read_text(path, root)
    file = re.sub(r"[^A-Za-z0-9_.-]", "_", path.name)
    answers = [each.read_bytes() for each in samples]
    title = path.stem.partition("_")[2].replace("_", " ").strip()
    record = module_task(
        place, source, file=file, title=title, entry="ModelNew", rubric=options.rubric,
        language=language_of(answers) if answers else "cuda",
    )  # fmt: skip
    prompt = f"# {title}\n\nKernelBench level {level}, problem {number}. Replace `Model` by `ModelNew`, with the same"
    prompt += " arguments and results and kernels of your own.\n"
    yield BroughtTask(
        place=place, name=task_name(level, number, path), record=record, prompt=prompt, files={file: source}
    )


def _sample(root: Path, level: int, number: int, sample: int, path: Path, problems: Problems) -> Arrivals:
    run, place = path.parent.name, place_of(path, root)
    record = Submission(author=run, created=time_of(path), origin=Origin(kind=SOURCE, ref=f"{run}/{path.name}"))
    yield BroughtSubmission(
        place=place,
        task=task_name(level, number, problems.get((level, number))),
        name=name_of(run, f"s{sample}"),
        record=record,
        files={"kernel.py": read_text(path, root)},
    )


def _result_file(root: Path, path: Path, problems: Problems, baselines: Baselines) -> Arrivals:
    place, run = place_of(path, root), path.parent.name
    whole = Fields(place, read_json(path, root))
    levels = {level for level, _, _, other in _samples(root) if other.parent == path.parent}
    for key, entry in whole.values.items():
        number = key.rpartition("_")[2]
        if not number.isdigit():
            yield Refused(place=place, why=f"the key {key!r:.60} is no problem, expected its number")
            continue
        entries = entry if isinstance(entry, list) else [entry]
        for sample, each in enumerate(entries):
            where = f"{key}[{sample}]"
            try:
                fields = Fields(place, each, where)
                level = fields.whole("level", None) or (next(iter(levels)) if len(levels) == 1 else 0)
                about = _Result(place, run, level, int(number), fields.whole("sample_id", sample), path)
                yield from about.brought(fields, problems, baselines)
            except Misfit as why:
                yield Refused(place=f"{place}: {where}", why=why.why)


class _Result:
    """One entry of eval_results.json, and which sample it is about."""

    def __init__(self, place: str, run: str, level: int, number: int, sample: int, path: Path) -> None:
        self.place, self.run, self.level, self.number, self.sample, self.path = place, run, level, number, sample, path

    def brought(self, fields: Fields, problems: Problems, baselines: Baselines) -> Arrivals:
        """The result as it was measured, and what people said of it where it left another queue with that."""
        problem = problems.get((self.level, self.number))
        task, submission = task_name(self.level, self.number, problem), name_of(self.run, f"s{self.sample}")
        values, block = _taken_apart(fields)
        fields = Fields(fields.place, values, fields.within)
        compiled, correct = fields.flag("compiled"), fields.flag("correctness")
        said = fields.mapping("metadata", {})
        for known in ("problem_id", "sample_id", "level"):
            fields.any(known, None)
        beside = baselines.get(problem.name if problem else "", [])
        yield BroughtResult(
            place=f"{self.place}: {self.number}[{self.sample}]",
            task=task,
            submission=submission,
            source=SOURCE,
            hardware=str(said.values.get("hardware") or said.values.get("device") or ""),
            collected=time_of(self.path),
            build=_build(compiled, said),
            check=_check(compiled, correct, said),
            time=_time(fields, correct, [each.told for each in beside]),
            raw=pretty(_with_baselines(values, problem.name if problem else "", beside)),
        )
        yield from fields.unknown()
        yield from brought_words(block, task, submission)


def _taken_apart(fields: Fields) -> tuple[dict[str, Any], Fields]:
    """An entry as it was measured, and the block of what people said that was carried in it."""
    metadata = fields.mapping("metadata", {})
    block = metadata.mapping(KEY, {})
    if not block.values:
        return dict(fields.values), block
    measured = dict(block.mapping("measured", {}).values)
    inner = {name: value for name, value in metadata.values.items() if name != KEY}
    if measured:
        inner |= {"correctness_issue": measured.pop("correctness_issue", None)}
        inner = {name: value for name, value in inner.items() if (name, value) != ("correctness_issue", None)}
    return {**fields.values, **measured, "metadata": inner}, block


def _with_baselines(values: Mapping[str, Any], problem: str, beside: list[Baseline]) -> dict[str, Any]:
    """An entry and the baselines of its problem, which have no other place in a queue."""
    if not beside:
        return dict(values)
    kept: dict[str, dict[str, dict[str, Any]]] = {}
    for each in beside:
        kept.setdefault(each.path, {}).setdefault(each.level, {})[problem] = dict(each.stats)
    return {**values, "metadata": {**(values.get("metadata") or {}), KEY: {"baselines": kept}}}


def _build(compiled: bool, said: Fields) -> Build:
    if compiled:
        return Build(status="passed", method=METHOD)
    why = said.values.get("compilation_error") or said.values.get("compilation_error_name") or "it did not compile"
    return Build(status="failed", reason=str(why), method=METHOD)


def _check(compiled: bool, correct: bool, said: Fields) -> Check:
    trials = said.values.get("correctness_trials")
    method = f"{METHOD}{f'; trials passed {trials}' if trials else ''}"
    if correct:
        return Check(status="passed", method=method)
    if not compiled:
        return Check(status="not-run", reason="it did not compile there", method=method)
    parts = [f"{name}: {said.values[name]}" for name in (
        "correctness_issue", "runtime_error_name", "runtime_error", "max_difference", "avg_difference"
    ) if said.values.get(name)]  # fmt: skip
    return Check(status="failed", reason="; ".join(parts) or "it was not correct there", method=method)


def _time(fields: Fields, correct: bool, baselines: list[str]) -> Timing:
    runtime, reference = fields.number("runtime", NOT_RUN), fields.number("ref_runtime", NOT_RUN)
    stats, theirs = fields.mapping("runtime_stats", {}), fields.mapping("ref_runtime_stats", {})
    if runtime == NOT_RUN:
        return Timing(status="not-run", reason="it was not timed there", method=METHOD)
    notes = [f"runtime there: {_stats(runtime, stats)}"]
    notes += [f"reference there: {_stats(reference, theirs)}"] if reference != NOT_RUN else []
    flagged = "excessive_speedup" in fields.mapping("metadata", {}).values
    reason = "it was flagged there for an excessive speedup" if flagged else None
    return Timing(status="flagged" if flagged else "passed", reason=reason, method=METHOD, notes=[*notes, *baselines])


def _stats(mean: float, stats: Fields) -> str:
    parts = [f"{name} {stats.number(name):g} ms" for name in ("std", "min", "max") if stats.has(name)]
    trials = [f"{stats.whole('num_trials')} trials"] if stats.has("num_trials") else []
    return ", ".join([f"mean {mean:g} ms", *parts, *trials])


def _baseline(root: Path, path: Path, found: Baselines) -> Arrivals:
    name, hardware = path.stem.removeprefix("baseline_time_"), path.parent.name
    levels = Fields(place_of(path, root), read_json(path, root))
    for level in levels.values:
        problems = levels.mapping(level)
        for problem in problems.values:
            stats = problems.mapping(problem)
            told = f"baseline {name} on {hardware}: {_stats(stats.number('mean'), stats)}"
            place = path.relative_to(root).as_posix()
            found.setdefault(problem, []).append(Baseline(told, place, level, stats.values))
    if not found:
        yield Noted(place=place_of(path, root), what="it holds no baseline")


def _problems(root: Path) -> Iterator[tuple[int, int, Path]]:
    levels = [*root.glob("level*"), *root.glob("KernelBench/level*"), root]
    for folder in levels:
        level = _LEVEL.fullmatch(folder.name)
        if level and folder.is_dir():
            for path in sorted(folder.iterdir()):
                found = _PROBLEM.fullmatch(path.name)
                if found:
                    yield int(level[1]), int(found[1]), path


def _samples(root: Path) -> Iterator[tuple[int, int, int, Path]]:
    for folder in (root, *root.glob("runs/*"), *root.glob("*")):
        for path in folder.glob("level_*_kernel.py"):
            found = _SAMPLE.fullmatch(path.name)
            if found:
                yield int(found[1]), int(found[2]), int(found[3]), path


def _results(root: Path) -> Iterator[Path]:
    yield from {path for pattern in ("", "runs/*/", "*/") for path in root.glob(f"{pattern}eval_results.json")}
