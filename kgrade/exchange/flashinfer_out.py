"""flashinfer-bench and SOL-ExecBench folders that go out: definitions, workloads, solutions, traces. In ms.

A trace that was imported leaves as it came. What was collected here becomes one trace for each workload; one that
passed without being timed stays, for there a passed trace has a latency.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kgrade.exchange.answers import Answer, Parcel, file_name, kept_records
from kgrade.exchange.carried import KEY, Ruling, Word
from kgrade.exchange.fields import Fields, Misfit, json_value
from kgrade.records.evidence import CaseCheck, Evidence, Timing

Line = dict[str, Any]


class Definition:
    """One definition as it stands in a task's folder, with its workloads."""

    def __init__(self, answer: Answer) -> None:
        file = answer.task.reference.partition(":")[0]
        if file not in answer.task_files:
            raise Misfit(file, "it is missing")
        self.fields = Fields(file, json_value(answer.task_files[file], file))
        self.name, self.data = self.fields.text("name"), answer.task_files[file]
        self.folder = file_name(self.fields.text("op_type", None) or "op")
        lines = answer.task_files.get(file.removesuffix(".json") + ".jsonl", b"")
        self.workloads: list[Line] = kept_records(lines, file)
        self.inputs = list(self.fields.mapping("inputs", {}).values)
        self.sol = self._is_sol()

    def _is_sol(self) -> bool:
        """Whether it is SOL-ExecBench's: its workloads name tolerances, or an axis is an expression."""
        axes = self.fields.mapping("axes", {})
        kinds = [axes.mapping(axis).any("type", None) for axis in axes.values]
        return "expr" in kinds or any("tolerance" in line for line in self.workloads)

    def workload_of(self, symbols: Mapping[str, int]) -> Line:
        """The workload with these axes; one with random inputs where none has them."""
        found = next((line for line in self.workloads if line.get("axes") == symbols), None)
        if found is not None:
            return found
        ident = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.name} {json.dumps(dict(symbols), sort_keys=True)}")
        inputs = {name: {"type": "random"} for name in self.inputs}
        return {"uuid": str(ident), "axes": dict(symbols), "inputs": inputs}


def flashinfer_files(answers: Iterable[Answer], parcel: Parcel, *, named: bool) -> Parcel:
    """Put the definition, the solution and the traces of each answer into `parcel`; `named` tells the authors."""
    traces: dict[str, list[Line]] = {}
    for answer in answers:
        try:
            _put(answer, traces, parcel, named=named)
        except Misfit as why:
            parcel.leave(answer.id, f"{why.place}: {why.why}")
    for path, lines in traces.items():
        if lines:
            parcel.put(path, "".join(f"{json.dumps(line)}\n" for line in lines).encode(), None, path)
    return parcel


def _put(answer: Answer, traces: dict[str, list[Line]], parcel: Parcel, *, named: bool) -> None:
    definition, solution = Definition(answer), _solution(answer)
    name, author = solution.text("name"), solution.text("author", None) or answer.submission.author
    below = f"{definition.folder}/{file_name(definition.name)}"
    path = f"solutions/{file_name(author) if named else 'unnamed'}/{below}/{file_name(name)}.json"
    if parcel.put(path, _bytes_of(answer, solution, named=named), answer.submission.created, str(answer.id)):
        parcel.put(f"definitions/{below}.json", definition.data, None, f"task {answer.id.task}")
        if definition.workloads:
            parcel.put(f"workloads/{below}.jsonl", _workloads(definition), None, f"task {answer.id.task}")
        traces.setdefault(f"traces/{below}.jsonl", []).extend(_traces(answer, definition, name, parcel))


def _solution(answer: Answer) -> Fields:
    files = [path for path in answer.files if path.endswith(".json")]
    if len(files) != 1:
        raise Misfit("solution/", f"it holds {len(files)} JSON files, and a flashinfer solution is one")
    return Fields(files[0], json_value(answer.files[files[0]], files[0]))


def _bytes_of(answer: Answer, solution: Fields, *, named: bool) -> bytes:
    if named:
        return next(data for path, data in answer.files.items() if path.endswith(".json"))
    return json.dumps({**solution.values, "author": "unnamed"}).encode() + b"\n"


def _workloads(definition: Definition) -> bytes:
    """SOL-ExecBench lists workloads as they are; flashinfer-bench as traces without a solution."""
    lines = definition.workloads
    if not definition.sol:
        nothing = {"solution": None, "evaluation": None}
        lines = [{"definition": definition.name, "workload": line, **nothing} for line in lines]
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def _traces(answer: Answer, definition: Definition, solution: str, parcel: Parcel) -> Iterator[Line]:
    came = False
    for found in answer.found:
        where = f"{answer.id} on {found.evidence.target}"
        try:
            lines = (
                list(_made(answer, found.evidence, definition, solution, parcel))
                if found.kept is None
                else kept_records(found.kept, where)
            )
            told = [dict(Fields(where, line).mapping("evaluation").values) for line in lines]
        except Misfit as why:
            parcel.leave(where, why.why)
            continue
        for line, evaluation in zip(lines, told, strict=True):
            came = True
            yield {**line, "evaluation": _with_words(evaluation, answer, definition, parcel)}
    if answer.words and not came:
        parcel.leave(f"the verdict on {answer.id}", "there is no trace that it could stand in")


