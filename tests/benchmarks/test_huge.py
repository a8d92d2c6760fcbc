"""How soon what is huge is on screen, beside a pane that has nothing to show; and how much memory all of it takes."""

from __future__ import annotations

import asyncio
import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.desk import Desk
from kgrade.records.slugs import ItemId
from kgrade.tui.app import KgradeApp
from kgrade.tui.panes import comparison, panes
from tests.benchmarks.measuring import PAIRS, Measured, Pairs, compared, judged
from tests.benchmarks.sitting import ROOT, environment, opened
from tests.benchmarks.test_first_paint import TRIVIAL
from tests.large_queue import large_queue
from tests.tui.terminal import Terminal

pytestmark = pytest.mark.alone

_OPEN_LOG = "Gkkkko"
"""To the end, up to the log's fold above the target that has no evidence, and open it."""

HUGE = ItemId("task-00000", "s0000")
PLAIN = ItemId("task-00000", "s0001")
EVIDENCE = b"""\
{"schema": "kgrade/evidence@1", "item": "task-00000/s0000", "target": "sm_90", "tool": {"version": "0.0.1"},
 "collected": "2026-11-03T09:30:00Z",
 "inputs": {"task_tree": "%s", "solution_tree": "%s"},
 "environment": {"hardware": "none", "interpreter": false, "sandbox": "none"},
 "stages": {"build": {"status": "passed", "log": "sm_90.build.log"}}}
"""


def log_of(size: int) -> bytes:
    line = b"ptxas info    : Compiling entry function 'softmax_%d' for 'sm_90', used %d registers\n"
    block = b"".join(line % (number, number % 255) for number in range(10_000))
    return (block * (size // len(block) + 1))[:size]


def changed(lines: int) -> tuple[bytes, bytes]:
    """So many lines of a kernel that was unrolled, and what became of it: one line in five another, gone or new."""
    draw = random.Random(20261202)
    old = [b"    row_%d = tl.load(x_ptr + %d * cols, mask=cols < n)\n" % (line, line % 97) for line in range(lines)]
    new = []
    for line in old:
        fate = draw.random()
        if fate < 0.05:
            new.append(b"    tl.debug_barrier()\n")
        if fate < 0.95:
            new.append(line.replace(b"< n", b"< m") if fate > 0.85 else line)
    return b"".join(old), b"".join(new)


@pytest.fixture
def huge_queue(tmp_path: Path) -> Callable[[int, int], Path]:
    """A maker of queues whose first submission has a log of so many bytes and a diff of so many lines."""

    def make(log: int, lines: int) -> Path:
        old, new = changed(lines)
        item = "queue/task-00000/submissions/s0000"
        extra = {
            f"{item}/evidence/sm_90.json": EVIDENCE % (b"1" * 40, b"1" * 40),
            f"{item}/evidence/sm_90.build.log": log_of(log),
            "queue/task-00000/start/kernel.py": old,
            f"{item}/solution/kernel.py": new,
        }
        large_queue(tmp_path / "queue", 4, per_task=4, extra=extra)
        return tmp_path / "queue"

    return make


AT_REST_S = 0.2
"""Seconds that an item is on the screen before a key: what is brought meanwhile need not be waited for."""


def on_screen(queue: Path, pane: str, keys: str, seen: str) -> Pairs:
    """Seconds from asking for `pane` of a freshly read huge item, and for an empty pane, to its picture.

    The picture is the first that is drawn after the keys; `seen` must stand in it.
    """

    async def measure() -> Pairs:
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()

            async def shown(name: str, then: str) -> float:
                comparison._aligning.cache_clear()  # kept for an item that is open, not for the next one
                app.page._show_pane("task")  # or the pane that was open would be shown of the fresh item, untimed
                assert app.page.open(HUGE)
                drawn = asyncio.Event()
                await pilot.pause(AT_REST_S)
                before = time.perf_counter()
                app.page._show_pane(name)
                for key in then:
                    app.stage.dispatcher.key(key, key)
                app.stage.call_after_refresh(drawn.set)
                await drawn.wait()
                taken = time.perf_counter() - before
                strips = app.stage._compositor.render_strips(app.size)
                text = "\n".join("".join(segment.text for segment in strip) for strip in strips)
                assert (seen in text) == (name == pane)
                return taken

            ours, theirs = [], []
            for number in range(PAIRS + 1):
                for which in (ours, theirs) if number % 2 else (theirs, ours):
                    which.append(await shown(pane if which is ours else "profile", keys))
            return Pairs(tuple(ours[1:]), tuple(theirs[1:]))

    desk = Desk.open(queue, evaluator="ada")
    app = KgradeApp(desk, panes(desk.history))
    pairs = asyncio.run(measure())
    desk.close()
    return pairs


@pytest.mark.parametrize("size", [4_000_000, pytest.param(100_000_000, marks=pytest.mark.long)])
def test_a_log_is_on_screen(huge_queue: Callable[[int, int], Path], keep: Callable[..., None], size: int) -> None:
    pairs = on_screen(huge_queue(size, 10), "build", _OPEN_LOG, "ptxas info")
    because = "git is started to bring the log, where an empty pane has nothing to fetch"
    keep(compared(f"a log of {size:,} bytes on screen", pairs, 1.5), because)


@pytest.mark.parametrize("lines", [12_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_a_diff_is_on_screen(huge_queue: Callable[[int, int], Path], keep: Callable[..., None], lines: int) -> None:
    pairs = on_screen(huge_queue(1000, lines), "diff", "", "tl.debug_barrier()")
    because = "lines are counted, the first of them aligned and those on screen coloured before the first is shown"
    keep(compared(f"a diff of {lines:,} lines on screen", pairs, 1.5), because)


def resident_mb(pid: int) -> float:
    """Megabytes of memory that a process holds alone or shares, by the kernel's count."""
    return int(re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[0]) / 1024


def go_on(terminal: Terminal, items: int) -> None:
    """Open so many items, one after the other and then back again."""
    for number in range(items):
        terminal.send(">" if 2 * number < items else "<")
        terminal.wait_for_bytes()
        terminal.settle(quiet=0.03)


@pytest.mark.parametrize("items", [45, pytest.param(500, marks=pytest.mark.long)])
def test_memory(queue_of: Callable[[int], Path], keep: Callable[[Measured], None], items: int) -> None:
    with (
        Terminal([sys.executable, "-c", TRIVIAL], env=environment(), cwd=ROOT) as trivial,
        opened(queue_of(100)) as terminal,
    ):
        trivial.wait_for("here it is")
        found = []
        for _ in range(PAIRS):
            go_on(terminal, items // PAIRS)
            found.append(resident_mb(terminal.pid) - resident_mb(trivial.pid))
    keep(judged(f"memory over the trivial application, {items} items", found, 60, unit="MB"))
    late = [value - found[len(found) // 3] for value in found[len(found) // 3 :]]
    assert max(late) < 4, f"memory grows from item to item: {found}"
