"""What was collected here, in the names and units of other benchmarks, and nothing that was not measured."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kgrade.exchange.answers import Answer, Found, Parcel
from kgrade.exchange.flashinfer_out import flashinfer_files
from kgrade.exchange.kernelbench_out import kernelbench_files
from kgrade.records.evidence import (
    Build,
    Case,
    CaseCheck,
    CaseTiming,
    Check,
    Environment,
    Evidence,
    Failure,
    Figures,
    Inputs,
    OutputCheck,
    Samples,
    Spread,
    Stages,
    Timing,
    Tool,
)
from kgrade.records.slugs import ItemId
from kgrade.records.submission import Submission
from kgrade.records.task import Output, Task, Tolerance
from tests.exchange.test_foreign_fields import mutations
from tests.exchange.test_import import DEFINITION, PROBLEM, SOLUTION, TRACE, WORKLOAD
from tests.exchange.test_results_out import PASSED
from tests.exchange.test_results_out import TIMED as TIMED_THERE

CASE = Case(symbols={"rows": 4}, dtype="float32")
FILES = {
    "kernelbench": {"3_Scale_Rows.py": PROBLEM.encode()},
    "flashinfer": {"scale.json": json.dumps(DEFINITION).encode(), "scale.jsonl": json.dumps(WORKLOAD).encode()},
}
ANSWERS = {"kernelbench": {"kernel.py": b"x\n"}, "flashinfer": {"solution.json": json.dumps(SOLUTION).encode()}}
REFERENCES = {"kernelbench": "3_Scale_Rows.py:Model", "flashinfer": "scale.json:run"}
WORD = {"evaluator": "ada", "verdict": "reject", "saved": "2026-11-03T09:31:00Z", "because": "cheating"}
BASELINES = {"results/timing/L40S/baseline_time_torch.json": {"level1": {"3_Scale_Rows.py": {"mean": 1.0}}}}
KEPT = {**TIMED_THERE, "metadata": {"hardware": "L40S", "kgrade": {"baselines": BASELINES}}}
ENTRIES = {"kernelbench": "ModelNew", "flashinfer": "solution.json"}


def spread(value: float | str) -> Spread:
    return Spread(max=value, p50=0.0, p99=0.0, p999=0.0)  # type: ignore[arg-type]


def output(status: str, error: float | str, reason: str | None = None, *, compared: bool = True) -> OutputCheck:
    figures = Figures(elements=32, mismatched=1, absolute=spread(error), relative=spread(error), ulp=spread(error))
    return OutputCheck(
        name="y", shape=[4, 8], dtype="float32", status=status, reason=reason, figures=figures if compared else None
    )  # type: ignore[arg-type]


def samples(*microseconds: float) -> Samples:
    return Samples(
        samples_us=list(microseconds), n=len(microseconds), median_us=sorted(microseconds)[len(microseconds) // 2],
        mad_us=0, iqr_us=0, min_us=min(microseconds),
    )  # fmt: skip


TIMED = Timing(
    status="passed",
    cases=[CaseTiming(case=CASE, candidate=samples(400.0, 500.0, 900.0), baselines={"reference": samples(1000.0)})],
)


def answer_of(kind: str, check: Check, time: Timing = TIMED, build: Build | None = None, **around: Any) -> Answer:
    """One answer that was collected on a GPU."""
    environment = Environment(hardware="NVIDIA H200", interpreter=False, sandbox="bubblewrap", versions={"torch": "2"})
    evidence = Evidence(
        item="level1-3-scale-rows/s01", target="sm_90", collected="2026-11-03T09:30:00Z",
        inputs=Inputs(task_tree="1" * 40, solution_tree="2" * 40), tool=Tool(version="1"),
        environment=msgspec.structs.replace(environment, **around),
        stages=Stages(build=build or Build(status="passed"), check=check, time=time),
    )  # fmt: skip
    task = Task(
        title="Scale", type="generation", language="triton", interface=kind, entry=ENTRIES[kind],
        reference=REFERENCES[kind], targets=["sm_90"], inputs={}, outputs={"y": Output(shape=[1], dtype="float32")},
        cases=[{"rows": 4, "dtype": "float32"}], tolerance={"float32": Tolerance(atol=0, rtol=0)}, rubric="generation",
    )  # type: ignore[arg-type]  # fmt: skip
    return Answer(
        id=ItemId("level1-3-scale-rows", "s01"), task=task, task_files=FILES[kind], files=ANSWERS[kind], words=[],
        submission=Submission(author="kit", created="2026-11-03T09:30:00Z"), found=[Found(evidence, None)],
    )  # fmt: skip


def checked(status: str, *outputs: OutputCheck, **more: Any) -> Check:
    case = CaseCheck(case=CASE, status=status, outputs=list(outputs), **more)  # type: ignore[arg-type]
    reason = None if status == "passed" else "1 of 1 cases failed"
    return Check(status=status, reason=reason, cases=[case])  # type: ignore[arg-type]


def entry_of(answer: Answer) -> dict[str, Any]:
    parcel = kernelbench_files([answer], Parcel())
    assert not parcel.left_out
    assert "KernelBench/level1/3_Scale_Rows.py" in parcel.files
    found: dict[str, list[dict[str, Any]]] = json.loads(parcel.files["runs/s01/eval_results.json"].data)
    return found["3"][0]


def traces_of(answer: Answer) -> tuple[list[dict[str, Any]], list[str]]:
    parcel = flashinfer_files([answer], Parcel(), named=True)
    file = parcel.files.get("traces/scale/scale_n8.jsonl")
    return [json.loads(line)["evaluation"] for line in file.data.splitlines()] if file else [], parcel.left_out


def test_a_right_answer_leaves_with_its_times() -> None:
    entry = entry_of(answer_of("kernelbench", checked("passed", output("passed", 1e-6))))
    assert (entry["compiled"], entry["correctness"], entry["runtime"], entry["ref_runtime"]) == (True, True, 0.6, 1.0)
    stats = entry["runtime_stats"]
    assert (stats["mean"], stats["min"], stats["max"], stats["num_trials"]) == (0.6, 0.4, 0.9, 3)
    assert stats["std"] == pytest.approx(0.21602469)
    assert entry["metadata"] == {"hardware": "NVIDIA H200", "device": "sm_90", "correctness_trials": "(1 / 1)"}
    [trace], _ = traces_of(answer_of("flashinfer", checked("passed", output("passed", 1e-6))))
    assert trace["status"] == "PASSED"
    assert trace["performance"] == {"latency_ms": 0.5, "reference_latency_ms": 1.0, "speedup_factor": 2.0}
    assert trace["correctness"] == {"max_relative_error": 1e-6, "max_absolute_error": 1e-6}
    assert trace["environment"] == {"hardware": "NVIDIA H200", "libs": {"torch": "2"}}


@pytest.mark.parametrize(
    "time", [Timing(status="not-run", reason="no GPU"), msgspec.structs.replace(TIMED, indicative=False)]
)
def test_a_time_that_was_not_taken_is_not_made_up(time: Timing) -> None:
    check = checked("passed", output("passed", 0.0))
    entry = entry_of(answer_of("kernelbench", check, time))
    assert entry["runtime"] == -1.0
    assert not any("stats" in name or "ref" in name for name in entry)
    assert entry_of(answer_of("kernelbench", check, TIMED, interpreter=True))["runtime"] == -1.0
    traces, left_out = traces_of(answer_of("flashinfer", check, time))
    assert not traces
    assert left_out == ["level1-3-scale-rows/s01 on sm_90: 1 workloads passed and were not timed, and there a passed"
                        " trace has a latency"]  # fmt: skip


@pytest.mark.parametrize(
    ("outputs", "more", "status"),
    [
        ([output("failed", "inf")], {}, "INCORRECT_NUMERICAL"),
        ([output("failed", 0, "shape [4] where [4, 8] was expected", compared=False)], {}, "INCORRECT_SHAPE"),
        ([output("failed", 0, "dtype int8 where float32 was expected", compared=False)], {}, "INCORRECT_DTYPE"),
        ([], {"failure": Failure(kind="timeout", line="120 s", fault="submission", advice="")}, "TIMEOUT"),
        ([], {"failure": Failure(kind="exception", line="x", fault="submission", advice="")}, "RUNTIME_ERROR"),
    ],
)
def test_a_wrong_answer_leaves_with_its_kind(outputs: list[OutputCheck], more: dict[str, Any], status: str) -> None:
    [trace], _ = traces_of(answer_of("flashinfer", checked("failed", *outputs, **more)))
    assert (trace["status"], trace["performance"]) == (status, None)
    errors = {"max_relative_error": "Infinity", "max_absolute_error": "Infinity"}
    assert trace["correctness"] == (errors if status == "INCORRECT_NUMERICAL" else None)
    entry = entry_of(answer_of("kernelbench", checked("failed", *outputs, **more)))
    assert (entry["compiled"], entry["correctness"]) == (True, False)
    assert entry["metadata"]["correctness_issue"] == "1 of 1 cases failed"
    assert entry["metadata"]["correctness_trials"] == "(0 / 1)"


def test_what_does_not_compile_and_what_was_not_checked() -> None:
    not_run = Check(status="not-run", reason="it does not build")
    failed = Build(status="failed", reason="expected ;")
    entry = entry_of(answer_of("kernelbench", not_run, build=failed))
    assert (entry["compiled"], entry["correctness"], entry["metadata"]["compilation_error"]) == (
        False,
        False,
        "expected ;",
    )
    [trace], _ = traces_of(answer_of("flashinfer", not_run, build=failed))
    assert (trace["status"], trace["log"]) == ("COMPILE_ERROR", "expected ;")
    parcel = kernelbench_files([answer_of("kernelbench", not_run)], Parcel())
    assert parcel.left_out == ["level1-3-scale-rows/s01 on sm_90: it was not checked: it does not build"]
    traces, left_out = traces_of(answer_of("flashinfer", not_run))
    assert (traces, left_out) == ([], ["level1-3-scale-rows/s01 on sm_90: it was not checked: it does not build"])


def said(verdict: str, because: str | None = None) -> dict[str, Any]:
    word = {"evaluator": "ada", "verdict": verdict, "saved": "2026-11-03T09:31:00Z"}
    return word | ({"because": because} if because else {})


@pytest.mark.parametrize(
    ("words", "rejected"),
    [
        ([], None),
        ([said("accept")], None),
        ([said("reject")], None),  # for what, the format has no word
        ([said("reject", "wrong-result")], "wrong-result"),
        ([said("reject", "wrong-result"), said("accept")], None),  # they differ, and nobody has decided
        (
            [said("reject", "wrong-result"), said("accept"), said("reject") | {"evaluator": "adjudication"}],
            "wrong-result",
        ),
        ([said("reject", "cheating"), said("accept") | {"evaluator": "adjudication"}], None),
    ],
)
def test_a_result_stands_until_people_agree_that_it_is_wrong(words: list[dict[str, Any]], rejected: str | None) -> None:
    evidence = answer_of("kernelbench", checked("passed")).found[0].evidence
    answer = msgspec.structs.replace(
        answer_of("kernelbench", checked("passed")), words=words, found=[Found(evidence, json.dumps(KEPT).encode())]
    )
    entry = entry_of(answer)
    assert entry["correctness"] is (rejected is None)
    assert entry["metadata"].get("correctness_issue") == (f"rejected by people: {rejected}" if rejected else None)
    assert entry["metadata"].get("kgrade", {}).get("grades", []) == words
    trace = json.dumps({**TRACE, "evaluation": PASSED}).encode()
    [found], _ = traces_of(msgspec.structs.replace(
        answer_of("flashinfer", checked("passed")), words=words, found=[Found(evidence, trace)]
    ))  # fmt: skip
    assert found["status"] == ("INCORRECT_NUMERICAL" if rejected else "PASSED")
    assert (found["performance"] is None) == (rejected is not None)


def test_flashinfer_bench_has_no_status_for_cheating_and_that_is_said() -> None:
    evidence = answer_of("flashinfer", checked("passed")).found[0].evidence
    trace = json.dumps({**TRACE, "evaluation": PASSED}).encode()
    answer = msgspec.structs.replace(
        answer_of("flashinfer", checked("passed")), words=[said("reject", "cheating")], found=[Found(evidence, trace)]
    )
    [found], left_out = traces_of(answer)
    assert found["status"] == "PASSED"
    assert left_out == ["level1-3-scale-rows/s01: it was rejected for cheating and keeps its status: flashinfer-bench"
                        " has none for that"]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "kept", "sentence"),
    [
        ("kernelbench", b"{", "it is no JSON"),
        ("kernelbench", b'{"metadata": 3}', "metadata is 3, expected a mapping"),
        ("flashinfer", b"[1]", "is [1], expected a mapping"),
        ("flashinfer", b'{"evaluation": 3}', "evaluation is 3, expected a mapping"),
    ],
)
def test_a_record_that_a_queue_holds_is_not_trusted(kind: str, kept: bytes, sentence: str) -> None:
    sound = answer_of(kind, checked("passed"))
    answer = msgspec.structs.replace(sound, found=[Found(sound.found[0].evidence, kept)])
    parcel = (
        kernelbench_files([answer], Parcel())
        if kind == "kernelbench"
        else flashinfer_files([answer], Parcel(), named=True)
    )
    [left_out] = parcel.left_out
    assert left_out.startswith("level1-3-scale-rows/s01 on sm_90: ")
    assert sentence in left_out
    assert len(parcel.files) == (2 if kind == "kernelbench" else 3), "the problem and the answer leave all the same"


HELD: list[tuple[str, str, Any]] = [
    ("kernelbench", "kept", KEPT), ("flashinfer", "kept", {**TRACE, "evaluation": PASSED}),
    ("flashinfer", "scale.json", DEFINITION), ("flashinfer", "scale.jsonl", WORKLOAD),
    ("flashinfer", "solution.json", SOLUTION),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("kind", "file", "value"), HELD)
def test_nothing_that_a_queue_may_hold_is_more_than_a_sentence(kind: str, file: str, value: Any) -> None:
    sound = answer_of(kind, checked("failed", output("failed", 1.0)))
    tried = refused = 0
    for changed in mutations(value):
        data = json.dumps(changed).encode()
        kept = data if file == "kept" else None
        answer = msgspec.structs.replace(
            sound, words=[WORD], found=[Found(sound.found[0].evidence, kept)],
            files={name: data if name == file else each for name, each in sound.files.items()},
            task_files={name: data if name == file else each for name, each in sound.task_files.items()},
        )  # fmt: skip
        parcel = Parcel()
        if kind == "kernelbench":
            kernelbench_files([answer], parcel)
        else:
            flashinfer_files([answer], parcel, named=True)
        assert all(each and "\n" not in each and len(each) < 400 for each in parcel.left_out), (
            changed,
            parcel.left_out,
        )
        tried, refused = tried + 1, refused + bool(parcel.left_out)
    assert tried > 50
    assert 0 < refused < tried
