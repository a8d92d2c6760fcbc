"""What a key sends over the line, from a real application on a real queue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmarks.measuring import PAIRS, Measured, judged
from tests.benchmarks.sitting import cost, opened
from tests.large_queue import large_queue
from tests.tui.terminal import Terminal

pytestmark = pytest.mark.alone

_CODE = b"import triton.language as tl\n\n\n" + b"".join(
    b"    row_%d = tl.load(x_ptr + %d * cols, mask=cols < n, other=-float('inf'))  # row %d\n" % (line, line, line * 7)
    for line in range(2000)
)
_WINDOW_S = 0.1


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bytes") / "queue"
    kernels = {f"queue/task-00000/submissions/s{n:04d}/solution/a_long_one.py": _CODE for n in range(4)}
    large_queue(folder, 4, per_task=4, extra=kernels)
    return folder


def advances(terminal: Terminal) -> list[int]:
    """Score three sheets from their first criterion to the last but one: each score goes on to the next."""
    found: list[int] = []
    for _ in range(3):
        found += [cost(terminal, "3124321"[number]) for number in range(7)]
        cost(terminal, "3")
        if len(found) < 21:
            cost(terminal, ">")
    return found


@pytest.mark.parametrize(("width", "height", "scrolled"), [(80, 24, 300), (160, 48, 500)])
def test_what_keys_send(
    queue: Path, keep: Callable[[Measured], None], width: int, height: int, scrolled: float
) -> None:
    found: dict[str, tuple[float, list[int]]] = {}
    with opened(queue, width, height) as terminal:
        found["idle"] = 0, [terminal.settle(_WINDOW_S, _WINDOW_S) for _ in range(PAIRS)]
        found["score and advance"] = 600, advances(terminal)
        found["score again"] = 100, [cost(terminal, "23"[number % 2]) for number in range(PAIRS)]
        cost(terminal, "c")
        found["character of a comment"] = 100, [cost(terminal, letter) for letter in "the sum is not shifted"]
        cost(terminal, "\x07")
        cost(terminal, "s")
        cost(terminal, "j" * (height + 8))
        found["line of scroll"] = scrolled, [cost(terminal, "j") for _ in range(PAIRS)]
        found["page down"] = 8192, [cost(terminal, " ") for _ in range(PAIRS)]
    failed = []
    for what, (bound, values) in found.items():
        try:
            keep(judged(f"{what}, {width}x{height}", values, bound, unit="bytes"))
        except AssertionError as why:
            failed.append(str(why))
    assert not failed, "\n".join(failed)
