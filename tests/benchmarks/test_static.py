"""Static analysis beside parsing and compiling the same source, and how it grows with the length of the source."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Callable

import msgspec
import pytest

from kgrade.harness.integrity import analyse, findings_of_each
from kgrade.records.task import Task
from tests.benchmarks.measuring import Measured, compared, interleaved, judged

pytestmark = pytest.mark.alone
LINES = 2_000
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
PART = """

@triton.jit
def rows_{n}(src, dst, step, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(src + row * step + col, mask=col < width, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(dst + row * step + col, e / tl.sum(e, axis=0), mask=col < width)


_SPACE_{n} = {{}}


def launch_{n}(x):
    key = (x.shape, x.dtype)
    if key not in _SPACE_{n}:
        _SPACE_{n}[key] = torch.empty_like(x)
    y = _SPACE_{n}[key]
    if x.shape[1] > 8192:
        raise ValueError("rows too long")
    rows_{n}[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y.clone()
"""
TASK = {
    "schema": "kgrade/task@1", "title": "softmax", "type": "generation", "language": "triton",
    "reference": "reference.py:softmax", "entry": "softmax", "rubric": "generation", "targets": ["sm_90"],
    "inputs": {"x": {"shape": ["M", "N"], "dtype": "$dtype"}},
    "outputs": {"y": {"shape": ["M", "N"], "dtype": "$dtype"}},
    "cases": [{"M": 4, "N": 37, "dtype": "float32"}],
    "tolerance": {"float32": {"atol": 1e-6, "rtol": 1e-6}},
    "forbidden": ["torch.softmax"],
}  # fmt: skip
REFERENCE = {"reference.py": b"import torch\n\n\ndef softmax(x):\n    return torch.softmax(x, -1)\n"}


def source(lines: int) -> bytes:
    """A submission of so many lines at least, all of which its entry reaches."""
    count = -(-lines // PART.count("\n"))
    parts = "".join(PART.format(n=n) for n in range(count))
    calls = "".join(f"    if x.shape[0] % {count} == {n}:\n        return launch_{n}(x)\n" for n in range(1, count))
    return f"{HEAD}{parts}\n\ndef softmax(x):\n{calls}    return launch_0(x)\n".encode()


def read(text: bytes) -> float:
    """Seconds that the analysis of `text` takes."""
    task = msgspec.convert(TASK, Task)
    start = time.perf_counter()
    analyse({"solution/kernel.py": text}, task, REFERENCE)
    return time.perf_counter() - start


def parsed(text: bytes) -> float:
    """Seconds that parsing and compiling `text` take."""
    start = time.perf_counter()
    ast.parse(text)
    compile(text, "kernel.py", "exec")
    return time.perf_counter() - start


def test_a_submission_of_2000_lines(keep: Callable[[Measured], None]) -> None:
    text = source(LINES)
    pairs = interleaved(lambda: read(text), lambda: parsed(text))
    keep(compared("static analysis of 2,000 lines over parse and compile", pairs, 25.0))


def test_the_cost_grows_with_the_length(keep: Callable[[Measured], None]) -> None:
    short, long = source(LINES // 4), source(LINES)
    times = long.count(b"\n") / short.count(b"\n")
    pairs = interleaved(lambda: read(long), lambda: read(short))
    per_line = [ratio / times for ratio in pairs.ratios]
    # In proportion it is 1; with the square it would be 4.
    keep(judged("a line among 2,000 over a line among 500", per_line, 2.0, unit="times"))


def in_processes(given: list[dict[str, bytes]], workers: int) -> float:
    """Seconds in which `workers` processes read the submissions."""
    task = msgspec.convert(TASK, Task)
    start = time.perf_counter()
    found = list(findings_of_each(given, task, REFERENCE, workers=workers))
    assert len(found) == len(given)
    return time.perf_counter() - start


def queue(submissions: int) -> list[dict[str, bytes]]:
    """So many submissions of 60 lines, each its own."""
    return [{"solution/kernel.py": source(60) + b"\nlast = %d\n" % number} for number in range(submissions)]


def test_a_queue_is_read_by_several_processes_at_once(keep: Callable[[Measured], None]) -> None:
    workers = len(os.sched_getaffinity(0))
    if workers < 2:
        pytest.skip("one processor: nothing can be read at once")
    given = queue(12)
    pairs = interleaved(lambda: in_processes(given, workers), lambda: in_processes(given, 1))
    # On two quiet processors it is little more than 0.5; what else runs takes most from the one that works with both.
    keep(compared(f"12 submissions by {workers} processes over one", pairs, 0.8))


@pytest.mark.long
def test_a_queue_of_1000_is_read_whole() -> None:
    """One pass: what it takes for each submission is a few times what a single one takes, whatever the machine."""
    given = queue(1000)
    alone = min(read(given[0]["solution/kernel.py"]) for _ in range(5))
    workers = len(os.sched_getaffinity(0))
    taken = in_processes(given, workers)
    print(
        f"1,000 submissions by {workers} processes: {taken:.1f} s; one alone, without a process: {alone * 1e3:.1f} ms"
    )
    assert taken * workers / len(given) < 10 * alone
