"""Copies are seen under other names; code handed out with the task is nobody's."""

from __future__ import annotations

import random

from cases import cases, task
from mutations import renamed

from kgrade.harness.integrity import stage
from kgrade.harness.integrity.alike import PRINTS
from kgrade.harness.integrity.similarity import contained, fingerprints, of_files, tokens
from kgrade.harness.run import HandedIn

_KERNEL = next(case for case in cases("honest") if case.name == "k_autotune")
_OTHER = next(case for case in cases("honest") if case.name == "b3_own_bitonic")


def _handed_in(name: str, files: dict[str, bytes]) -> HandedIn:
    return HandedIn(f"{name} {hash(tuple(sorted(files.items())))}", lambda: files)


def _severities(files: dict[str, bytes], others: dict[str, dict[str, bytes]], own: dict[str, bytes]) -> set[str]:
    asked, reference = task("softmax")
    given = {item: _handed_in(item, theirs) for item, theirs in others.items()}
    return {one.severity for one in stage(files, asked, reference | own, given).findings if one.rule == "E4"}


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


def test_each_submission_is_fingerprinted_once_however_many_are_compared() -> None:
    asked, own = task("softmax")
    files = {f"t/s{n:02d}": {"kernel.py": f"{_KERNEL.text}\nlast = {n}\n".encode()} for n in range(12)}
    queue = {item: _handed_in(item, each) for item, each in files.items()}

    def read(item: str) -> bool:
        found = stage(files[item], asked, own, {other: each for other, each in queue.items() if other != item})
        return any(one.rule == "E4" for one in found.findings)

    before = PRINTS.made
    assert all(read(item) for item in queue)
    # As handed in and as others see it, and the task's own files.
    assert PRINTS.made - before <= 2 * len(queue) + 1
    before = PRINTS.made
    files["t/new"] = {"kernel.py": f"{_OTHER.text}\nlast = 0\n".encode()}
    assert not read("t/new")
    assert PRINTS.made - before == 1


def test_one_that_cannot_be_read_takes_no_comparison_with_it() -> None:
    asked, own = task("softmax")
    files = _KERNEL.files()
    hostile = _handed_in("hostile", {"kernel.py": b"x = " + b"(" * 200_000})
    found = stage(files, asked, own, {"t/s00": hostile, "t/s01": _handed_in("same", files)})
    assert [one.rule for one in found.findings] == ["E4"]
