"""Copies are seen under other names; code handed out with the task is nobody's."""

from __future__ import annotations

import random

import pytest
from cases import cases, task
from mutations import renamed

from kgrade.harness.integrity import analyse, similarity
from kgrade.harness.integrity.similarity import contained, fingerprints, of_files, tokens

_KERNEL = next(case for case in cases("honest") if case.name == "k_autotune")
_OTHER = next(case for case in cases("honest") if case.name == "b3_own_bitonic")


def _severities(files: dict[str, bytes], others: dict[str, dict[str, bytes]], own: dict[str, bytes]) -> set[str]:
    asked, reference = task("softmax")
    return {one.severity for one in analyse(files, asked, reference | own, others) if one.rule == "E4"}


def test_a_renamed_copy_is_a_suspect_and_another_answer_is_nothing() -> None:
    files = renamed(_KERNEL.text, random.Random(3))
    copy = {path: ("# mine\n" + text).encode() for path, text in files.items()}
    assert copy != _KERNEL.files()
    assert _severities(copy, {"softmax-rows/s01": _KERNEL.files()}, {}) == {"suspect"}
    assert _severities(copy, {"softmax-rows/s02": _OTHER.files()}, {}) == set()


def test_code_that_was_handed_out_does_not_count() -> None:
    files = _KERNEL.files()
    handed_out = {"start/kernel.py": _KERNEL.text.encode()}
    assert _severities(files, {"softmax-rows/s01": files}, handed_out) == set()


def test_shares_lie_between_0_and_1() -> None:
    mine, theirs = of_files(_KERNEL.files()), of_files(_OTHER.files())
    assert contained(mine, mine) == 1.0
    assert contained(mine, theirs) < 0.5
    assert contained(frozenset(), theirs) == 0.0


def test_names_comments_and_numbers_make_no_difference() -> None:
    one = tokens("a.py", b"def f(x):\n    # one\n    return x + 1\n")
    two = tokens("a.py", b"def g(y):\n    return y + 22  # two\n")
    assert [each for each in one if each.strip()] == [each for each in two if each.strip()]
    assert fingerprints(["a"] * 5) == frozenset()


def test_a_file_is_worked_out_once_however_many_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    worked: list[str] = []
    real = similarity.tokens
    monkeypatch.setattr(similarity, "tokens", lambda path, data: worked.append(path) or real(path, data))
    similarity._of_text.cache_clear()
    queue = {f"t/s{number:04d}": {"kernel.py": f"{_KERNEL.text}\nlast = {number}\n".encode()} for number in range(60)}
    for item in queue:
        analyse(queue[item], others={other: files for other, files in queue.items() if other != item})
    assert len(worked) == len(queue)
    assert any(one.rule == "E4" for one in analyse(queue["t/s0001"], others={"t/s0000": queue["t/s0000"]}))
    queue["t/s0000"] = {"kernel.py": _OTHER.text.encode()}
    analyse(queue["t/s0000"], others=queue)
    assert len(worked) == len(queue) + 1
