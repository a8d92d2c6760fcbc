"""Many evaluators on one bare remote, beside as many bare loops of commit and push that contend in the same way."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.benchmarks.measuring import PAIRS, compared, interleaved
from tests.benchmarks.sitting import ROOT, environment
from tests.conftest import Repo
from tests.desk.test_many_evaluators import MODES, clones
from tests.large_queue import large_queue

pytestmark = pytest.mark.alone

BOUND = 1 / 0.8
"""Seconds a save, beside those of the bare loop: 0.8 times its saves a second."""

AS_DURABLE = ("-c", "core.fsync=objects,reference,index")
"""What kgrade itself asks of git for a grade."""

GRADE = b"""\
schema: kgrade/grade@1
item: task-00000/s0000
evaluator: bare
rubric: {id: generation, sha256: 4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f}
scores:
  numerics: {score: 3, comment: rows of -inf are not covered}
verdict: revise
"""


@contextlib.contextmanager
def evaluators(people: Sequence[Path]) -> Iterator[Callable[[int], float]]:
    """A process for each clone; called with how many grades each is to bring to the remote, it says in what time."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.contender", clone, clone.name],
            cwd=ROOT,
            env={**os.environ, **environment()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for clone in people
    ]

    def hear(word: str) -> None:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == word

    def save(each: int) -> float:
        before = time.perf_counter()
        for process in running:
            assert process.stdin is not None
            process.stdin.write(f"{each}\n")
            process.stdin.flush()
        hear("done")
        return time.perf_counter() - before

    hear("ready")
    yield save
    for process in running:
        process.communicate()
        assert process.returncode == 0


def bare_loop(clone: Path, branch: str, numbers: Iterator[int], each: int) -> None:
    """Commit a file and push it, `each` times; where others were faster, fetch, remake it on theirs and try again."""
    git = partial(subprocess.run, cwd=clone, capture_output=True)
    for _ in range(each):
        path = f"queue/task-00000/submissions/s0000/grades/{clone.name}-{next(numbers)}.yaml"
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_bytes(GRADE)
        git(["git", *AS_DURABLE, "add", "--", path], check=True)
        git(["git", *AS_DURABLE, "commit", "-q", "-m", f"grade: {path}"], check=True)
        while git(["git", "push", "-q", "origin", f"HEAD:{branch}"], check=False).returncode:
            git(["git", "fetch", "-q", "origin", branch], check=True)
            git(["git", *AS_DURABLE, "rebase", "-q", "FETCH_HEAD"], check=True)


BECAUSE = (
    "a claim is made as well, which several want at once, and the program follows the queue, for all of which a bare"
    " loop has nothing to do"
)


@pytest.mark.parametrize(
    ("people", "each", "mode"),
    [
        (3, 1, "shared"),
        pytest.param(3, 1, "own", marks=pytest.mark.long),
        pytest.param(8, 4, "shared", marks=pytest.mark.long),
        pytest.param(8, 4, "own", marks=pytest.mark.long),
    ],
)
def test_saves_of_many_beside_bare_loops(
    tmp_path: Path, keep: Callable[..., None], people: int, each: int, mode: str
) -> None:
    needed = people * (each * (PAIRS + 1) + 1)
    extra = {"kgrade.yaml": MODES[mode].encode()}
    sides = {}
    for side in ("ours", "theirs"):
        (tmp_path / side).mkdir()
        large_queue(tmp_path / side / "seed", needed, per_task=25, extra=extra, checked_out=False)
        hub = Repo(tmp_path / side / "hub")
        subprocess.run(["git", "clone", "-q", "--bare", tmp_path / side / "seed", hub.path], check=True)
        sides[side] = list(clones(hub, people))
    for clone in sides["theirs"]:
        subprocess.run(["git", "reset", "-q", "--hard"], cwd=clone, check=True)

    numbers = itertools.count()
    branches = ["main" if mode == "shared" else f"refs/heads/grades/{clone.name}" for clone in sides["theirs"]]
    with ThreadPoolExecutor(people) as loops, evaluators(sides["ours"]) as ours:

        def theirs() -> float:
            before = time.perf_counter()
            list(loops.map(bare_loop, sides["theirs"], branches, [numbers] * people, [each] * people))
            return time.perf_counter() - before

        pairs = interleaved(lambda: ours(each), theirs)
    measured = compared(f"{people} processes, {each} saves each, {mode} branch", pairs, BOUND)
    keep(measured, BECAUSE)
