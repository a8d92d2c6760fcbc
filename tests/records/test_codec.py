"""Records are decoded strictly: every fault is named with file, line, key path, found and expected."""

from pathlib import Path

import pytest

from kgrade.records import codec
from kgrade.records.evidence import Check, Environment, Evidence, Inputs, Stages, Tool
from kgrade.records.faults import BadRecord
from kgrade.records.grade import About, Grade, LineNote, Score, SheetRef, Times
from kgrade.records.rubric import Rubric
from kgrade.records.settings import Settings
from kgrade.records.submission import Submission
from kgrade.records.task import Task

TASK = """\
schema: kgrade/task@1
title: Row-wise softmax
type: generation
language: triton
targets: [sm_90, cpu]
entry: softmax
reference: reference.py:softmax
inputs:
  x: {shape: [M, N], dtype: $dtype, layouts: [contiguous, transposed]}
requires: [M >= 1]
outputs:
  y: {shape: [M, N], dtype: $dtype}
cases:
  - {M: [1, 128], N: 781, dtype: [float32, bfloat16], families: [normal, neg-inf]}
benchmark:
  cases: [{M: 4096, N: 4096, dtype: float16}]
tolerance:
  float32: {atol: 1e-9, rtol: 1.3e-6, ulp: 8}
  bfloat16: {atol: 2e-5, rtol: 1.6e-2}
work: {flops: 5*M*N, bytes: 2*M*N*itemsize}
rubric: generation
"""


def faults(kind, text, path="queue/a/task.yaml"):
    with pytest.raises(BadRecord) as caught:
        codec.decode(kind, text.encode(), path)
    return [str(fault) for fault in caught.value.faults]


def test_a_task_is_read_and_multiplied_out():
    task = codec.decode(Task, TASK.encode(), "task.yaml")
    cases = task.check_cases()
    names = [case.name for case in cases]
    assert len(names) == len(set(names)) == 2 * 2 * (2 + 1)
    assert "M=128 N=781 bfloat16 neg-inf" in names
    assert "M=1 N=781 float32 normal transposed" in names
    assert task.input_shape("x", cases[0]) == (1, 781)
    assert task.dtype(task.outputs["y"], cases[0]) == "float32"
    assert [case.name for case in task.benchmark_cases()] == ["M=4096 N=4096 float16 normal"]


def test_every_fault_is_listed_with_its_line():
    text = TASK.replace("language: triton", "language: tritn").replace("title:", "titel:").replace("1e-9", "-1")
    listed = faults(Task, text)
    assert listed[0].startswith("queue/a/task.yaml:2: titel: found the unknown key 'titel'")
    assert "did you mean title?" in listed[0]
    assert "queue/a/task.yaml:4: language: found 'tritn', expected one of cuda" in listed[1]
    assert any("tolerance.float32.atol" in each and ":18:" in each for each in listed)
    assert any("title: found nothing, expected text; add title" in each for each in listed)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("shape: [M, N], dtype: $dtype, ", "shape: [M, Q], dtype: $dtype, ", "inputs.x.shape[1]: found the symbol Q"),
        ("5*M*N", "__import__('os')", "work.flops: found"),
        ("[M >= 1]", "[M]", "requires[0]: found 'M' is no comparison"),
        ("dtype: [float32, bfloat16]", "dtype: [float32, float16]", "no row for float16"),
        ("families: [normal, neg-inf]", "families: [odd]", "cases[0].families: found 'odd'"),
        ("M: [1, 128]", "M: [1, x]", "cases[0].M: found [1, 'x']"),
        ("rubric: generation", "rubric: generation\nbackward: [w]", "backward[0]: found 'w', expected an input"),
        ("cases:\n  - {", "cases: []\nother:\n  - {", "cases: found a list of 0"),
        ("schema: kgrade/task@1\n", "", "schema: found no such key, expected kgrade/task@1"),
        ("task@1", "grade@1", "schema: found 'kgrade/grade@1'"),
        ("reference.py:softmax", "../x", "reference: found '../x', expected text of the form"),
    ],
)
def test_one_fault_one_sentence(old, new, told):
    assert any(told in each for each in faults(Task, TASK.replace(old, new)))


def test_a_submission_needs_a_time_with_its_offset():
    text = "schema: kgrade/submission@1\nauthor: kit\ncreated: 2026-11-03 09:30\n"
    assert "expected a time such as" in faults(Submission, text)[0]


def test_settings_need_no_schema_and_refuse_unknown_keys():
    assert codec.decode(Settings, b"order: shuffled\n", "kgrade.yaml").order == "shuffled"
    assert "did you mean order?" in faults(Settings, "ordr: fifo\n")[0]


def test_evidence_without_a_reason_is_refused():
    evidence = Evidence(
        item="a/s01",
        target="cpu",
        collected="2026-11-03T09:30:00Z",
        inputs=Inputs(task_tree="1", solution_tree="2"),
        tool=Tool(version="0"),
        environment=Environment(hardware="a CPU", interpreter=True, sandbox="bubblewrap"),
        stages=Stages(check=Check(status="error")),
    )
    with pytest.raises(BadRecord, match=r"stages\.check: found error without a reason"):
        codec.decode(Evidence, codec.encode_json(evidence), "cpu.json")


def test_a_grade_comes_back_as_it_was_written():
    grade = Grade(
        item="softmax-rows/s01",
        evaluator="ada",
        rubric=SheetRef(id="generation", sha256="4f"),
        about=About(task_tree="9c", solution_tree="77", evidence={"cpu": "5d"}),
        scores={"numerics": Score(score=1, comment="NaN\nwhere: 0 # not"), "performance": Score(na=True, comment="-")},
        comments=[LineNote(path="solution/k.py", lines=(3, 4), text_sha256="ab", text="no")],
        verdict="revise",
        points=61.5,
        total=0.0,
        feedback="First line.\n\n- a list\n",
        times=Times(opened="2026-11-03T09:30:00Z", active_s=412, saved="2026-11-03T09:37:00+00:00"),
    )
    data = codec.encode_yaml(grade)
    assert codec.decode(Grade, data, "ada.yaml") == grade
    assert b"feedback: |\n" in data
    assert data.startswith(b"schema: kgrade/grade@1\n")


def test_scores_say_one_thing():
    text = "scores: {a: {score: 1, na: true, comment: x}, b: {comment: x}, c: {na: true}}\n"
    head = "schema: kgrade/grade@1\nitem: a/b\nevaluator: ada\nrubric: {id: r, sha256: x}\nabout: {task_tree: t}\n"
    times = "times: {opened: 2026-11-03T09:30:00Z, saved: yesterday}\n"
    listed = faults(Grade, head + text + times)
    assert [each.split(": found")[0].split(": ", 1)[1] for each in listed] == [
        "times.saved",
        "scores.a",
        "scores.b",
        "scores.c",
    ]


@pytest.mark.parametrize("path", sorted(Path("rubrics").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_rubrics_are_records(path):
    rubric = codec.decode(Rubric, path.read_bytes(), str(path))
    assert codec.decode(Rubric, codec.encode_yaml(rubric), str(path)) == rubric


def test_a_rubric_that_refers_to_nothing_is_refused():
    text = Path("rubrics/fusion.yaml").read_text().replace("{also: invalid-benchmark}", "{also: nothing}")
    assert any("expected one of build" in each for each in faults(Rubric, text.replace("also: invalid", "also: bad")))
