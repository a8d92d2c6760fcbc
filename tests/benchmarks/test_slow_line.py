"""From a key to the finished screen over a slow line, beside an editor and a git browser on the same line.

The line is simulated: it holds each packet for half of its round trip and passes so many bytes a second. What a
program sends does not depend on when it arrives, so the wait is reckoned from when the bytes left the program.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pytest

from tests.benchmarks.measuring import PAIRS, Measured, compared, interleaved
from tests.benchmarks.sitting import QUIET_S, cost, opened
from tests.large_queue import large_queue
from tests.tui.terminal import Terminal

pytestmark = [pytest.mark.alone, pytest.mark.long]

ROUND_TRIP_S = 0.3
BYTES_PER_S = 64_000 / 8
ITEMS = 2 * PAIRS + 4
WORDS = (
    "load",
    "store",
    "mask",
    "cols",
    "stride",
    "block",
    "pid",
    "acc",
    "tile",
    "warp",
    "scale",
    "offs",
    "ptr",
    "dot",
)


def kernel(number: int) -> bytes:
    """Some hundred lines that look like code and resemble those of no other number."""
    draw = random.Random(number)
    lines = [
        f"    {draw.choice(WORDS)}_{draw.randrange(100)} = tl.{draw.choice(WORDS)}({', '.join(draw.sample(WORDS, 4))})"
        for _ in range(1200)
    ]
    return "\n".join(["import triton.language as tl", "", "", f"def kernel_{number}():", *lines, ""]).encode()


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("line") / "queue"
    path = "queue/task-00000/submissions/s{:04d}/solution/a_long_one.py"
    large_queue(folder, ITEMS, per_task=ITEMS, extra={path.format(n): kernel(n) for n in range(ITEMS)})
    return folder


@pytest.fixture
def ours(queue: Path) -> Iterator[Terminal]:
    with opened(queue) as terminal:
        yield terminal


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Terminal]:
    """Neovim with the same files, without anybody's settings; `>` and `<` change between them."""
    program = shutil.which("nvim") or pytest.skip("nvim is not installed")
    for number in range(ITEMS):
        (tmp_path / f"s{number:04d}.py").write_bytes(kernel(number))
    keys = ["-c", "nnoremap > <Cmd>next<CR>", "-c", "nnoremap < <Cmd>buffer #<CR>"]
    argv = [program, "-u", "NONE", "-i", "NONE", "-n", *sorted(os.listdir(tmp_path)), *keys]
    with Terminal(argv, env={"HOME": str(tmp_path)}, cwd=tmp_path) as terminal:
        terminal.wait_for("triton")
        seconds(terminal, ">")
        seconds(terminal, ">")
        yield terminal


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Terminal]:
    """Tig on a history of the same files, with the newest commit's diff open beneath the list of them."""
    program = shutil.which("tig") or pytest.skip("tig is not installed")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for number in range(ITEMS):
        (tmp_path / "kernel.py").write_bytes(kernel(number))
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", f"kernel {number}"], check=True)
    with Terminal([program], env={"HOME": str(tmp_path)}, cwd=tmp_path) as terminal:
        terminal.wait_for("kernel 33")
        terminal.settle()
        seconds(terminal, "\r")
        yield terminal


def seconds(terminal: Terminal, keys: str) -> float:
    """Seconds from `keys` to the last byte that they bring about, over the line."""
    terminal.settle(QUIET_S)
    known = len(terminal.arrivals)
    start = time.monotonic()
    terminal.send(keys)
    terminal.wait_for_bytes()
    terminal.settle(quiet=2 * QUIET_S)
    free = 0.0
    for came, size in terminal.arrivals[known:]:
        free = max(free, came) + size / BYTES_PER_S
    return free - start + ROUND_TRIP_S


def pressing(
    terminal: Terminal, *keys: str, measure: Callable[[Terminal, str], float] = seconds
) -> Callable[[], float]:
    """Press `keys` in turn, one each time, and say what it cost."""
    turns = cycle(keys)
    return lambda: measure(terminal, next(turns))


def to_code(terminal: Terminal) -> None:
    """Show the item's source and the first page of a file of it."""
    seconds(terminal, "s")
    for _ in range(2):
        seconds(terminal, " ")


def test_against_an_editor(ours: Terminal, editor: Terminal, keep: Callable[[Measured], None]) -> None:
    to_code(ours)
    pairs = {
        "page down": (pressing(ours, " "), pressing(editor, "\x06")),
        "pane change": (pressing(ours, "t", "s"), pressing(editor, "<")),
        "next item": (pressing(ours, ">"), pressing(editor, ">")),
        "score": (pressing(ours, "3", "2", "1", "4"), pressing(editor, "~")),
    }
    check(keep, "Neovim", pairs)


def test_against_a_browser_of_histories(ours: Terminal, browser: Terminal, keep: Callable[[Measured], None]) -> None:
    to_code(ours)
    pairs = {
        "page down": (pressing(ours, " "), pressing(browser, " ")),
        "next item": (pressing(ours, ">"), pressing(browser, "\x0e")),
        "pane change": (pressing(ours, "t", "s"), pressing(browser, "\t")),
    }
    check(keep, "tig", pairs)


def check(
    keep: Callable[[Measured], None], peer: str, pairs: dict[str, tuple[Callable[[], float], Callable[[], float]]]
) -> None:
    failed = []
    for what, (mine, theirs) in pairs.items():
        try:
            keep(compared(f"{what} over a slow line, over {peer}", interleaved(mine, theirs), 1.5))
        except AssertionError as why:
            failed.append(str(why))
    assert not failed, "\n".join(failed)


def test_no_key_costs_more_than_a_screenful(ours: Terminal, keep: Callable[[Measured], None]) -> None:
    to_code(ours)
    redrawn = pressing(ours, "\x0c", measure=cost)
    for what, keys in {"page down": " ", "pane change": "ts", "next item": ">", "score": "3214"}.items():
        pairs = interleaved(pressing(ours, *keys, measure=cost), redrawn)
        keep(compared(f"bytes of a {what}, over those of the whole screen", pairs, 1, unit="bytes"))
