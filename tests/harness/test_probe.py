"""A case of one's own: how it is read, what it shows, that it can be cancelled, and that it lands in the grade."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kgrade.collection import CollectionError, probe_item
from kgrade.harness.channel import Cancelled
from kgrade.harness.probe import BadOrder, Order, recorded
from kgrade.harness.progress import Step
from kgrade.records import codec
from kgrade.records.evidence import CaseCheck
from kgrade.records.slugs import ItemId
from kgrade.records.task import Task, Tolerance
from tests.conftest import Repo

TASK = """\
schema: kgrade/task@1
title: Row sums
type: generation
language: python
targets: [cpu]
entry: rows
reference: reference.py:rows
inputs: {x: {shape: [M, N], dtype: $dtype, layouts: [contiguous, strided]}}
outputs: {y: {shape: [M], dtype: $dtype}}
requires: [N >= 1]
cases: [{M: 3, N: 5, dtype: [float32, bfloat16]}]
tolerance: {float32: {atol: 1e-6, rtol: 1e-6}, bfloat16: {atol: 1e-2, rtol: 1e-2}}
rubric: generation
"""
KERNEL = """\
def rows(x):
    while x.shape[0] == 99:
        pass
    return x.sum(-1) + (x.shape[1] == 7)
"""
QUEUE = {
    "queue/rows/task.yaml": TASK,
    "queue/rows/prompt.md": "Sum each row.\n",
    "queue/rows/reference.py": "def rows(x):\n    return x.sum(-1)\n",
    "queue/rows/submissions/s01/submission.yaml": (
        "schema: kgrade/submission@1\nauthor: kit\ncreated: 2026-11-03T09:30:00Z\n"
    ),
    "queue/rows/submissions/s01/solution/k.py": KERNEL,
    "rubrics/generation.yaml": Path("rubrics/generation.yaml").read_text(),
}
RECORD = codec.decode(Task, TASK.encode(), "task.yaml")
S01 = ItemId("rows", "s01")


def test_a_case_is_read_in_any_order_and_the_rest_is_the_tasks() -> None:
    order = Order.read("bfloat16 N=7 strided nan rtol=1e-2 ulp=4 on sm_90", RECORD)
    assert order.case.name == "M=3 N=7 bfloat16 nan strided"
    assert order.target == "sm_90"
    assert order.tolerance == Tolerance(atol=0.0, rtol=1e-2, ulp=4)
    plain = Order.read("", RECORD)
    assert (plain.case.name, plain.target, plain.tolerance) == ("M=3 N=5 float32 normal", "cpu", None)
    again = Order.read(plain.case.name, RECORD)
    assert again == plain, "a case's own name is a way to write it"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("K=3", "no symbol 'K'; its symbols: M, N"),
        ("M=-1", "expected a whole number that is not negative"),
        ("M=1e3", "expected a whole number that is not negative"),
        ("M=²", "expected a whole number"),
        ("weird", "'weird' is no size"),
        ("float16", "no tolerance for float16"),
        ("atol=nan", "expected a number that is not negative"),
        ("rtol=x", "expected a number"),
        ("M=1000000 N=1000000", "limits.memory_gb allows 16"),
    ],
)
def test_what_is_no_case_is_said_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(BadOrder) as why:
        Order.read(text, RECORD)
    assert said in str(why.value)
    assert "\n" not in str(why.value)


def test_a_target_that_cannot_be_run_is_not_run_and_an_unknown_item_is_said(make_repo: object) -> None:
    repo = make_repo("queue")  # type: ignore[operator]
    repo.commit(QUEUE)
    kept, found = probe_item(repo.path, S01, "M=2 on trn2")
    assert found.status == kept.result == "not-run"
    assert kept.summary.startswith("on trn2: ")
    with pytest.raises(CollectionError, match="'weird' is no size"):
        probe_item(repo.path, S01, "weird")
    with pytest.raises(CollectionError, match="s09"):
        probe_item(repo.path, ItemId("rows", "s09"), "")


def test_what_the_grade_keeps_says_what_was_asked() -> None:
    order = Order.read("N=0 strided atol=1e-3", RECORD)
    kept = recorded(order, CaseCheck(case=order.case, status="failed", required=False, reason="y: 3 of 3 wrong"))
    assert kept.summary == "on cpu, strided, atol=0.001, rtol=0, outside the task's contract: y: 3 of 3 wrong"
    assert kept.case.symbols == {"M": 3, "N": 0}


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("N=7", "failed", "elements"),
        ("N=7 atol=2", "passed", "absolute"),
        ("N=6 strided bfloat16", "passed", "absolute"),
        ("N=6 family", "", "is no size"),
    ],
)
def test_cases_run_at_their_tolerance(make_repo: object, text: str, status: str, words: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    repo = make_repo("queue")  # type: ignore[operator]
    repo.commit(QUEUE)
    if not status:
        with pytest.raises(CollectionError, match=words):
            probe_item(repo.path, S01, text)
        return
    kept, found = probe_item(repo.path, S01, text)
    assert (kept.result, found.status) == (status, status)
    assert words in kept.summary


@pytest.mark.long
def test_a_case_that_never_ends_is_cancelled(make_repo: object) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    repo: Repo = make_repo("queue")  # type: ignore[operator]
    repo.commit(QUEUE)
    cancel = threading.Event()
    told: list[Step] = []

    def step(at: Step) -> None:
        told.append(at)
        if at.done == 2:
            threading.Timer(1.0, cancel.set).start()

    with pytest.raises(Cancelled):
        probe_item(repo.path, S01, "M=99", step, cancel)
    assert [each.done for each in told if each.stage == "probe"] == [0, 1, 2]
