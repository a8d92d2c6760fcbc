"""Hostile sources end in a finding or a clean answer, never in an exception; the work is bounded and linear."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cases import cases, task

from kgrade.harness.integrity import analyse, overall, stage
from kgrade.harness.integrity.asked import of_task
from kgrade.harness.integrity.model import Model
from kgrade.harness.integrity.python import read
from kgrade.harness.integrity.values import MOST_STEPS

ROOT = Path(__file__).parents[3]
_DEEP = 3000
HOSTILE = {
    "null bytes": b"import torch\n\0\0def softmax(x):\n    return torch.softmax(x, -1)\n",
    "not Python": b"def softmax(x:\n  ((((\n",
    "latin-1 without a cookie": "def softmax(x):\n    return x  # caf\u00e9\n".encode("latin-1"),
    "a codec that is none": b"# -*- coding: no-such-codec -*-\nx = 1\n",
    "utf-16": "def softmax(x):\n    return x\n".encode("utf-16"),
    "utf-7": b"# -*- coding: utf-7 -*-\ndef softmax(x):\n    return x\n",
    "byte order mark": b"\xef\xbb\xbfdef softmax(x):\n    return x\n",
    "nothing": b"",
    "random bytes": bytes(range(256)) * 40,
    "deep brackets": b"x = " + b"(" * _DEEP + b"1" + b")" * _DEEP,
    "deep calls": b"def softmax(x):\n    return " + b"f(" * 90 + b"x" + b")" * 90,
    "deep lambdas": b"f = " + b"lambda: " * 900 + b"1",
    "deep attributes": b"import torch\nx = torch" + b".a" * 900,
    "deep minus": b"x = " + b"-" * 900 + b"1",
    "a long sum": b"x = " + b" + ".join([b"1"] * _DEEP),
    "a long elif": b"import torch\ndef softmax(x):\n    if x.shape[0] == 0:\n        return x\n"
    + b"".join(b"    elif x.shape[0] == %d:\n        return x\n" % n for n in range(400)),
    "deep blocks": b"".join(b" " * n + b"if x:\n" for n in range(95)) + b" " * 95 + b"pass\n",
    "itself": b"def softmax(x):\n    return softmax(softmax(x))\n",
    "each other": b"def a(x):\n    return softmax(x)\ndef softmax(x):\n    return a(a(x))\nsoftmax.f = softmax\n",
    "its own import": b"from kernel import *\nimport kernel\ndef softmax(x):\n    return kernel.softmax(x)\n",
    "its own class": b"class A(A):\n    pass\nclass A(A):\n    a = A\nsoftmax = A()\nA.a = softmax\n",
    "a string that grows": b"s = 'ab'\n" + b"s = s + s\n" * 200 + b"def softmax(x):\n    return eval(s)(x)\n",
    "numbers that grow": b"n = 9\n" + b"n = n * n\n" * 60 + b"m = 1 << 99999999\n",
    "all at once": b"def softmax(x):\n    return [a for b in x for a in (lambda *a, **k: (yield))(*x, **x)]\n"
    b"softmax[0]: int = 3\n",
    "CUDA in pieces": b's = """__global__ void k(float* x) { x[0] = """\n',
}
NATIVE = {
    "not C++": b"}}}} __global__ <<<>>> (((",
    "deep braces": b"void f() {" * 4000,
    "null bytes": b"__global__ void k() {}\0\0int main() { k<<<1, 1>>>(); }",
    "pasted for ever": b"#define C(a, b) a##b\nint C(C(C(a,b),c),d);" * 50,
    "aliases in a ring": b"namespace a = b;\nnamespace b = a;\nvoid f() { a::g(); b::g(); }",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_python_ends_well(name: str) -> None:
    asked, own = task("softmax")
    assert stage({"kernel.py": HOSTILE[name]}, asked, own).status in ("passed", "flagged")
    analyse({"solution/kernel.py": HOSTILE[name]})


@pytest.mark.parametrize("name", NATIVE)
def test_hostile_cuda_ends_well(name: str) -> None:
    asked, own = task("scan")
    assert stage({"kernel.cu": NATIVE[name]}, asked, own).status in ("passed", "flagged")


@pytest.mark.parametrize("name", ["null bytes", "not Python", "a codec that is none", "deep brackets", "random bytes"])
def test_what_cannot_be_read_is_said(name: str) -> None:
    found = analyse({"solution/kernel.py": HOSTILE[name]})
    assert [one.rule for one in found] == ["E1"]
    assert "could not be read" in found[0].why


def test_a_cheat_nested_too_deep_to_follow_is_still_seen() -> None:
    body = "f(" * 85 + "torch.softmax(x, -1)" + ")" * 85
    text = f"import torch\ndef f(x):\n    return x\ndef softmax(x):\n    return {body}\n"
    asked, own = task("softmax")
    assert overall(analyse({"solution/kernel.py": text.encode()}, asked, own)) == "tell"


def _steps(copies: int) -> int:
    body = "".join(
        f"    y{n} = x * {n}\n    if y{n}.shape[0] > {n}:\n        y = helper(y{n}, x)\n    t[{n}] = y{n}\n"
        for n in range(copies)
    )
    text = (
        f"import torch\nt = {{}}\ndef helper(a, b):\n    return a + b\ndef softmax(x):\n    y = x\n{body}    return y\n"
    )
    asked, own = task("softmax")
    walk = read({"kernel.py": text.encode()}, of_task(asked, own).call, Model())
    return walk.steps


def test_the_work_grows_with_the_length_not_its_square() -> None:
    small, large = _steps(100), _steps(1000)
    assert small < large < 13 * small


@pytest.mark.parametrize("lines", [5_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_long_source_is_bounded(lines: int) -> None:
    case = next(case for case in cases("cheats") if case.name == "b1_library_call")
    asked, own = task("softmax")
    text = case.text + "".join(f"x{n} = f(x{n - 1}, {n})\n" for n in range(lines))
    model = Model()
    walk = read({"kernel.py": text.encode()}, of_task(asked, own).call, model)
    assert walk.steps <= MOST_STEPS + 1
    assert any(fact.name.endswith("softmax") and fact.live for fact in model.facts)


def test_the_command_tells_of_each_and_ends(tmp_path: Path) -> None:
    given = {f"{index:02d}.py": data for index, data in enumerate(HOSTILE.values())}
    given |= {f"{index:02d}.cu": data for index, data in enumerate(NATIVE.values())}
    given["deeper.py"] = b"x = " + b"(" * 200_000
    for name, data in given.items():
        (tmp_path / name).write_bytes(data)
    command = [sys.executable, "-m", "kgrade", "audit-code", "--each", *sorted(given)]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1
    assert done.stderr == ""
    told = re.findall(r"^(\S+): (clean|notes|suspect|tell)$", done.stdout, re.M)
    assert [name for name, _ in told] == sorted(given)
