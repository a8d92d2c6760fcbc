"""Folders of other benchmarks that go out: with what people said, and the same when they come back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgrade.cli import run
from kgrade.desk import Desk
from kgrade.exchange.brought import BroughtResult, Refused
from kgrade.exchange.formats import Options, arrivals_of
from kgrade.records import codec
from kgrade.records.grade import FindingAnswer, GateAnswer, Grade, Score, Times
from kgrade.records.slugs import ItemId
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.exchange.test_import import (
    ANSWER,
    DEFINITION,
    EVALUATION,
    PROBLEM,
    SOLUTION,
    TRACE,
    WORKLOAD,
    brought,
    faults,
    written,
)

RUN = "runs/mine/level_1_problem_3_sample_{}_kernel.py"
TIMED = {
    "sample_id": 0, "compiled": True, "correctness": True, "runtime": 0.5, "ref_runtime": 1.0,
    "runtime_stats": {"mean": 0.5, "std": 0.1, "min": 0.4, "max": 0.6, "num_trials": 100},
    "metadata": {"hardware": "NVIDIA L40S", "correctness_trials": "(5 / 5)"},
}  # fmt: skip
BROKEN = {"sample_id": 1, "compiled": False, "correctness": False, "runtime": -1.0,
          "metadata": {"hardware": "NVIDIA L40S", "compilation_error": "expected ;"}}  # fmt: skip
STRICT = {"max_atol": 1e-3, "max_rtol": 1e-2, "required_matched_ratio": 0.99}
RIGHT = {"max_relative_error": 1e-6, "max_absolute_error": 1e-7}
PASSED = {**EVALUATION, "log": "", "correctness": RIGHT}
WRONG = {**EVALUATION, "status": "INCORRECT_NUMERICAL", "performance": None,
         "correctness": {"max_relative_error": "NaN", "max_absolute_error": "Infinity"}}  # fmt: skip
FOLDERS = {
    "kernelbench": {
        "KernelBench/level1/3_Scale_Rows.py": PROBLEM,
        RUN.format(0): ANSWER,
        RUN.format(1): ANSWER.replace("x * 2", "x * 3"),
        "runs/mine/eval_results.json": json.dumps({"3": [TIMED, BROKEN]}),
        "results/timing/L40S/baseline_time_torch.json": json.dumps({"level1": {"3_Scale_Rows.py": {"mean": 1.0}}}),
    },
    "flashinfer": {
        "definitions/scale/scale_n8.json": json.dumps(DEFINITION),
        "workloads/scale/scale_n8.jsonl": json.dumps({**WORKLOAD, "tolerance": STRICT}) + "\n",
        "solutions/kit/scale/scale_n8/mine.json": json.dumps(SOLUTION),
        "solutions/kit/scale/scale_n8/other.json": json.dumps({**SOLUTION, "name": "other"}),
        "traces/scale/scale_n8.jsonl": json.dumps({**TRACE, "evaluation": PASSED}) + "\n"
        + json.dumps({**TRACE, "solution": "other", "evaluation": WRONG}) + "\n",
    },
}  # fmt: skip
ITEMS = {"kernelbench": "level1-3-scale-rows/mine-s0", "flashinfer": "scale-n8/mine"}


def queue_of(make_repo: Callable[..., Repo], name: str, folder: Path) -> Repo:
    """A new queue with what lies in `folder`; everybody is called the same, so that trees can be compared."""
    queue = make_repo(name)
    queue.git("config", "user.name", "Ada")
    queue.git("config", "user.email", "ada@example.org")
    small_queue(queue)
    assert brought(queue, folder) == 0
    assert not faults(queue)
    return queue


def exported(queue: Repo, kind: str, folder: Path) -> dict[str, bytes]:
    assert run(["export", kind, "--output", str(folder), "--queue", str(queue.path)]) == 0
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def graded(queue: Repo, item: str, **said: Any) -> None:
    desk = Desk.open(queue.path)
    shown = desk.item(ItemId.parse(item))
    grade = Grade(
        item=item, evaluator=desk.evaluator, rubric=shown.rubric_ref, about=shown.about,
        scores={each.id: Score(score=2, comment="Seen.") for each in shown.rubric.criteria},
        feedback="Look at the last row.",
        times=Times(opened="2026-11-03T09:30:00Z", active_s=60, saved="2026-11-03T09:31:00Z"), **said,
    )  # fmt: skip
    desk.grade_file(ItemId.parse(item), codec.encode_yaml(grade), "by hand")
    desk.close()


def tree_of(queue: Repo, item: str) -> str:
    return queue.git("rev-parse", f"main:queue/{item.partition('/')[0]}")


@pytest.mark.parametrize("kind", sorted(FOLDERS))
def test_what_came_leaves_and_comes_back_the_same(make_repo: Callable[..., Repo], tmp_path: Path, kind: str) -> None:
    one = queue_of(make_repo, "one", written(tmp_path / "in", FOLDERS[kind]))
    first = exported(one, kind, tmp_path / "first")
    for name, text in FOLDERS[kind].items():
        if name.endswith((".json", ".jsonl")):
            values = [[json.loads(line) for line in data.splitlines()] if name.endswith("l") else json.loads(data)
                      for data in (text, first[name])]  # fmt: skip
            assert values[1] == values[0], name
        else:
            assert first[name].decode() == text
    two = queue_of(make_repo, "two", tmp_path / "first")
    assert tree_of(two, ITEMS[kind]) == tree_of(one, ITEMS[kind])
    assert exported(two, kind, tmp_path / "second") == first


def result_of(out: dict[str, bytes], kind: str) -> dict[str, Any]:
    """The record of the first answer: KernelBench's entry, or the evaluation of its trace."""
    if kind == "kernelbench":
        return json.loads(out["runs/mine/eval_results.json"])["3"][0]
    return json.loads(out["traces/scale/scale_n8.jsonl"].splitlines()[0])["evaluation"]