def _with_words(evaluation: Line, answer: Answer, definition: Definition, parcel: Parcel) -> Line:
    """An evaluation with what people said; a rejection takes the place of a status that it contradicts."""
    if not answer.words:
        return evaluation
    block: dict[str, Any] = {"grades": list[Word](answer.words)}
    status = _ruled(answer.ruling, definition) if evaluation.get("status") == "PASSED" else None
    if status is None:
        if answer.ruling == "cheating" and evaluation.get("status") == "PASSED":
            what = "it was rejected for cheating and keeps its status: flashinfer-bench has none for that"
            if f"{answer.id}: {what}" not in parcel.left_out:
                parcel.leave(answer.id, what)
        return {**evaluation, KEY: block}
    kept = ("status", "performance") if status == "INCORRECT_NUMERICAL" else ("status", "performance", "correctness")
    block["measured"] = {name: evaluation[name] for name in kept if name in evaluation}
    gone = {name: None for name in kept if name in evaluation}
    return {**evaluation, **gone, "status": status, KEY: block}


def _ruled(why: Ruling | None, definition: Definition) -> str | None:
    if why == "wrong-result":
        return "INCORRECT_NUMERICAL"
    return "REWARD_HACK" if why == "cheating" and definition.sol else None


def _made(answer: Answer, evidence: Evidence, definition: Definition, solution: str, parcel: Parcel) -> Iterator[Line]:
    """One trace for each workload that was checked here."""
    check, build = evidence.stages.check, evidence.stages.build
    cases = [case for case in check.cases if case.required]
    if build.status == "failed" and check.status not in ("passed", "failed"):
        for workload in definition.workloads:
            head = _head("COMPILE_ERROR", evidence, build.reason)
            yield {"definition": definition.name, "workload": workload, "solution": solution, "evaluation": head}
    elif not cases:
        parcel.leave(f"{answer.id} on {evidence.target}", f"it was not checked: {check.reason}")
    untimed = 0
    for case in _first_of_each(cases):
        evaluation = _evaluation(case, evidence)
        if evaluation is None:
            untimed += case.status == "passed"
            continue
        workload = definition.workload_of(case.case.symbols)
        yield {"definition": definition.name, "workload": workload, "solution": solution, "evaluation": evaluation}
    if untimed:
        why = f"{untimed} workloads passed and were not timed, and there a passed trace has a latency"
        parcel.leave(f"{answer.id} on {evidence.target}", why)


def _first_of_each(cases: Sequence[CaseCheck]) -> list[CaseCheck]:
    """One case for each set of axes: the first that failed, else the first."""
    found: dict[str, CaseCheck] = {}
    for case in sorted(cases, key=lambda each: each.status != "failed"):
        found.setdefault(json.dumps(case.case.symbols, sort_keys=True), case)
    return list(found.values())


def _evaluation(case: CaseCheck, evidence: Evidence) -> Line | None:
    """What was found at one workload in the benchmark's names; None for what it has no trace for."""
    around = evidence.environment
    performance = None if around.interpreter else _performance(case, evidence.stages.time)
    status = _status(case)
    if status is None or (status == "PASSED" and performance is None):
        return None
    figures = [output.figures for output in case.outputs if output.figures is not None]
    errors = {
        "max_relative_error": _largest(each.relative.max for each in figures),
        "max_absolute_error": _largest(each.absolute.max for each in figures),
    }
    return _head(status, evidence, case.reason) | {
        "correctness": errors if status in ("PASSED", "INCORRECT_NUMERICAL") else None,
        "performance": performance if status == "PASSED" else None,
    }


def _head(status: str, evidence: Evidence, log: str | None) -> Line:
    around = {"hardware": evidence.environment.hardware, "libs": evidence.environment.versions}
    return {"status": status, "environment": around, "timestamp": evidence.collected, "log": log or ""}


def _status(case: CaseCheck) -> str | None:
    if case.status not in ("passed", "failed"):
        return None
    if case.status == "passed":
        return "PASSED"
    if case.failure is not None:
        return {"timeout": "TIMEOUT", "compile": "COMPILE_ERROR"}.get(case.failure.kind, "RUNTIME_ERROR")
    if any(output.figures is not None for output in case.outputs):
        return "INCORRECT_NUMERICAL"
    reasons = " ".join(output.reason or "" for output in case.outputs)
    return "INCORRECT_DTYPE" if reasons.startswith("dtype ") else "INCORRECT_SHAPE"


def _performance(case: CaseCheck, timing: Timing) -> Line | None:
    found = next((each for each in timing.cases if each.case.symbols == case.case.symbols), None)
    if found is None or found.candidate is None or not timing.indicative:
        return None
    latency = found.candidate.median_us / 1000
    reference = found.baselines.get("reference")
    if reference is None:
        return {"latency_ms": latency}
    theirs = reference.median_us / 1000
    return {"latency_ms": latency, "reference_latency_ms": theirs, "speedup_factor": theirs / latency}


def _largest(errors: Iterable[Any]) -> float | str:
    """The largest error; a word where one is not finite, as the benchmark writes it."""
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "Infinity"}
    found = list(errors)
    named = [words[each] for each in found if isinstance(each, str)]
    return next((each for each in ("NaN", "Infinity") if each in named), max((float(x) for x in found), default=0.0))
