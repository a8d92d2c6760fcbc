"""What grows with the queue: 100,000 submissions over 1,000 tasks beside 100, and the index beside git itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from kgrade.desk import Desk
from kgrade.records.slugs import ItemId
from kgrade.repository.index import Index
from kgrade.repository.runner import Git
from kgrade.repository.tree import TreeReader
from kgrade.tui.app import KgradeApp
from kgrade.tui.panes import panes
from tests.benchmarks.measuring import PAIRS, Pairs, compared, interleaved, judged
from tests.benchmarks.sitting import argv_of
from tests.benchmarks.test_first_paint import until_shown
from tests.benchmarks.test_saving import Evaluator
from tests.large_queue import graded_further, large_queue

pytestmark = pytest.mark.alone

SMALL = 100
SIZES = [pytest.param(size, marks=pytest.mark.long) for size in (1000, 10_000, 100_000)]
MAIN = "refs/heads/main"
NEW_GRADES = 100
PER_TASK = 100
COLD = "what a queue holds is taken down by Python, a row for each submission, where git only lists names"


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A maker of queues with evidence, a hundred submissions a task; each is made once and stands for all tests."""
    made: dict[int, Path] = {}

    def make(submissions: int) -> Path:
        if submissions not in made:
            folder = made[submissions] = tmp_path_factory.mktemp("sized") / str(submissions)
            per_task = min(PER_TASK, submissions // 2)
            large_queue(folder, submissions, per_task=per_task, with_evidence=True, checked_out=False)
        return made[submissions]

    return make


def indexed_from(folder: Path, commits: Sequence[str], cache: Path) -> float:
    """Seconds that an index needs to go to the last of `commits`, having seen those before."""
    with contextlib.closing(TreeReader(Git.open(folder)).objects) as objects:
        reader = TreeReader(Git.open(folder))
        reader.objects = objects
        index = Index(reader, cache)
        for commit in commits[:-1]:
            index.update((MAIN, commit))
            index.rows()
        before = time.perf_counter()
        index.update((MAIN, commits[-1]))
        taken = time.perf_counter() - before
        index.close()
        return taken


def seconds_of(folder: Path, *arguments: str) -> float:
    """Seconds that a git command takes, its output thrown away."""
    before = time.perf_counter()
    subprocess.run(["git", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - before


@pytest.mark.parametrize("submissions", SIZES)
def test_a_cold_index(
    sized: Callable[[int], Path], keep: Callable[..., None], tmp_path: Path, submissions: int
) -> None:
    folder = sized(submissions)
    tip = _tip(folder)

    def ours() -> float:
        for file in tmp_path.glob("index*"):
            file.unlink()
        return indexed_from(folder, [tip], tmp_path / "index.sqlite")

    pairs = interleaved(ours, lambda: seconds_of(folder, "ls-tree", "-r", "HEAD"))
    keep(compared("cold index over git ls-tree -r", pairs, 3, size=submissions), COLD)


@pytest.mark.parametrize("submissions", SIZES)
def test_an_index_after_new_grades(
    sized: Callable[[int], Path], keep: Callable[..., None], tmp_path: Path, submissions: int
) -> None:
    folder = sized(submissions)
    tip, graded = _tip(folder), graded_further(folder, "refs/heads/graded", NEW_GRADES)
    reader = TreeReader(Git.open(folder))
    index = Index(reader, tmp_path / "index.sqlite")
    index.update((MAIN, tip))
    index.rows()

    def ours() -> float:
        index.update((MAIN, tip))
        index.rows()
        before = time.perf_counter()
        index.update((MAIN, graded))
        changed = index.changes()
        taken = time.perf_counter() - before
        assert changed is not None
        assert len(changed) == NEW_GRADES
        return taken

    pairs = interleaved(ours, lambda: seconds_of(folder, "diff-tree", "-r", tip, graded))
    index.close()
    reader.objects.close()
    because = "100 grades are read and written down, where git only names them"
    keep(
        compared(f"index of {NEW_GRADES} new grades over git diff-tree, {submissions:,} submissions", pairs, 3), because
    )


@pytest.mark.parametrize("submissions", [300, *SIZES])
def test_save_and_next(sized: Callable[[int], Path], keep: Callable[..., None], submissions: int) -> None:
    large, small = Evaluator(_copy(sized(submissions))), Evaluator(_copy(sized(SMALL)))
    pairs = interleaved(large.save_and_next, small.save_and_next, pairs=2 * PAIRS)
    large.desk.close()
    small.desk.close()
    keep(compared(f"save and next over that of {SMALL}", pairs, 1.2, size=submissions))


@pytest.mark.parametrize("submissions", SIZES)
def test_first_paint(sized: Callable[[int], Path], keep: Callable[..., None], submissions: int) -> None:
    large, small = _copy(sized(submissions)), _copy(sized(SMALL))
    for queue in (large, small):
        _warm(queue)
    pairs = interleaved(
        lambda: until_shown(argv_of(large), b"verdict: "), lambda: until_shown(argv_of(small), b"verdict: ")
    )
    keep(compared(f"first paint over that of {SMALL}", pairs, 1.2, size=submissions))


@pytest.mark.parametrize("submissions", SIZES)
def test_the_queue_screen(sized: Callable[[int], Path], keep: Callable[..., None], submissions: int) -> None:
    large, small, frame = _on_queue_screen(_copy(sized(submissions))), _on_queue_screen(_copy(sized(SMALL))), 0.0
    frame = median(small["frame"])
    opening = Pairs(tuple(large["opening"]), tuple(small["opening"]))
    failed = []
    more = [(mine - other) / frame for mine, other in zip(large["letter"], small["letter"], strict=True)]
    for measured in (
        judged(
            f"letter of the filter less that of {SMALL}",
            more,
            1,
            unit="frames",
            size=submissions,
            beside=f"{median(large['letter']):.4g} s and {median(small['letter']):.4g} s, a frame is {frame:.4g} s",
        ),
        compared(f"queue screen opened over that of {SMALL}", opening, 1.2, size=submissions),
    ):
        try:
            keep(measured)
        except AssertionError as why:
            failed.append(str(why))
    assert not failed, "\n".join(failed)


def _on_queue_screen(queue: Path) -> dict[str, list[float]]:
    """Seconds from a key to its picture: opening the queue screen, a letter of its filter, a page of the line view."""
    found: dict[str, list[float]] = {"opening": [], "letter": [], "frame": []}
    desk = Desk.open(queue, evaluator="ada")

    async def measure() -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await app.workers.wait_for_complete()

            async def taken(key: str) -> float:
                drawn = asyncio.Event()
                before = time.perf_counter()
                app.stage.dispatcher.key(key, key)
                app.stage.call_after_refresh(drawn.set)
                await drawn.wait()
                app.stage._compositor.render_strips(app.size)
                return time.perf_counter() - before

            for _ in range(PAIRS):
                found["opening"].append(await taken("Q"))
                await app.workers.wait_for_complete()
                found["frame"].append(await taken("space"))
                await taken("/")
                for letter in "task-0":
                    found["letter"].append(await taken(letter))
                for key in ("ctrl+g", "q"):
                    app.stage.dispatcher.key(key, key)
                await pilot.pause()

    app: Any = KgradeApp(desk, panes(desk.history))
    asyncio.run(measure())
    desk.close()
    return found


def _tip(folder: Path) -> str:
    return subprocess.run(
        ["git", "rev-parse", "main"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


_COPIES: Iterator[int] = iter(range(1_000_000))


def _copy(queue: Path) -> Path:
    """The same queue in a repository of its own, so that a test leaves nothing to the next."""
    copied = queue.with_name(f"{queue.name}-{next(_COPIES)}")
    subprocess.run(["cp", "-a", "-l", queue, copied], check=True)
    return copied


def _warm(queue: Path) -> None:
    """Leave the first task's review for later, so that what opens is a submission; and read all there is, once."""
    desk = Desk.open(queue, evaluator="ada")
    first = next(place.row.id for place in desk.rows())
    desk.skip(first, "reviewed elsewhere")
    desk.catch_up()
    assert isinstance(desk.next(), ItemId)
    desk.sync()
    desk.close()
    assert os.environ["XDG_STATE_HOME"]
