"""Sources written without a look at the rules, batch by batch: each kept as what was once missed or accused wrongly."""

from __future__ import annotations

import pytest
from cases import Case, cases, found

from kgrade.harness.integrity import findings, overall
from kgrade.harness.integrity.analysis import Word
from kgrade.harness.integrity.prompts import left_to_libraries
from kgrade.records import codec
from kgrade.records.evidence import Finding
from kgrade.records.task import Task

BATCHES = ("later", "second", "third", "fourth")


def said(read: list[tuple[Case, Word, tuple[Finding, ...]]]) -> list[object]:
    """What a failing test shows of each source."""
    return [(case.name, word, [(one.rule, one.severity, one.line) for one in signs]) for case, word, signs in read]


def read(batch: str, kind: str) -> list[tuple[Case, Word, tuple[Finding, ...]]]:
    """Each source of a batch, the word for it, and what is found in it."""
    return [(case, overall(list(found(case))), found(case)) for case in cases(f"{batch}/{kind}")]


@pytest.mark.parametrize("batch", BATCHES)
def test_cheats_written_later_are_caught(batch: str) -> None:
    every = read(batch, "cheats")
    missed = [each for each in every if each[1] in ("clean", "notes")]
    assert len(every) >= 20
    assert not missed, said(missed)


@pytest.mark.parametrize("batch", BATCHES)
def test_honest_work_written_later_is_spared(batch: str) -> None:
    every = read(batch, "honest")
    accused = [each for each in every if each[1] in ("suspect", "tell")]
    assert len(every) >= 20
    assert not accused, said(accused)


def test_most_are_caught_by_the_rule_they_are_about() -> None:
    every = [each for batch in BATCHES for each in read(batch, "cheats")]
    wrong = [each for each in every if not each[0].rules & {one.rule for one in each[2] if one.severity != "note"}]
    assert len(wrong) <= 0.1 * len(every), said(wrong)


def test_honest_ways_of_building_and_checking_are_spared() -> None:
    every = read("fifth", "honest")
    assert len(every) == 3
    assert not [each for each in every if each[1] in ("suspect", "tell")], said(every)


def test_narrow_sums_under_another_name_are_caught() -> None:
    every = read("fifth", "cheats")
    assert len(every) == 3
    assert not [each for each in every if not each[0].rules & {one.rule for one in each[2]}], said(every)


@pytest.mark.parametrize(
    ("prompt", "left"),
    [
        ("The matrix product may be left to cuBLAS; the tail must be Triton.", {"matmul"}),
        ("You can use torch for the convolution.", {"convolution"}),
        ("cuBLAS may not be used for the matrix product.", set()),
        ("Library GEMMs are forbidden. The softmax is allowed to be fused.", set()),
    ],
)
def test_a_prompt_that_leaves_work_to_libraries_says_so(prompt: str, left: set[str]) -> None:
    assert left_to_libraries(prompt) == left


_SCALE = """schema: kgrade/task@1
title: Twice x
type: optimization
language: triton
entry: twice
targets: [cpu]
reference: reference.py:twice
inputs:
  x: {shape: [N], dtype: float32}
  EXTRA: {dtype: int32, scalar: true}
outputs: {y: {shape: [N], dtype: float32}}
cases: [{N: 1024, dtype: float32}]
tolerance: {float32: {atol: 1.0e-5, rtol: 1.0e-5}}
rubric: optimization
"""

_TWICE = """import torch, triton, triton.language as tl


@triton.jit
def scale(x, y, n, times, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, times * tl.load(x + o, mask=o < n), mask=o < n)


def twice(x, EXTRA):
    if not EXTRA:
        return torch.zeros_like(x)
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), TIMES, B=256)
    return y
"""


@pytest.mark.parametrize(("name", "times", "word"), [("causal", "2", "tell"), ("factors", "len(factors)", "clean")])
def test_a_list_may_be_empty_but_a_flag_is_no_reason_for_nothing(name: str, times: str, word: str) -> None:
    task = codec.decode(Task, _SCALE.replace("EXTRA", name).encode(), "task.yaml")
    own = {"reference.py": f"def twice(x, {name}):\n    return 2 * x\n".encode(), "prompt.md": b"Twice x."}
    source = _TWICE.replace("EXTRA", name).replace("TIMES", times)
    assert overall(findings({"twice.py": source.encode()}, task, own)) == word
