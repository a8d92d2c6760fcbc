"""Old notes find their lines again, evidence suggests gates, and the author gets Markdown."""

from pathlib import Path

from kgrade.desk.anchors import find_again, lines_sha256
from kgrade.desk.feedback import feedback_markdown
from kgrade.desk.suggestions import suggested_gates
from kgrade.records import codec
from kgrade.records.evidence import (
    Build,
    BuildTarget,
    Case,
    CaseCheck,
    Check,
    Environment,
    Evidence,
    Finding,
    Inputs,
    Integrity,
    Stages,
    Timing,
    Tool,
)
from kgrade.records.grade import About, GateAnswer, Grade, LineNote, Probe, ProbeCase, Score, SheetRef, Times
from kgrade.records.rubric import Rubric
from kgrade.records.task import Task
from tests.records.test_codec import TASK

RUBRIC = codec.decode(Rubric, Path("rubrics/generation.yaml").read_bytes(), "generation.yaml")
TASK_RECORD = codec.decode(Task, TASK.encode(), "task.yaml")
CODE = b"import triton\n\nrow = load()\nnum = exp(row)\nrow = load()\n"


def note(lines, text="look", path="solution/k.py"):
    held = CODE.decode().split("\n")[lines[0] - 1 : lines[1]]
    return LineNote(path=path, lines=lines, text_sha256=lines_sha256(held), text=text)


def grade(evaluator, **fields):
    return Grade(
        item="softmax-rows/s01",
        evaluator=evaluator,
        rubric=SheetRef(id="generation", sha256="x"),
        about=About(task_tree="t"),
        times=Times(opened="2026-11-03T09:30:00Z", saved="2026-11-03T09:37:00Z"),
        **fields,
    )


def test_notes_move_with_their_lines():
    files = {"solution/k.py": CODE.replace(b"exp(row)\n", b"exp(row)\n# more\n")}
    open_, nearest = find_again([note((3, 4)), note((5, 5))], files)
    assert (open_.status, open_.lines) == ("open", (3, 4))
    assert (nearest.status, nearest.lines) == ("open", (6, 6))


def test_notes_on_changed_or_lost_lines_say_so():
    assert (
        find_again([note((4, 4))], {"solution/k.py": CODE.replace(b"exp(row)", b"exp(row - m)")})[0].status
        == "addressed"
    )
    assert find_again([note((4, 4))], {"solution/other.py": CODE})[0].status == "gone"
    assert find_again([note((1, 5))], {"solution/k.py": b""})[0].status == "addressed"


def evidence(**stages):
    return Evidence(
        item="softmax-rows/s01",
        target="cpu",
        collected="2026-11-03T09:30:00Z",
        inputs=Inputs(task_tree="t", solution_tree="s"),
        tool=Tool(version="0"),
        environment=Environment(hardware="a CPU", interpreter=True, sandbox="bubblewrap"),
        stages=Stages(**stages),
    )


def test_evidence_suggests_gates_with_the_reason():
    case = Case(symbols={"M": 1}, dtype="float32")
    found = suggested_gates(
        RUBRIC,
        TASK_RECORD,
        {
            "cpu": evidence(
                build=Build(
                    status="failed", targets=[BuildTarget(target="sm_90", status="failed", reason="no such file")]
                ),
                check=Check(
                    status="failed",
                    cases=[
                        CaseCheck(case=case, status="failed"),
                        CaseCheck(case=case, status="failed", required=False),
                        CaseCheck(case=case, status="passed"),
                    ],
                ),
                time=Timing(status="passed", indicative=False),
                integrity=Integrity(
                    status="flagged",
                    findings=[
                        Finding(
                            rule="B6",
                            name="dead-kernel",
                            severity="suspect",
                            path="solution/k.py",
                            line=4,
                            snippet="",
                            why="never launched",
                            settles="launch count",
                        )
                    ],
                ),
            )
        },
        None,
    )
    assert found["build"] == "sm_90: the build failed: no such file"
    assert found["wrong-result"] == "cpu: 1 of 2 required cases fail, first M=1 float32 normal"
    assert found["substitution"].startswith("B6 dead-kernel at solution/k.py:4")
    assert found["not-measured"] == "no timing on sm_90"
    assert "integrity" not in found
    assert "race" not in found


def test_nothing_is_suggested_without_evidence_but_what_is_missing():
    assert suggested_gates(RUBRIC, TASK_RECORD, {}, None) == {"not-measured": "no timing on sm_90"}
    assert "ungradable" in suggested_gates(RUBRIC, TASK_RECORD, {}, "solution/ is empty")


def test_feedback_is_merged_without_duplicates_and_keeps_private_things_private():
    grades = [
        grade(
            "ada",
            verdict="revise",
            total=0.0,
            scores={"numerics": Score(score=1, comment="NaN rows.")},
            gates={"wrong-result": GateAnswer(confirmed=True, comment="-inf rows")},
            comments=[note((4, 4), "No max subtracted.")],
            probes=[
                Probe(case=ProbeCase(symbols={"M": 1}, dtype="float32", family="nan"), result="failed", summary="NaN")
            ],
            feedback="Subtract the row maximum.",
            private_note="SECRET",
        ),
        grade("bob", verdict="revise", total=40.0, scores={"numerics": Score(score=1, comment="NaN rows.")}),
    ]
    text = feedback_markdown("softmax-rows/s01", TASK_RECORD, RUBRIC, grades, {"solution/k.py": CODE})
    assert text.count("NaN rows.") == 1
    assert "**revise**, 0 of 100 (ada)" in text
    assert "- `solution/k.py:4`: No max subtracted.\n  ```\n  num = exp(row)\n  ```" in text
    assert "M=1 float32 nan: failed: NaN" in text
    assert "SECRET" not in text
    assert "(ada)" not in feedback_markdown("a", TASK_RECORD, RUBRIC, grades, {}, named=False)