@pytest.mark.parametrize("kind", sorted(FOLDERS))
def test_a_verdict_leaves_in_its_place_and_comes_back_as_a_foreign_grade(
    make_repo: Callable[..., Repo], tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    one = queue_of(make_repo, "one", written(tmp_path / "in", FOLDERS[kind]))
    if kind == "kernelbench":
        graded(
            one, ITEMS[kind], verdict="reject", gates={"wrong-result": GateAnswer(confirmed=True, comment="The tail.")}
        )
    else:
        answer = FindingAnswer(disposition="confirmed", comment="It keeps the first result.")
        graded(one, ITEMS[kind], verdict="reject", findings={"memo@solution/k.py:1": answer})
    first = exported(one, kind, tmp_path / "first")
    found = result_of(first, kind)
    if kind == "kernelbench":
        assert (found["correctness"], found["metadata"]["correctness_issue"]) == (
            False,
            "rejected by people: wrong-result",
        )
        [word] = found["metadata"]["kgrade"]["grades"]
    else:
        assert (found["status"], found["performance"], found["correctness"]) == ("REWARD_HACK", None, None)
        [word] = found["kgrade"]["grades"]
    assert (word["evaluator"], word["verdict"], word["feedback"]) == ("ada", "reject", "Look at the last row.")
    before = one.git("rev-parse", "main")
    capsys.readouterr()
    assert brought(one, tmp_path / "first") == 0
    assert "new" not in capsys.readouterr().out
    assert one.git("rev-parse", "main") == before

    two = queue_of(make_repo, "two", tmp_path / "first")
    path = f"{ItemId.parse(ITEMS[kind]).folder}/grades/imported-ada.yaml"
    grade = codec.decode(Grade, two.show(path, "main").encode() + b"\n", path)
    assert (grade.verdict, grade.times.saved) == ("reject", "2026-11-03T09:31:00Z")
    assert "Look at the last row." in grade.feedback
    evidence = f"{ItemId.parse(ITEMS[kind]).folder}/evidence"
    assert two.git("rev-parse", f"main:{evidence}") == one.git("rev-parse", f"main:{evidence}"), "as it was measured"
    assert exported(two, kind, tmp_path / "second") == first


def test_a_status_that_is_a_verdict_becomes_a_foreign_grade(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    hacked = {**EVALUATION, "status": "REWARD_HACK", "performance": None, "log": "It replaces the timer."}
    traces = json.dumps({**TRACE, "evaluation": hacked}) + "\n"
    folder = written(tmp_path / "in", FOLDERS["flashinfer"] | {"traces/scale/scale_n8.jsonl": traces})
    one = queue_of(make_repo, "one", folder)
    path = f"{ItemId.parse(ITEMS['flashinfer']).folder}/grades/imported-sol-execbench.yaml"
    grade = codec.decode(Grade, one.show(path, "main").encode() + b"\n", path)
    assert grade.verdict == "reject"
    assert grade.feedback.split("\n\n") == [
        "Verdict there: REWARD_HACK on 1 of 1 workloads",
        "It replaces the timer.\n",
    ]
    first = exported(one, "flashinfer", tmp_path / "first")
    assert first["traces/scale/scale_n8.jsonl"].decode() == traces
    two = queue_of(make_repo, "two", tmp_path / "first")
    assert tree_of(two, ITEMS["flashinfer"]) == tree_of(one, ITEMS["flashinfer"])


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        (3, "grades[0] is 3, expected a mapping of fields"),
        (
            {"evaluator": "ada", "verdict": "fine", "saved": "2026-11-03T09:31:00Z"},
            "verdict is 'fine', expected one of",
        ),
        ({"evaluator": "ada", "verdict": "hold", "saved": "today"}, "saved is 'today', expected a time such as"),
        ({"verdict": "hold", "saved": "2026-11-03T09:31:00Z"}, "evaluator` is missing, expected text"),
    ],
)
@pytest.mark.parametrize("kind", sorted(FOLDERS))
def test_a_word_that_does_not_fit_is_one_sentence(tmp_path: Path, kind: str, word: Any, sentence: str) -> None:
    block = {"grades": [word]}
    if kind == "kernelbench":
        entry = {**TIMED, "metadata": {"hardware": "NVIDIA L40S", "kgrade": block}}
        change = {"runs/mine/eval_results.json": json.dumps({"3": [entry]})}
    else:
        change = {
            "traces/scale/scale_n8.jsonl": json.dumps({**TRACE, "evaluation": {**PASSED, "kgrade": block}}) + "\n"
        }
    arrivals = list(arrivals_of(written(tmp_path, FOLDERS[kind] | change), Options(format=kind))[1])
    [refused] = [each for each in arrivals if isinstance(each, Refused)]
    assert sentence in refused.why
    assert any(isinstance(each, BroughtResult) for each in arrivals), "what was measured comes all the same"
