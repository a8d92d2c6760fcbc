"""A queue of two tasks that can be graded, in a real repository."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kgrade.desk import Desk
from tests.conftest import Repo
from tests.records.test_codec import TASK

PROJECT = Path(__file__).resolve().parents[2]
KERNEL = "import torch\n\n\ndef softmax(x):\n    return torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)\n"


def submission(created: str, supersedes: str = "") -> str:
    more = f"supersedes: {supersedes}\n" if supersedes else ""
    return f"schema: kgrade/submission@1\nauthor: kit\ncreated: {created}\n{more}"


SMALL_QUEUE = {
    "queue/softmax/task.yaml": TASK,
    "queue/softmax/prompt.md": "# Softmax\n\nAny width.\n",
    "queue/softmax/reference.py": "def softmax(x):\n    return x.softmax(-1)\n",
    "queue/softmax/submissions/s01/submission.yaml": submission("2026-11-03T09:30:00Z"),
    "queue/softmax/submissions/s01/solution/kernel.py": KERNEL,
    "queue/softmax/submissions/s02/submission.yaml": submission("2026-11-04T09:30:00Z", "s01"),
    "queue/softmax/submissions/s02/solution/kernel.py": KERNEL.replace("exp(x) /", "exp(x - x.max()) /"),
    "queue/scan/task.yaml": TASK.replace("Row-wise softmax", "Scan"),
    "queue/scan/prompt.md": "# Scan\n",
    "queue/scan/reference.py": "def softmax(x):\n    return x.cumsum(-1)\n",
    "queue/scan/submissions/s01/submission.yaml": submission("2026-11-05T09:30:00Z"),
    "queue/scan/submissions/s01/solution/kernel.py": KERNEL,
}


def small_queue(repo: Repo) -> None:
    shutil.copytree(PROJECT / "rubrics", repo.path / "rubrics")
    repo.git("add", "rubrics")
    repo.commit(SMALL_QUEUE, "a queue")


@pytest.fixture
def ada(make_repo: Callable[..., Repo]) -> Repo:
    """The queue without a remote, Ada's identity."""
    repo = make_repo("ada")
    small_queue(repo)
    return repo


@pytest.fixture
def open_desk() -> Iterator[Callable[..., Desk]]:
    """A maker of desks that are closed when the test ends."""
    opened: list[Desk] = []

    def make(repo: Repo, **options: str) -> Desk:
        desk = Desk.open(repo.path, **options)
        opened.append(desk)
        return desk

    yield make
    for desk in opened:
        desk.close()
