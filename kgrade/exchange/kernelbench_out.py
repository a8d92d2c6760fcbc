"""KernelBench folders that go out: problems, samples, and `eval_results.json` for each run. Times are milliseconds.

A record that was imported leaves as it came. What was collected here is written with KernelBench's names; a figure that
was not measured here is left out, and a run time that was not taken is -1, as there.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kgrade.exchange.answers import Answer, Parcel, file_name
from kgrade.exchange.carried import KEY, Ruling, Word
from kgrade.exchange.fields import Fields, Misfit, json_value
from kgrade.exchange.kernelbench import NOT_RUN, SOURCE
from kgrade.records.evidence import Check, Evidence, Samples, Timing

_PROBLEM = re.compile(r"(\d+)_\w+\.py")
_LEVEL = re.compile(r"level(\d+)-")
_BASELINE = re.compile(r"results/timing/[A-Za-z0-9][A-Za-z0-9._-]*/baseline_time_[A-Za-z0-9._-]+\.json")
_SAMPLE = re.compile(r"(.+)/level_\d+_problem_\d+_sample_(\d+)_kernel\.py")

Entry = dict[str, Any]


class Sample(NamedTuple):
    """Where an answer stands in KernelBench: its run, level, problem and number."""

    run: str
    level: int
    problem: int
    number: int

    @property
    def path(self) -> str:
        """The file of the answer."""
        name = f"level_{self.level}_problem_{self.problem}_sample_{self.number}_kernel.py"
        return f"runs/{self.run}/{name}"


def kernelbench_files(answers: Iterable[Answer], parcel: Parcel) -> Parcel:
    """Put the problem, the sample and the results of each answer into `parcel`."""
    results: dict[str, dict[Sample, list[tuple[Entry, str]]]] = {}
    baselines: dict[str, dict[str, dict[str, Any]]] = {}
    for answer in answers:
        sample, file = _sample(answer), _source(answer)
        if sample is None:
            parcel.leave(answer.id, "its task has no level and number, by which KernelBench knows a problem")
        elif file is None:
            parcel.leave(answer.id, f"it has {len(answer.files)} files, and a KernelBench sample is one")
        elif parcel.put(sample.path, answer.files[file], answer.submission.created, str(answer.id)):
            problem = answer.task.reference.partition(":")[0]
            parcel.put(
                f"KernelBench/level{sample.level}/{problem}", answer.task_files[problem], None, f"task {answer.id.task}"
            )
            results.setdefault(sample.run, {})[sample] = _entries(answer, baselines, parcel)
    for run, by_sample in results.items():
        _put_results(run, by_sample, parcel)
    for path, levels in baselines.items():
        parcel.put(path, _json(levels), None, path)
    return parcel


def _sample(answer: Answer) -> Sample | None:
    """Where the answer came from, or a place for one that was made here."""
    level, problem = _LEVEL.match(answer.id.task), _PROBLEM.fullmatch(answer.task.reference.partition(":")[0])
    if level is None or problem is None or answer.task.reference.partition(":")[0] not in answer.task_files:
        return None
    origin = answer.submission.origin
    found = _SAMPLE.fullmatch(origin.ref) if origin is not None and origin.kind == SOURCE else None
    run, number = (found[1], int(found[2])) if found else (str(answer.id.submission), 0)
    return Sample(file_name(run), int(level[1]), int(problem[1]), number)


def _source(answer: Answer) -> str | None:
    return next(iter(answer.files)) if len(answer.files) == 1 else None


def _entries(
    answer: Answer, baselines: dict[str, dict[str, dict[str, Any]]], parcel: Parcel
) -> list[tuple[Entry, str]]:
    """One entry of eval_results.json for each record of evidence, and when it was made."""
    entries = []
    for found in answer.found:
        where = f"{answer.id} on {found.evidence.target}"
        try:
            entry = _entry(found.evidence) if found.kept is None else _as_it_came(found.kept, where, baselines)
        except Misfit as why:
            parcel.leave(where, why.why)
            continue
        entries.append((_with_words(entry, answer.words, answer.ruling), found.evidence.collected))
    if not entries and answer.words:
        parcel.leave(f"the verdict on {answer.id}", "nothing was measured that it could stand beside")
    return entries


def _put_results(run: str, by_sample: dict[Sample, list[tuple[Entry, str]]], parcel: Parcel) -> None:
    levels = {sample.level for sample in by_sample}
    found: dict[str, list[Entry]] = {}
    times = []
    for sample, entries in sorted(by_sample.items()):
        for entry, when in entries:
            beside = found.setdefault(str(sample.problem), [])
            more = {"level": sample.level} if len(levels) > 1 else {}
            more |= {"sample_id": sample.number} if len(beside) != sample.number else {}
            beside.append({**{name: value for name, value in more.items() if name not in entry}, **entry})
            times.append(when)
    if found:
        path = f"runs/{run}/eval_results.json"
        parcel.put(path, _json(found), max(times), f"the results of {run}")


def _as_it_came(kept: bytes, place: str, baselines: dict[str, dict[str, dict[str, Any]]]) -> Entry:
    """An imported record; the baselines that were kept beside it are taken out of it, into `baselines`."""
    entry = Fields(place, json_value(kept, place))
    metadata = entry.mapping("metadata", {})
    files = metadata.mapping(KEY, {}).mapping("baselines", {})
    for path in files.values:
        levels = files.mapping(path)
        for level in levels.values if _BASELINE.fullmatch(path) else ():
            baselines.setdefault(path, {}).setdefault(level, {}).update(levels.mapping(level).values)
    inner = {name: value for name, value in metadata.values.items() if name != KEY}
    return {**entry.values, **({"metadata": inner} if entry.has("metadata") else {})}


def _with_words(entry: Entry, words: Sequence[Word], why: Ruling | None) -> Entry:
    """The entry with what people said; a rejection for its result or for cheating makes it incorrect."""
    if not words:
        return entry
    metadata = dict(entry.get("metadata") or {})
    block: dict[str, Any] = {"grades": list(words)}
    if why is not None and entry.get("correctness") is True:
        block["measured"] = {"correctness": True}
        if "correctness_issue" in metadata:
            block["measured"]["correctness_issue"] = metadata["correctness_issue"]
        metadata["correctness_issue"] = f"rejected by people: {why}"
        entry = {**entry, "correctness": False}
    return {**entry, "metadata": {**metadata, KEY: block}}


def _entry(evidence: Evidence) -> Entry:
    """What was collected here in KernelBench's names; Misfit where nothing was checked."""
    build, check, around = evidence.stages.build, evidence.stages.check, evidence.environment
    failed = build.status == "failed"
    if check.status not in ("passed", "failed", "flagged") and not failed:
        raise Misfit(evidence.item, f"it was not checked: {check.reason}")
    metadata: Entry = {"hardware": around.hardware, "device": evidence.target}
    if failed:
        metadata["compilation_error"] = build.reason or "it did not compile"
    else:
        metadata |= _checked(check)
    entry: Entry = {
        "compiled": not failed,
        "correctness": not failed and check.status != "failed",
        "metadata": metadata,
        "runtime": NOT_RUN,
    }
    return entry if around.interpreter else entry | _timed(evidence.stages.time, around.hardware, evidence.target)


