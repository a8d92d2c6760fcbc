"""Saving a grade and having the next item, beside `git add` and `git commit` of the same file."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.desk import Desk
from kgrade.desk.saving import Saved
from kgrade.desk.sitting import Sitting
from kgrade.records.slugs import ItemId
from tests.benchmarks.measuring import PAIRS, compared, interleaved

pytestmark = pytest.mark.alone

AS_DURABLE = ("-c", "core.fsync=objects,reference,index")
"""What kgrade itself asks of git for a grade."""


class Evaluator:
    """Grades one item after the other; each call of `save_and_next` is timed."""

    def __init__(self, queue: Path) -> None:
        self.desk = Desk.open(queue, evaluator="ada")
        self.saved: Saved | None = None
        self._sitting = self._next()

    def save_and_next(self) -> float:
        """Seconds from saving a complete sheet to sitting at the next item."""
        sitting = self._sitting
        for criterion in sitting.item.rubric.criteria:
            sitting.score(criterion.id, 3)
        sitting.edit("verdict", "", sitting.item.rubric.verdicts[0])
        before = time.perf_counter()
        self.saved = self.desk.save(sitting, anyway=True, follow=False)
        sitting.close()
        self._sitting = self._next()
        taken = time.perf_counter() - before
        self.desk.sync()  # as the application does, behind the next item
        return taken

    def _next(self) -> Sitting:
        found = self.desk.next()
        assert isinstance(found, ItemId)
        return self.desk.sit(found)


def add_and_commit(folder: Path, path: str, data: bytes) -> float:
    """Seconds that the two commands take for one file in a copy of the same queue."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    before = time.perf_counter()
    subprocess.run(["git", *AS_DURABLE, "add", "--", path], cwd=folder, check=True)
    subprocess.run(["git", *AS_DURABLE, "commit", "-q", "-m", f"grade {path}"], cwd=folder, check=True)
    return time.perf_counter() - before


@pytest.mark.parametrize(("submissions", "bound"), [(16, 1.5), pytest.param(10_000, 0.4, marks=pytest.mark.long)])
def test_save_and_next(
    queue_of: Callable[[int], Path],
    keep: Callable[..., None],
    tmp_path: Path,
    submissions: int,
    bound: float,
) -> None:
    queue = queue_of(submissions)
    beside = tmp_path / "beside"
    subprocess.run(["cp", "-a", queue, beside], check=True)
    evaluator = Evaluator(queue)
    paths: list[tuple[str, bytes]] = []

    def ours() -> float:
        taken = evaluator.save_and_next()
        saved = evaluator.saved
        assert saved is not None
        paths.append((saved.path, _content(queue, saved)))
        return taken

    pairs = interleaved(ours, lambda: add_and_commit(beside, *paths.pop(0) if paths else _FIRST), pairs=PAIRS)
    evaluator.desk.close()
    assert not subprocess.run(["git", "status", "--porcelain"], cwd=queue, capture_output=True, check=True).stdout
    because = "a grade and the claim of the next item take four git processes where add and commit are two"
    keep(compared("save and next over git add and git commit", pairs, bound, size=submissions), because)


_FIRST = ("queue/task-00000/grades/first.yaml", b"who goes first has no grade to take over\n" * 20)


def _content(queue: Path, saved: Saved) -> bytes:
    shown = subprocess.run(["git", "show", f"{saved.commit}:{saved.path}"], cwd=queue, capture_output=True, check=True)
    return shown.stdout