def _checked(check: Check) -> Entry:
    """Trials and differences over the required cases."""
    cases = [case for case in check.cases if case.required and case.status in ("passed", "failed")]
    passed = sum(case.status == "passed" for case in cases)
    found: Entry = {"correctness_trials": f"({passed} / {len(cases)})"} if cases else {}
    if check.status == "failed":
        found["correctness_issue"] = check.reason or "it is not correct"
        figures = [output.figures for case in cases for output in case.outputs if output.figures is not None]
        if figures:
            found["max_difference"] = [str(each.absolute.max) for each in figures]
    return found


def _timed(timing: Timing, hardware: str, device: str) -> Entry:
    """Mean times of the candidate and of the reference; nothing for times that are not indicative."""
    timed = [case for case in timing.cases if case.candidate is not None]
    if not timing.indicative or len(timed) != 1:
        return {}
    [case] = timed
    assert case.candidate is not None
    found = _stats("runtime", case.candidate, hardware, device)
    reference = case.baselines.get("reference")
    return found | (_stats("ref_runtime", reference, hardware, device) if reference is not None else {})


def _stats(name: str, samples: Samples, hardware: str, device: str) -> Entry:
    times = [each / 1000 for each in samples.samples_us]
    mean = statistics.fmean(times)
    spread = {"mean": mean, "std": statistics.pstdev(times), "min": min(times), "max": max(times)}
    return {name: mean, f"{name}_stats": {**spread, "num_trials": len(times), "hardware": hardware, "device": device}}


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"
